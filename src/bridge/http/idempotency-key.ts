import { Fault } from '../../core/fault.ts';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,256}$/;

/** The key by which a client repeats a request; undefined without one. Faults with `bad-input` for one that cannot be a key. */
export const readIdempotencyKey = (headers: Headers): string | undefined => {
  const key = headers.get('idempotency-key') ?? undefined;
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key;
  throw new Fault({
    kind: 'bad-input',
    code: 'invalid_idempotency_key',
    param: 'Idempotency-Key',
    message: 'Idempotency-Key: expected 1 to 256 printable characters without blanks',
  });
};

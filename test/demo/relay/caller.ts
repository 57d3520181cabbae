import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createFaultyRelay } from './control.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a fake platform answers is looked into field by field
export type Answer = any;

type Sent = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

/** A demo relay on a clock that stands still, and a way to call its admin API with the right key. */
export const relayWorld = () => {
  const clock = createFakeClock();
  const dropped: Request[] = [];
  let drawn = 0;
  const newId = () => `00000000-0000-4000-8000-${String(++drawn).padStart(12, '0')}`;
  const { handler, control } = createFaultyRelay({ clock, newId, drop: (request) => void dropped.push(request) });
  const call = (path: string, { method = 'GET', body, headers = {}, signal }: Sent = {}): Promise<Response> =>
    handler(
      new Request(path.startsWith('/') ? `http://relay${path}` : `http://relay/api/v1/admin/${path}`, {
        method,
        headers: { 'x-api-key': DEMO_ADMIN_KEY, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  const answer = async (path: string, sent?: Sent): Promise<readonly [number, Answer]> => {
    const response = await call(path, sent);
    return [response.status, await response.json()];
  };
  return {
    clock,
    control,
    dropped,
    call,
    answer,
    data: async (path: string, sent?: Sent): Promise<Answer> => (await answer(path, sent))[1].data,
    credit: (balance: unknown, key?: string, more: object = {}) =>
      call('users/2/balance', {
        method: 'POST',
        body: { balance, operation: 'add', notes: 'ref-1', ...more },
        headers: key === undefined ? {} : { 'idempotency-key': key },
      }),
  };
};

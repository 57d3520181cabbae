import type { Clock } from '../../core/clock.ts';
import { withCallDeadline } from '../call-deadline.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from './client.ts';

/** What the relay says of the admin key. `limited`: of some lists it says that this key may not read them. */
export type KeyRights = {
  readonly state: 'accepted' | 'limited' | 'refused' | 'unasked';
  /** The lists that it may not read, or the kind of the failure. */
  readonly reason?: string;
};

/** What the tools read most. Of changes no release tells in advance whether a key may make them. */
const LISTS = ['users', 'accounts', 'groups'] as const;

/** Asks for one row of each list that the tools need, once. Never rejects. */
export const readKeyRights = async (
  { relay, clock }: { readonly relay: RelayClient; readonly clock: Clock },
  limitMs: number,
): Promise<KeyRights> => {
  const askFor = (path: string): Promise<string | undefined> =>
    withCallDeadline(clock, { limitMs, signal: new AbortController().signal }, ({ signal }) =>
      relay.get(path, { page: 1, page_size: 1 }, signal, { isRetried: false }),
    ).then(
      () => undefined,
      (error: unknown) => (error instanceof RelayError ? error.detail.kind : 'deadline'),
    );
  const failures = await Promise.all(LISTS.map(askFor));
  const forbidden = LISTS.filter((_, index) => failures[index] === 'upstream-forbidden');
  const failure = failures.find((kind) => kind !== undefined && kind !== 'upstream-forbidden');
  if (failure !== undefined) return { state: failure === 'upstream-auth' ? 'refused' : 'unasked', reason: failure };
  return forbidden.length === 0 ? { state: 'accepted' } : { state: 'limited', reason: `no ${forbidden.join(', ')}` };
};

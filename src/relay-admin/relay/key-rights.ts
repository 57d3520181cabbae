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
export const readKeyRights = async (relay: RelayClient, clock: Clock, limitMs: number): Promise<KeyRights> => {
  const { signal } = new AbortController();
  const failureOf = (path: string): Promise<string> =>
    withCallDeadline(clock, { limitMs, signal }, (call) =>
      relay.get(path, { page: 1, page_size: 1 }, call.signal, { isRetried: false }),
    ).then(
      () => '',
      (error: unknown) => (error instanceof RelayError ? error.detail.kind : 'deadline'),
    );
  const failures = await Promise.all(LISTS.map(failureOf));
  const reason = failures.find((kind) => kind !== '' && kind !== 'upstream-forbidden');
  if (reason !== undefined) return { state: reason === 'upstream-auth' ? 'refused' : 'unasked', reason };
  const forbidden = LISTS.filter((_, index) => failures[index] !== '');
  return forbidden.length === 0 ? { state: 'accepted' } : { state: 'limited', reason: `no ${forbidden.join(', ')}` };
};

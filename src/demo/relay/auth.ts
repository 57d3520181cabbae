import { barred } from './envelope.ts';
import { termsUnaccepted, wrongKey } from './faults/responses.ts';
import type { RelayWorld } from './world.ts';

/** The key acts as this user: the first admin who is active. Undefined when there is none. */
export const actorOf = ({ users }: RelayWorld): number | undefined =>
  users
    .filter(({ role, status, deleted_at }) => role === 'admin' && status === 'active' && deleted_at === null)
    .map(({ id }) => id)
    .sort((left, right) => left - right)[0];

const unauthorised = (headers: Headers): Response =>
  /^Bearer \S+$/.test(headers.get('authorization') ?? '')
    ? barred(401, 'INVALID_TOKEN', 'Invalid token')
    : barred(401, 'UNAUTHORIZED', 'Authorization required');

/**
 * Why a request to the admin API goes no further, or undefined. A key that is there is the only thing looked at, the
 * admin key is no bearer token, and the terms come after the key.
 */
export const barrierFor = (world: RelayWorld, headers: Headers, pattern: string): Response | undefined => {
  const key = headers.get('x-api-key') ?? '';
  if (key === '') return unauthorised(headers);
  if (key !== world.dials.adminKey) return wrongKey();
  if (actorOf(world) === undefined) return barred(500, 'INTERNAL_ERROR', 'No active admin user');
  if (world.dials.areTermsAccepted || / compliance(\/|$)/.test(pattern)) return undefined;
  return termsUnaccepted();
};

import { guardError } from './envelope.ts';
import type { RelayWorld } from './world.ts';

/** The key acts as this user: the first admin who is active. Undefined when there is none. */
export const findActor = ({ users }: RelayWorld): number | undefined =>
  users
    .filter(({ role, status, deleted_at }) => role === 'admin' && status === 'active' && deleted_at === null)
    .map(({ id }) => id)
    .sort((left, right) => left - right)[0];

/** The 423 while no human has accepted the platform's terms. */
export const termsUnaccepted = (): Response =>
  guardError(423, 'ADMIN_COMPLIANCE_ACK_REQUIRED', 'Admin compliance acknowledgement required', {
    metadata: {
      version: 'v2026.06.10',
      document_path_zh: '/compliance/zh',
      document_path_en: '/compliance/en',
      document_url_zh: 'https://relay.example/compliance/zh',
      document_url_en: 'https://relay.example/compliance/en',
    },
  });

/** The 401 for a wrong admin key. */
export const wrongKey = (): Response => guardError(401, 'INVALID_ADMIN_KEY', 'Invalid admin API key');

const unauthorised = (headers: Headers): Response =>
  /^Bearer \S+$/.test(headers.get('authorization') ?? '')
    ? guardError(401, 'INVALID_TOKEN', 'Invalid token')
    : guardError(401, 'UNAUTHORIZED', 'Authorization required');

/**
 * The response that stops a request to the admin API, or undefined. A key that is present decides alone, the admin key is
 * no bearer token, and the terms are checked after the key. On a fresh installation, which has no key yet, the terms come first:
 * until they are accepted no key can be made.
 */
export const checkAccess = (world: RelayWorld, headers: Headers, pattern: string): Response | undefined => {
  const { adminKey, forbidden, areTermsAccepted, isDatabaseDown } = world.settings;
  const key = headers.get('x-api-key') ?? '';
  if (key === '') return unauthorised(headers);
  // The key stands in the database.
  if (isDatabaseDown) return guardError(500, 'INTERNAL_ERROR', 'Internal server error');
  if (adminKey === '') return areTermsAccepted ? wrongKey() : termsUnaccepted();
  if (key !== adminKey) return wrongKey();
  if (findActor(world) === undefined) return guardError(500, 'INTERNAL_ERROR', 'No active admin user');
  if (forbidden?.test(pattern)) return guardError(403, 'FORBIDDEN', 'This admin key may not do this');
  if (areTermsAccepted || / compliance(\/|$)/.test(pattern)) return undefined;
  return termsUnaccepted();
};

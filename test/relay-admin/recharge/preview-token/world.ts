import { webDigest, webMac } from '../../../../src/adapter/web-crypto.ts';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { createPreviewTokens, type PreviewTokenNeeds } from '../../../../src/relay-admin/recharge/preview-token.ts';
import { parseUser, type User } from '../../../../src/relay-admin/relay/users.ts';
import type { AdminKey } from '../../../../src/relay-admin/settings.ts';
import { rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createIds } from '../../harness/world.ts';

const KEY: AdminKey = { kind: 'present', secret: `admin-${'a'.repeat(64)}` };
/** The secret of the journal. */
export const SEAL = 'the-seal-of-this-journal-which-is-long-enough';

/** An amount of 12.5, in units of 1e-8. */
export const AMOUNT = 1_250_000_000n;

/** A user as the relay reports one. */
export const person = (more: Readonly<Record<string, unknown>> = {}): User =>
  parseUser({
    id: 7,
    email: 'bob@example.com',
    username: 'bob',
    role: 'user',
    status: 'active',
    balance: 10,
    concurrency: 5,
    rpm_limit: 60,
    ...more,
  });

/** Preview tokens with a clock that a test sets. */
export const tokenWorld = (more: Partial<PreviewTokenNeeds> = {}) => {
  const clock = createFakeClock();
  const tokens = createPreviewTokens({
    address: { origin: 'https://relay.test', host: 'relay.test' },
    key: KEY,
    journal: { tokenSecret: async () => SEAL },
    clock,
    digest: webDigest,
    mac: webMac,
    newId: createIds(),
    ...more,
  });
  return { clock, tokens };
};
/** The kind of the error that a promise rejects with. */
export const kindOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await rejection(promise);
  if (!(error instanceof RelayError)) throw error;
  return error.detail.kind;
};

import type { Clock } from '../../core/clock.ts';
import { equalSecrets } from '../../core/http/auth.ts';
import { RelayError } from '../errors/errors.ts';
import type { Units } from '../money.ts';
import type { User } from '../relay/users.ts';
import type { AdminKey, RelayAddress } from '../settings.ts';

import type { Journal } from './journal.ts';

/** What a person was shown and has to confirm. */
export type Preview = {
  readonly userId: number;
  readonly amount: Units;
  readonly balance: Units;
  /** Hash of the e-mail, which must not change before the recharge. */
  readonly identityHash: string;
  /** Hash of status and role, which must not change before the recharge. */
  readonly statusHash: string;
  readonly expiresAtMs: number;
};

/** Creates and verifies the tokens that carry a preview to the recharge that it allows. */
export type PreviewTokens = {
  readonly create: (user: User, amount: Units) => Promise<{ readonly token: string; readonly expiresAtMs: number }>;
  /** Throws `token-unknown`, also for a token of another journal, relay or admin key, or `token-expired`. */
  readonly verify: (token: string) => Promise<Preview>;
  /** What has changed about the user since the preview, if it matters. A lower balance is usage and does not matter. */
  readonly findStaleness: (preview: Preview, user: User) => Promise<'identity' | 'status' | 'balance' | undefined>;
};

export type PreviewTokenNeeds = {
  readonly address: RelayAddress;
  readonly key: AdminKey;
  readonly journal: Pick<Journal, 'tokenSecret'>;
  readonly clock: Clock;
  readonly digest: (text: string) => Promise<string>;
  readonly mac: (secret: string, text: string) => Promise<string>;
  readonly newId: () => string;
};

/** How long a preview can be confirmed. */
export const PREVIEW_LIFETIME_MS = 300_000;
const MAC_CHARS = 22;
const HASH_CHARS = 12;
const TOKEN =
  /^(rp1\.(\d{1,16})\.(\d{1,16})\.(-?\d{1,30})\.([0-9a-f]{12})\.([0-9a-f]{12})\.(\d{13})\.[0-9a-f]{32})\.([\w-]{22})$/;

export const createPreviewTokens = ({
  address,
  key,
  journal,
  clock,
  digest,
  mac,
  newId,
}: PreviewTokenNeeds): PreviewTokens => {
  /** Signs with the secret of the journal (which allows one use per token), for this relay and this admin key. */
  const macOf = async (body: string): Promise<string> => {
    const secret = JSON.stringify([
      await journal.tokenSecret(),
      address.origin,
      key.kind === 'present' ? key.secret : '',
    ]);
    return (await mac(secret, body)).slice(0, MAC_CHARS);
  };
  const hashOf = async (...parts: readonly string[]): Promise<string> =>
    (await digest(JSON.stringify(parts))).slice(0, HASH_CHARS);
  const identityHashOf = ({ email }: User): Promise<string> => hashOf('identity', email);
  const statusHashOf = ({ status, role }: User): Promise<string> => hashOf('status', status, role);
  return {
    async create(user, amount) {
      const expiresAtMs = clock.now() + PREVIEW_LIFETIME_MS;
      const parts = [user.id, amount, user.balance, await identityHashOf(user), await statusHashOf(user), expiresAtMs];
      const body = `rp1.${parts.join('.')}.${newId().replaceAll('-', '')}`;
      return { token: `${body}.${await macOf(body)}`, expiresAtMs };
    },
    async verify(token) {
      if (key.kind !== 'present') throw new RelayError({ kind: 'no-admin-key', isMalformed: key.kind === 'malformed' });
      const [, body, userId, amount, balance, identityHash = '', statusHash = '', expires, offered = ''] =
        TOKEN.exec(token) ?? [];
      if (body === undefined || amount === undefined || balance === undefined)
        throw new RelayError({ kind: 'token-unknown' });
      if (!equalSecrets(offered, await macOf(body))) throw new RelayError({ kind: 'token-unknown' });
      const expiresAtMs = Number(expires);
      if (clock.now() >= expiresAtMs) throw new RelayError({ kind: 'token-expired' });
      return {
        userId: Number(userId),
        amount: BigInt(amount),
        balance: BigInt(balance),
        identityHash,
        statusHash,
        expiresAtMs,
      };
    },
    async findStaleness(preview, user) {
      if ((await identityHashOf(user)) !== preview.identityHash) return 'identity';
      if ((await statusHashOf(user)) !== preview.statusHash) return 'status';
      return user.balance > preview.balance ? 'balance' : undefined;
    },
  };
};

import type { Clock } from '../../core/clock.ts';
import { equalSecrets } from '../../core/http/auth.ts';
import { RelayError } from '../errors/errors.ts';
import type { Units } from '../money.ts';
import type { User } from '../relay/users.ts';
import type { AdminKey, RelayAddress } from '../settings.ts';

import type { Journal } from './journal.ts';

/** What a person was shown and is asked to confirm. */
export type Preview = {
  readonly userId: number;
  readonly amount: Units;
  readonly balance: Units;
  /** Hashes of what must not have changed: who it is, and how they stand. */
  readonly identityHash: string;
  readonly statusHash: string;
  readonly expiresAtMs: number;
};

/** Makes and opens the tokens in which a preview travels to the recharge that it allows. */
export type PreviewTokens = {
  readonly create: (user: User, amount: Units) => Promise<{ readonly token: string; readonly expiresAtMs: number }>;
  /** Throws the problem `token-unknown`, also for a token of another journal, relay or admin key, or `token-expired`. */
  readonly verify: (token: string) => Promise<Preview>;
  /** What has changed about the user since the preview, if it matters. A balance that fell is usage and does not. */
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

/** How long a preview may be acted upon. */
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
  /** Bound to the journal, which sees to it that a token is used once, and to the relay and the key it was made for. */
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
  const personOf = ({ email }: User): Promise<string> => hashOf('person', email);
  const standingOf = ({ status, role }: User): Promise<string> => hashOf('standing', status, role);
  return {
    async create(user, amount) {
      const expiresAtMs = clock.now() + PREVIEW_LIFETIME_MS;
      const facts = [user.id, amount, user.balance, await personOf(user), await standingOf(user), expiresAtMs];
      const body = `rp1.${facts.join('.')}.${newId().replaceAll('-', '')}`;
      return { token: `${body}.${await macOf(body)}`, expiresAtMs };
    },
    async verify(token) {
      if (key.kind !== 'present') throw new RelayError({ kind: 'no-admin-key', isMalformed: key.kind === 'malformed' });
      const [, body, userId, amount, balance, person = '', standing = '', expires, offered = ''] =
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
        identityHash: person,
        statusHash: standing,
        expiresAtMs,
      };
    },
    async findStaleness(preview, user) {
      if ((await personOf(user)) !== preview.identityHash) return 'identity';
      if ((await standingOf(user)) !== preview.statusHash) return 'status';
      return user.balance > preview.balance ? 'balance' : undefined;
    },
  };
};

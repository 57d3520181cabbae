import * as v from 'valibot';
import { equalSecrets } from '../../core/http/auth.ts';
import { parseJsonValue } from '../../core/json.ts';
import { ROLES, type Role } from '../protocol.ts';
import { type DeriveKey, keyOfPassword, type PasswordHash, parsePasswordHash, SCRYPT_COST } from './password-hash.ts';

/** Someone who may use the console. Without a hash only a proxy can log them in. */
export type ConsoleUser = { readonly name: string; readonly role: Role; readonly hash: PasswordHash | undefined };

/** Stands for every other name that a proxy has authenticated. */
export const ANY_NAME = '*';

/**
 * Without blanks, which the names of those who decide without an account have, such as `a client of the bridge`. Agent servers keep
 * `unknown` for a client without a name.
 */
const NAME = /^(?!unknown$)[^\p{C}\p{Z}:,]{1,64}$/u;

/** An entry of the list, as it was given. */
const Entry = v.strictObject({
  name: v.pipe(v.string(), v.regex(NAME)),
  role: v.picklist(ROLES),
  hash: v.optional(
    v.pipe(
      v.string(),
      v.check((text) => parsePasswordHash(text) !== undefined),
    ),
  ),
});
const Entries = v.array(Entry);

const entriesOf = (text: string): unknown => {
  if (text.trim().startsWith('[')) return parseJsonValue(text);
  const items = text.split(',').map((item) => item.trim());
  return items
    .filter((item) => item !== '')
    .map((item) => {
      const [name, role, hash, ...rest] = item.split(':');
      return rest.length > 0 ? undefined : { name, role, ...(hash === undefined ? {} : { hash }) };
    });
};

/** The users of a setting; undefined where it has not the form of one, or a name twice. */
export const parseUsers = (text: string): readonly ConsoleUser[] | undefined => {
  const result = v.safeParse(Entries, entriesOf(text));
  if (!result.success) return undefined;
  const users = result.output.map(({ name, role, hash }) => ({
    name,
    role,
    hash: hash === undefined ? undefined : parsePasswordHash(hash),
  }));
  return new Set(users.map(({ name }) => name)).size === users.length ? users : undefined;
};

/** Stands in for the hash of a name that is not known, so that trying one takes as long as trying any other. */
const UNKNOWN_USER: PasswordHash = { ...SCRYPT_COST, salt: 'A'.repeat(22), key: 'A'.repeat(43) };

/** Those who may use the console. */
export type Accounts = {
  readonly find: (name: string) => ConsoleUser | undefined;
  /** The user of a name that a proxy has authenticated, by its own entry or by that of all others. */
  readonly findAuthenticated: (name: string) => ConsoleUser | undefined;
  /** The user whose password it is. One key is derived for every attempt, whether the name is known or not. */
  readonly verify: (name: string, password: string) => Promise<ConsoleUser | undefined>;
};

export const createAccounts = (users: readonly ConsoleUser[], deriveKey: DeriveKey): Accounts => {
  const byName = new Map(users.filter(({ name }) => name !== ANY_NAME).map((user) => [user.name, user]));
  const others = users.find(({ name }) => name === ANY_NAME);
  // Of a cost that the users have: a cheaper one would show in the time which names there are.
  const unknownUser: PasswordHash = {
    ...UNKNOWN_USER,
    ...users.find(({ hash }) => hash !== undefined)?.hash,
    key: UNKNOWN_USER.key,
  };
  return {
    find: (name) => byName.get(name),
    findAuthenticated(name) {
      const own = byName.get(name);
      if (own !== undefined || others === undefined || !NAME.test(name)) return own;
      return { ...others, name };
    },
    async verify(name, password) {
      const user = byName.get(name);
      const hash = user?.hash ?? unknownUser;
      const isRight = equalSecrets(await keyOfPassword(password, hash, deriveKey), hash.key);
      return isRight && hash !== unknownUser ? user : undefined;
    },
  };
};

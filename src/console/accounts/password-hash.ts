/** The cost of a scrypt hash: `cost` is N, `blockSize` is r, `parallel` is p of RFC 7914. */
export type ScryptCost = { readonly cost: number; readonly blockSize: number; readonly parallel: number };

/** A stored hash of a password. Salt and key are base64url. */
export type PasswordHash = ScryptCost & { readonly salt: string; readonly key: string };

/** Derives 32 bytes of a password with scrypt, as base64url. `salt` is base64url too. */
export type DeriveKey = (password: string, salt: string, cost: ScryptCost) => Promise<string>;

/** 16 MiB and about 150 ms a hash: OWASP's setting that takes the least memory, as the console must stay small. */
export const SCRYPT_COST: ScryptCost = { cost: 16_384, blockSize: 8, parallel: 5 };

/** More than this of a hash in the settings would let each attempt take gigabytes or minutes. */
const LARGEST: ScryptCost = { cost: 131_072, blockSize: 8, parallel: 16 };

// No `$`, `:` or comma: compose files read variables in values, and CONSOLE_USERS has the others between its parts.
const FORM = /^scrypt\.(\d{1,7})\.(\d{1,2})\.(\d{1,2})\.([\w-]{22,86})\.([\w-]{43})$/;

const isCost = ({ cost, blockSize, parallel }: ScryptCost): boolean =>
  cost >= 1024 &&
  cost <= LARGEST.cost &&
  Number.isInteger(Math.log2(cost)) &&
  blockSize >= 1 &&
  blockSize <= LARGEST.blockSize &&
  parallel >= 1 &&
  parallel <= LARGEST.parallel;

/** The hash that a text of `gatehouse console hash-password` stands for; undefined for any other text. */
export const parsePasswordHash = (text: string): PasswordHash | undefined => {
  const [, cost, blockSize, parallel, salt = '', key = ''] = FORM.exec(text) ?? [];
  const hash = { cost: Number(cost), blockSize: Number(blockSize), parallel: Number(parallel), salt, key };
  return cost !== undefined && isCost(hash) ? hash : undefined;
};

/** A hash as a text for the settings: `scrypt.16384.8.5.<salt>.<key>`. */
export const formatPasswordHash = ({ cost, blockSize, parallel, salt, key }: PasswordHash): string =>
  `scrypt.${cost}.${blockSize}.${parallel}.${salt}.${key}`;

/** The same password may be typed in several ways of Unicode. */
const normalized = (password: string): string => password.normalize('NFKC');

/** Makes the hash of a new password. `salt` is 16 random bytes as base64url. */
export const hashPassword = async (password: string, salt: string, deriveKey: DeriveKey): Promise<PasswordHash> => ({
  ...SCRYPT_COST,
  salt,
  key: await deriveKey(normalized(password), salt, SCRYPT_COST),
});

/** The key that a password gives with the salt and cost of a stored hash. */
export const keyOfPassword = (password: string, hash: PasswordHash, deriveKey: DeriveKey): Promise<string> =>
  deriveKey(normalized(password), hash.salt, hash);

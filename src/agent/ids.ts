import type { Clock } from '../core/clock.ts';

/** What an id is of. The prefix is part of it, and of the wire. */
export const ID_PREFIXES = { session: 'ses', message: 'msg', part: 'prt', permission: 'per', event: 'evt' } as const;
export type IdKind = keyof typeof ID_PREFIXES;

/** Makes ids: sessions descend with time, everything else ascends, also within one millisecond. */
export type Ids = (kind: IdKind) => string;

const TIME_DIGITS = 12;
const RANDOM_CHARS = 14;
const PER_MILLISECOND = 0x1000n;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LARGEST = (1n << 48n) - 1n;

/** Whether a text is an id of this kind: its prefix, twelve hexadecimal digits of time and fourteen letters or digits. */
export const isIdOf = (kind: IdKind, text: string): boolean =>
  new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-f]{${TIME_DIGITS}}[0-9A-Za-z]{${RANDOM_CHARS}}$`).test(text);

/** `randomBytes` gives that many bytes that nobody can guess. */
export const createIds = (clock: Clock, randomBytes: (count: number) => Uint8Array): Ids => {
  let last = 0n;
  return (kind) => {
    const now = BigInt(clock.now()) * PER_MILLISECOND;
    // A clock that is set back must not put new things before old ones.
    last = now > last ? now : last + 1n;
    const time = (kind === 'session' ? LARGEST - (last & LARGEST) : last & LARGEST).toString(16);
    const tail = Array.from(randomBytes(RANDOM_CHARS), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
    return `${ID_PREFIXES[kind]}_${time.padStart(TIME_DIGITS, '0')}${tail}`;
  };
};

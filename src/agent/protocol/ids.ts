import type { Clock } from '../../core/clock.ts';

/** What an id is of. The prefix is part of it, and of the wire. */
export const ID_PREFIXES = { session: 'ses', message: 'msg', part: 'prt', permission: 'per', event: 'evt' } as const;
export type IdKind = keyof typeof ID_PREFIXES;

/**
 * Makes ids: sessions descend with time, everything else ascends, also within one millisecond. One that is made `after`
 * another one sorts behind it, whatever clock that one has its time from.
 */
export type Ids = (kind: IdKind, after?: string) => string;

const TIME_DIGITS = 12;
const RANDOM_CHARS = 14;
const PER_MILLISECOND = 0x1000n;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LARGEST = (1n << 48n) - 1n;

/** Whether a text is an id of this kind: its prefix, twelve hexadecimal digits of time and fourteen letters or digits. */
export const isId = (kind: IdKind, text: string): boolean =>
  new RegExp(`^${ID_PREFIXES[kind]}_[0-9a-f]{${TIME_DIGITS}}[0-9A-Za-z]{${RANDOM_CHARS}}$`).test(text);

/** The time digits that an id gets at this moment of the clock, for looking from there on. */
export const timeDigitsAt = (ms: number): string =>
  ((BigInt(Math.max(0, Math.trunc(ms))) * PER_MILLISECOND) & LARGEST).toString(16).padStart(TIME_DIGITS, '0');

/** The time in an id; none in what has another form. */
const timeOfId = (id: string): bigint | undefined => {
  const digits = new RegExp(`^[a-z]{3}_([0-9a-f]{${TIME_DIGITS}})`).exec(id)?.[1];
  return digits === undefined ? undefined : BigInt(`0x${digits}`);
};

/** A time that is later than an id's, and its own where that is later already. The last time of all stays what it is. */
const timeAfter = (time: bigint, id: string | undefined): bigint => {
  const before = id === undefined ? undefined : timeOfId(id);
  if (before === undefined || time > before) return time;
  return before < LARGEST ? before + 1n : LARGEST;
};

/** `randomBytes` gives that many bytes that nobody can guess. */
export const createIds = (clock: Clock, randomBytes: (count: number) => Uint8Array): Ids => {
  let last = 0n;
  return (kind, after) => {
    const now = BigInt(clock.now()) * PER_MILLISECOND;
    // A clock that is set back must not put new things before old ones.
    last = now > last ? now : last + 1n;
    const place = last & LARGEST;
    const time = (kind === 'session' ? LARGEST - place : timeAfter(place, after)).toString(16);
    let tail = '';
    for (const byte of randomBytes(RANDOM_CHARS)) tail += ALPHABET[byte % ALPHABET.length];
    return `${ID_PREFIXES[kind]}_${time.padStart(TIME_DIGITS, '0')}${tail}`;
  };
};

/** The next text of the same length that sorts after this one. Letters and digits in the order of their codes. */
const successorOf = (id: string): string => {
  const place = /[^z]z*$/.exec(id)?.index ?? 0;
  const code = id.charCodeAt(place);
  const raised = code === 0x39 ? 'A' : code === 0x5a ? 'a' : String.fromCharCode(code + 1);
  return id.slice(0, place) + raised + '0'.repeat(id.length - place - 1);
};

/**
 * The id of a new event. It sorts after the last one whatever the clock says: clocks are set back, also between two runs of
 * the server, and the time in an id starts again from zero every 2.2 years.
 */
export const nextEventID = (ids: Ids, last: string): string => {
  const fresh = ids('event');
  return fresh > last ? fresh : successorOf(last);
};

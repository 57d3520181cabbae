import type { Clock } from '../../core/clock.ts';

/** The prefix of each kind of id, which is part of the id. */
export const ID_PREFIXES = {
  session: 'ses',
  message: 'msg',
  part: 'prt',
  permission: 'per',
  event: 'evt',
  turn: 'trn',
  conversation: 'cnv',
} as const;
/** What an id is for. */
export type IdKind = keyof typeof ID_PREFIXES;

/**
 * Creates ids: those of sessions descend with time, all others ascend, also within one millisecond. An id with `after` sorts
 * after that id, whichever clock that one was created with.
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

/** The time in an id; undefined for a text of another form. */
const timeOfId = (id: string): bigint | undefined => {
  const digits = new RegExp(`^[a-z]{3}_([0-9a-f]{${TIME_DIGITS}})`).exec(id)?.[1];
  return digits === undefined ? undefined : BigInt(`0x${digits}`);
};

/** The given time, or the next one after the id's if that is later. The largest time has no next one. */
const timeAfter = (time: bigint, id: string | undefined): bigint => {
  const before = id === undefined ? undefined : timeOfId(id);
  if (before === undefined || time > before) return time;
  return before < LARGEST ? before + 1n : LARGEST;
};

/** An id generator. `randomBytes` returns that many unpredictable bytes. */
export const createIds = (clock: Clock, randomBytes: (count: number) => Uint8Array): Ids => {
  let last = 0n;
  return (kind, after) => {
    const now = BigInt(clock.now()) * PER_MILLISECOND;
    // New ids must not sort before old ones when the clock is set back.
    last = now > last ? now : last + 1n;
    const place = last & LARGEST;
    const time = (kind === 'session' ? LARGEST - place : timeAfter(place, after)).toString(16);
    let tail = '';
    for (const byte of randomBytes(RANDOM_CHARS)) tail += ALPHABET[byte % ALPHABET.length];
    return `${ID_PREFIXES[kind]}_${time.padStart(TIME_DIGITS, '0')}${tail}`;
  };
};

/** The next text of the same length in the order of character codes, of letters and digits. */
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

/** What every provider takes as the id of a call, and short enough for every client. */
const CLIENT_CALL_ID_CHARS = 9;

/**
 * The id of a call that goes to the client, from the random end of its part's id. A backend may give the calls of two steps
 * one id, and a result that is sent again must not count for the later call.
 */
export const clientCallID = (partID: string): string => partID.slice(-CLIENT_CALL_ID_CHARS);

/** Whether a text has the form of such an id. */
export const isClientCallID = (text: string): boolean =>
  new RegExp(`^[0-9A-Za-z]{${CLIENT_CALL_ID_CHARS}}$`).test(text);

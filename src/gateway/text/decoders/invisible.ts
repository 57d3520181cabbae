import type { Steps } from '../../../core/time-slices.ts';
import { createOrdinaryRunTest, INVISIBLE_RUN } from '../invisible.ts';
import { decodeCommonestPair, decodeKinds, decodeNibbles, decodePresence } from './bits.ts';
import { decodeMostBytes } from './bytes.ts';
import { fluency } from './english.ts';

// A message in invisible characters stands in one or more stretches, runs without a visible character between, or is
// strewn over the whole text. Other invisible characters may be mixed in. So each channel takes its own signs out of each
// stretch, and what no stretch explains is read once more as a whole.

/** One way of writing in invisible characters: which of them are its signs, and what a row of them says. */
type Channel = {
  readonly isSign: (code: number) => boolean;
  readonly read: (signs: readonly number[]) => string | undefined;
};

const codesOf = (run: string): readonly number[] => Array.from(run, (sign) => sign.codePointAt(0) ?? 0);
const withoutSigns = (run: string, { isSign }: Channel): string =>
  Array.from(run, (sign) => (isSign(sign.codePointAt(0) ?? 0) ? '' : sign)).join('');

// Random signs spell a short word now and then. Where all of them are ordinary, only a long one counts.
const CERTAIN_CHARS = 8;

/** As many signs, or runs of them, are read at once: more take too long without a pause. */
const ROW_SIGNS = 20_000;
const ROW_RUNS = 1000;

function* readRow(signs: readonly number[], { read }: Channel): Steps<string | undefined> {
  if (signs.length <= ROW_SIGNS) return read(signs);
  const messages: string[] = [];
  for (let from = 0; from < signs.length; from += ROW_SIGNS) {
    const message = read(signs.slice(from, from + ROW_SIGNS));
    if (message !== undefined) messages.push(message);
    yield;
  }
  return messages.length === 0 ? undefined : messages.join(' ');
}

/** A text whose stretches are decoded, and the signs of the others. */
type Read = { readonly view: string; readonly strewn: readonly number[]; readonly unusual: readonly number[] };

function* readStretches(text: string, channel: Channel): Steps<Read> {
  const isOrdinary = createOrdinaryRunTest(text);
  const strewn: number[] = [];
  const unusual: number[] = [];
  let view = '';
  let end = 0;
  let runs = 0;
  for (const { 0: run, index } of text.matchAll(INVISIBLE_RUN)) {
    runs += 1;
    if (runs % ROW_RUNS === 0) yield;
    const signs = codesOf(run).filter(channel.isSign);
    const ordinary = isOrdinary(run, index);
    const message = ordinary || signs.length < 3 ? undefined : yield* readRow(signs, channel);
    view += text.slice(end, index) + (message === undefined ? run : ` ${message} ${withoutSigns(run, channel)}`);
    end = index + run.length;
    if (message !== undefined) continue;
    for (const sign of signs) {
      strewn.push(sign);
      if (!ordinary) unusual.push(sign);
    }
  }
  yield;
  return { view: end === 0 ? text : view + text.slice(end), strewn, unusual };
}

/** Writes a channel's messages in place of their stretches, and one that was strewn over the text before it. */
function* decodeChannel(text: string, channel: Channel): Steps<string> {
  const { view, strewn, unusual } = yield* readStretches(text, channel);
  const suspect = yield* readRow(unusual, channel);
  const isRead = suspect !== undefined || strewn.length === unusual.length || channel === TAGS;
  const all = isRead ? undefined : yield* readRow(strewn, channel);
  const message = suspect ?? ((all ?? '').length >= CERTAIN_CHARS ? all : undefined);
  if (message === undefined) return view;
  return `${message}\n${view.replace(INVISIBLE_RUN, (run) => withoutSigns(run, channel))}`;
}

const TAGS: Channel = {
  isSign: (code) => code >= 0xe0000 && code <= 0xe007f,
  // Tags are letters and nothing else: no message of theirs is too strange to show.
  read(signs) {
    const letters = signs.filter((code) => code >= 0xe0020 && code < 0xe007f);
    return letters.length === 0 ? undefined : letters.map((code) => String.fromCharCode(code - 0xe0000)).join('');
  },
};

/** Bytes as variation selectors: 16 and 240 of them in a row, or the 240 alone from 0 or from a blank. */
const BYTE_READINGS: readonly ((code: number) => number)[] = [
  (code) => (code < 0xfe10 ? code - 0xfe00 : code - 0xe0100 + 16),
  (code) => (code < 0xfe10 ? 0 : code - 0xe0100),
  (code) => (code < 0xfe10 ? 0 : code - 0xe0100 + 0x20),
];
const MIN_LETTERS = 3;

/** Bytes below a blank are what ordinary selectors are: they follow a pictogram or an ideograph. */
const readBytes = (signs: readonly number[]): string | undefined => {
  let best: { readonly text: string; readonly level: number } | undefined;
  for (const byteOf of BYTE_READINGS) {
    const bytes = signs.map(byteOf).filter((byte) => byte >= 0x20 && byte <= 0xff);
    const text = bytes.length < MIN_LETTERS ? undefined : decodeMostBytes(Uint8Array.from(bytes));
    if (text === undefined) continue;
    const level = fluency(text);
    if (best === undefined || level > best.level) best = { text, level };
  }
  return best?.text;
};

const SELECTORS: Channel = {
  isSign: (code) => (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef),
  read: (signs) => readBytes(signs) ?? decodeNibbles(signs.filter((code) => code < 0xfe10)) ?? decodeKinds(signs),
};
const BITS: Channel = {
  isSign: (code) => !TAGS.isSign(code) && !SELECTORS.isSign(code),
  read: decodeKinds,
};
const ANY: Channel = {
  isSign: () => true,
  // Signs of one channel alone are read by that channel, and better.
  read: (signs) => (signs.some(SELECTORS.isSign) && signs.some(BITS.isSign) ? decodeCommonestPair(signs) : undefined),
};

const MIN_PRESENT = 12;

/** Bits that one kind of invisible character writes by standing behind a visible character or not. */
const decodePresentSigns = (text: string): string => {
  const present: boolean[] = [];
  let count = 0;
  let end = 0;
  const isOrdinary = createOrdinaryRunTest(text);
  let unusual = 0;
  for (const { 0: run, index } of text.matchAll(INVISIBLE_RUN)) {
    for (const char of text.slice(end, index)) present.push(char === '');
    if (present.length > 0) present[present.length - 1] = true;
    end = index + run.length;
    count += 1;
    if (!isOrdinary(run, index)) unusual += 1;
  }
  if (count < MIN_PRESENT || unusual < MIN_PRESENT) return text;
  // The last bits may be zeros: nothing stands behind them.
  for (const _ of [...text.slice(end, end + 8)]) present.push(false);
  const message = decodePresence(present);
  return message === undefined ? text : `${message}\n${text.replace(INVISIBLE_RUN, '')}`;
};

// Signs of two channels together come first: each channel would read a part of them.
const CHANNELS: readonly Channel[] = [TAGS, ANY, SELECTORS, BITS];

/** Decodes messages in invisible characters of all kinds: letters, bytes, half bytes and bits. */
export function* decodeInvisible(text: string): Steps<string> {
  let view = text;
  for (const channel of CHANNELS) {
    view = yield* decodeChannel(view, channel);
    yield;
  }
  return decodePresentSigns(view);
}

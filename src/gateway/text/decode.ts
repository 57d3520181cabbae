import { ciphers, morse, nato } from './decoders/ciphers.ts';
import { base32, base64, charCodes, hex } from './decoders/encodings.ts';
import { escapes, percent } from './decoders/escapes.ts';
import { invisible } from './decoders/invisible.ts';
import { lookAlikes } from './decoders/look-alikes.ts';
import { backwards, leet, spaced } from './decoders/spelling.ts';
import { enclosed, overrides, stackedMarks, turned } from './decoders/unicode.ts';
import { isPlain, neutralise, normalise } from './normalize.ts';

/** Undoes one way of hiding, in place; gives back its input when it finds none. */
type Decoder = (text: string) => string;

// Normalising removes what these two read.
const ON_RAW: readonly Decoder[] = [invisible, overrides];
const ON_UNICODE: readonly Decoder[] = [stackedMarks, enclosed, turned, lookAlikes];
// Exact encodings first: the guesses at the end would spoil them.
const ON_ALL: readonly Decoder[] = [
  escapes,
  percent,
  base64,
  base32,
  hex,
  charCodes,
  morse,
  nato,
  spaced,
  leet,
  ciphers,
  backwards,
];
/** Encodings inside encodings are followed this deep. */
const ROUNDS = 3;

const through = (decoders: readonly Decoder[], text: string): string =>
  decoders.reduce((current, decode) => decode(current), text);

const decodedOnce = (text: string): string => {
  if (isPlain(text)) return through(ON_ALL, text);
  return through(ON_ALL, through(ON_UNICODE, normalise(through(ON_RAW, text))));
};

/**
 * The normalised text with hidden messages decoded in place, or nothing when nothing was hidden. Takes the text as it
 * came: some messages hide in what normalising removes. `seen` is the same text normalised.
 */
export const revealed = (text: string, seen: string = normalise(text)): string | undefined => {
  let view = text;
  for (let round = 0; round < ROUNDS; round++) {
    const next = decodedOnce(view);
    if (next === view || next === seen) break;
    view = next;
  }
  if (view === text) return undefined;
  const final = normalise(view);
  return final === seen ? undefined : final;
};

/** What the judge is to read, worst verdict wins: the text as seen, and only if something was hidden in it, that too. */
export const viewsOf = (text: string): readonly string[] => {
  const seen = normalise(text);
  const second = revealed(text, seen);
  const views = second === undefined ? [seen] : [seen, second];
  return views.map(neutralise);
};

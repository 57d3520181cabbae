import { ciphers } from './decoders/ciphers.ts';
import { base64 } from './decoders/encodings.ts';
import { percent } from './decoders/escapes.ts';
import { invisible } from './decoders/invisible.ts';
import { lookAlikes } from './decoders/look-alikes.ts';
import { leet } from './decoders/spelling.ts';
import { enclosed } from './decoders/unicode.ts';
import { backwards } from './hidden/backwards.ts';
import { base32 } from './hidden/base32.ts';
import { charCodes } from './hidden/char-codes.ts';
import { escapes } from './hidden/escapes.ts';
import { hex } from './hidden/hex.ts';
import { morse } from './hidden/morse.ts';
import { nato } from './hidden/nato.ts';
import { overrides } from './hidden/overrides.ts';
import { spaced } from './hidden/spaced.ts';
import { stackedMarks } from './hidden/stacked-marks.ts';
import { turned } from './hidden/turned.ts';
import { isPlain, normalise } from './normalize.ts';

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

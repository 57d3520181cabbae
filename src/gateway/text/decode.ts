import { decodeCiphers, decodeMorse, decodeNato } from './decoders/ciphers.ts';
import { decodeBase32, decodeBase64, decodeCharCodes, decodeHex } from './decoders/encodings.ts';
import { decodeEscapes, decodePercent } from './decoders/escapes.ts';
import { decodeInvisible } from './decoders/invisible.ts';
import { decodeLookAlikes } from './decoders/look-alikes.ts';
import { decodeBackwards, decodeLeet, joinSpaced } from './decoders/spelling.ts';
import { applyOverrides, decodeEnclosed, decodeTurned, removeStackedMarks } from './decoders/unicode.ts';
import { isPlain, neutralise, normalise } from './normalize.ts';

/** Decodes one way of hiding text, in place; returns its input when it finds none. */
type Decoder = (text: string) => string;

// Normalising removes what these two decode.
const ON_RAW: readonly Decoder[] = [decodeInvisible, applyOverrides];
const ON_UNICODE: readonly Decoder[] = [removeStackedMarks, decodeEnclosed, decodeTurned, decodeLookAlikes];
// Exact encodings first: the guesses at the end would corrupt them.
const ON_ALL: readonly Decoder[] = [
  decodeEscapes,
  decodePercent,
  decodeBase64,
  decodeBase32,
  decodeHex,
  decodeCharCodes,
  decodeMorse,
  decodeNato,
  joinSpaced,
  decodeLeet,
  decodeCiphers,
  decodeBackwards,
];
/** How many nested encodings are decoded. */
const ROUNDS = 3;

const applyAll = (decoders: readonly Decoder[], text: string): string =>
  decoders.reduce((current, decode) => decode(current), text);

const decodeOnce = (text: string): string => {
  if (isPlain(text)) return applyAll(ON_ALL, text);
  return applyAll(ON_ALL, applyAll(ON_UNICODE, normalise(applyAll(ON_RAW, text))));
};

/**
 * The normalised text with hidden messages decoded in place; undefined when nothing was hidden. Takes the original text:
 * some messages hide in what normalising removes. `visible` is the same text normalised.
 */
export const decodeHidden = (text: string, visible: string = normalise(text)): string | undefined => {
  let view = text;
  for (let round = 0; round < ROUNDS; round++) {
    const next = decodeOnce(view);
    if (next === view || next === visible) break;
    view = next;
  }
  if (view === text) return undefined;
  const final = normalise(view);
  return final === visible ? undefined : final;
};

/** The texts that the judge reads: the visible one, and a second one with hidden messages decoded, if there are any. */
export const createViews = (text: string): readonly string[] => {
  const visible = normalise(text);
  const decoded = decodeHidden(text, visible);
  const views = decoded === undefined ? [visible] : [visible, decoded];
  return views.map(neutralise);
};

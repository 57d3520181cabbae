import type { Steps } from '../../core/time-slices.ts';
import { decodeCiphers, decodeMorse, decodeNato } from './decoders/ciphers.ts';
import { decodeBase32, decodeBase64, decodeCharCodes, decodeHex } from './decoders/encodings.ts';
import { decodeEscapes, decodePercent } from './decoders/escapes.ts';
import { decodeInvisible } from './decoders/invisible.ts';
import { decodeLookAlikes } from './decoders/look-alikes.ts';
import { decodeBackwards, decodeLeet, joinSpaced } from './decoders/spelling.ts';
import { applyOverrides, decodeEnclosed, decodeTurned, removeStackedMarks } from './decoders/unicode.ts';
import { isPlain, neutralise, normalise } from './normalize.ts';
import { splitPieces } from './pieces.ts';

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

/** Work on shorter texts takes too little time to be interrupted. */
const SHORT_CHARS = 1000;

/** Changes a text, a very long one piece by piece. May be interrupted after each. */
function* inPieces(change: Decoder, text: string): Steps<string> {
  const changed: string[] = [];
  for (const piece of splitPieces(text)) {
    changed.push(change(piece));
    if (text.length > SHORT_CHARS) yield;
  }
  const [whole = ''] = changed;
  return changed.length === 1 ? whole : changed.join('');
}

/** Decodes round after round, and remembers which decoder found nothing in which text, so that none looks twice. */
const createRounds = () => {
  const foundNothingIn = new Map<Decoder, string>();
  let isReversed = false;

  function* applyAll(decoders: readonly Decoder[], text: string): Steps<string> {
    let view = text;
    for (const decode of decoders) {
      // Two readings of a line, again in two readings each: every round would double the text.
      if (foundNothingIn.get(decode) === view || (isReversed && decode === decodeBackwards)) continue;
      const next = yield* inPieces(decode, view);
      if (next === view) foundNothingIn.set(decode, view);
      else if (decode === decodeBackwards) isReversed = true;
      view = next;
    }
    return view;
  }

  return function* decodeOnce(text: string): Steps<string> {
    if (isPlain(text)) return yield* applyAll(ON_ALL, text);
    const visible = yield* inPieces(normalise, yield* applyAll(ON_RAW, text));
    return yield* applyAll(ON_ALL, yield* applyAll(ON_UNICODE, visible));
  };
};

/**
 * The normalised text with hidden messages decoded in place; undefined when nothing was hidden. Takes the original text:
 * some messages hide in what normalising removes. `visible` is the same text normalised.
 */
export function* decodeHidden(text: string, visible: string = normalise(text)): Steps<string | undefined> {
  const decodeOnce = createRounds();
  let view = text;
  for (let round = 0; round < ROUNDS; round++) {
    const next = yield* decodeOnce(view);
    if (next === view || next === visible) break;
    view = next;
  }
  if (view === text) return undefined;
  const final = yield* inPieces(normalise, view);
  return final === visible ? undefined : final;
}

/** The texts that the judge reads: the visible one, and a second one with hidden messages decoded, if there are any. */
export function* createViews(text: string): Steps<readonly string[]> {
  const visible = yield* inPieces(normalise, text);
  const decoded = yield* decodeHidden(text, visible);
  const views: string[] = [];
  for (const view of decoded === undefined ? [visible] : [visible, decoded]) {
    views.push(yield* inPieces(neutralise, view));
  }
  return views;
}

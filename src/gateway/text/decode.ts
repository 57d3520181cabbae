import type { Steps } from '../../core/time-slices.ts';
import { decodeCiphers, decodeMorse, decodeNato } from './decoders/ciphers.ts';
import { decodeBase32, decodeBase64, decodeCharCodes, decodeHex } from './decoders/encodings.ts';
import { decodeEscapes, decodePercent } from './decoders/escapes.ts';
import { decodeInvisible } from './decoders/invisible.ts';
import { decodeLookAlikes } from './decoders/look-alikes.ts';
import { decodeBackwards, decodeLeet, joinSpaced } from './decoders/spelling.ts';
import { applyOverrides, decodeBraille, decodeEnclosed, decodeTurned, removeStackedMarks } from './decoders/unicode.ts';
import { findHints, HINTS } from './hints.ts';
import { describeRemoved, INVISIBLE_RUN, mayCarryMessage, type RemovedCounts } from './invisible.ts';
import { isPlain, neutralise, normalise } from './normalize.ts';
import { PIECE_CHARS, splitPieces } from './pieces.ts';
import { countUnusual } from './unusual.ts';

// The way of a text to the judge:
//
//   text of printable ASCII in which no decoder finds anything (hints.ts) ---------> the only view
//   text -> normalise ----------------------------------------------------------> first view, what a person sees
//   text -> up to three rounds of                                                 second view, if something was hidden
//             invisible characters and direction overrides, which normalising
//             removes: decoded, and what is left of them is counted
//             normalise
//             letters in other forms (stacked marks, enclosed, upside down, Braille, look-alikes)
//             encodings, then guesses at spellings and ciphers
//        -> a line that names what was removed and not understood, if that is more than ordinary writing has
//
// Both views are neutralised at the end. All of this is done in steps: see core/time-slices.ts.

/** Decodes one way of hiding text, in place; returns its input when it finds none. */
type Decoder = (text: string) => string;

const ON_UNICODE: readonly Decoder[] = [
  removeStackedMarks,
  decodeEnclosed,
  decodeTurned,
  decodeBraille,
  decodeLookAlikes,
];
// Exact encodings first: the guesses at the end would corrupt them.
const BY_HINT: readonly (readonly [hint: number, decode: Decoder])[] = [
  [HINTS.escapes, decodeEscapes],
  [HINTS.percent, decodePercent],
  [HINTS.base64, decodeBase64],
  [HINTS.base32, decodeBase32],
  [HINTS.hex, decodeHex],
  [HINTS.charCodes, decodeCharCodes],
  [HINTS.morse, decodeMorse],
  [HINTS.nato, decodeNato],
  [HINTS.spaced, joinSpaced],
  [HINTS.leet, decodeLeet],
  [HINTS.ciphers, decodeCiphers],
  [HINTS.backwards, decodeBackwards],
];
const ON_ALL: readonly Decoder[] = BY_HINT.map(([, decode]) => decode);
const NAMES: ReadonlyMap<Decoder, string> = new Map([
  ...Object.entries(HINTS).flatMap(([name, bit]) =>
    BY_HINT.filter(([hint]) => hint === bit).map(([, decode]) => [decode, name] as const),
  ),
  [removeStackedMarks, 'stackedMarks'],
  [decodeEnclosed, 'enclosed'],
  [decodeTurned, 'turned'],
  [decodeBraille, 'braille'],
  [decodeLookAlikes, 'lookAlikes'],
]);

/** How many nested encodings are decoded. */
const ROUNDS = 3;

/** Work on shorter texts takes too little time to be interrupted. */
export const SHORT_CHARS = 1000;

/** Ciphers are tried with 26 alphabets: a longer piece would hold the event loop for too long. */
const CIPHER_PIECE_CHARS = 50_000;

/** Changes a text, a very long one piece by piece. May be interrupted after each. */
function* inPieces(change: Decoder, text: string): Steps<string> {
  const changed: string[] = [];
  for (const piece of splitPieces(text, change === decodeCiphers ? CIPHER_PIECE_CHARS : PIECE_CHARS)) {
    changed.push(change(piece));
    if (text.length > SHORT_CHARS) yield;
  }
  const [whole = ''] = changed;
  return changed.length === 1 ? whole : changed.join('');
}

const addCounts = (sum: Map<number, number>, counts: RemovedCounts): void => {
  for (const [code, count] of counts) sum.set(code, (sum.get(code) ?? 0) + count);
};

/** Is given the name of each decoder that has changed a text. */
type OnDecoded = (decoder: string) => void;

/** Decodes round after round. It remembers which decoder found nothing in which text, so that none looks twice. */
const createRounds = (onDecoded: OnDecoded) => {
  const foundNothingIn = new Map<Decoder, string>();
  const removed = new Map<number, number>();
  let isReversed = false;

  function* applyAll(decoders: readonly Decoder[], text: string): Steps<string> {
    let view = text;
    for (const decode of decoders) {
      // Two readings of a line, again in two readings each: every round would double the text.
      if (foundNothingIn.get(decode) === view || (isReversed && decode === decodeBackwards)) continue;
      const next = yield* inPieces(decode, view);
      if (next === view) foundNothingIn.set(decode, view);
      else onDecoded(NAMES.get(decode) ?? '');
      if (next !== view && decode === decodeBackwards) isReversed = true;
      view = next;
    }
    return view;
  }

  /** Normalises, and counts what is lost by it; where asked to, decodes that first. */
  function* normaliseAndCount(text: string, isDecoding: boolean): Steps<string> {
    if (text.search(INVISIBLE_RUN) < 0) return yield* inPieces(normalise, text);
    const visible = isDecoding ? yield* decodeInvisible(text) : text;
    if (visible !== text) onDecoded('invisible');
    const raw = isDecoding ? yield* inPieces(applyOverrides, visible) : text;
    if (raw !== visible) onDecoded('overrides');
    addCounts(removed, yield* countUnusual(raw));
    return yield* inPieces(normalise, raw);
  }

  return {
    removed,
    normaliseAndCount,
    *decodeOnce(text: string): Steps<string> {
      if (isPlain(text)) return yield* applyAll(ON_ALL, text);
      const visible = yield* normaliseAndCount(text, true);
      return yield* applyAll(ON_ALL, yield* applyAll(ON_UNICODE, visible));
    },
  };
};

/** What is left of a text, and what was lost, when its hidden messages are decoded. */
type Decoded = {
  /** Normalised, with hidden messages in place; undefined when that is the visible text. */
  readonly text: string | undefined;
  /** Invisible characters that no decoder understood. */
  readonly removed: RemovedCounts;
};

/**
 * Decodes what is hidden in a text. Takes the original text: some messages hide in what normalising removes. `visible` is
 * the same text normalised.
 */
export function* decodeHidden(
  text: string,
  visible: string = normalise(text),
  onDecoded: OnDecoded = () => {},
): Steps<Decoded> {
  const { decodeOnce, normaliseAndCount, removed } = createRounds(onDecoded);
  let view = text;
  for (let round = 0; round < ROUNDS; round++) {
    const next = yield* decodeOnce(view);
    if (next === view || next === visible) break;
    view = next;
  }
  if (view === text) return { text: undefined, removed };
  const final = yield* normaliseAndCount(view, false);
  return { text: final === visible ? undefined : final, removed };
}

/** How something was hidden in a text: it was decoded, or invisible characters were removed that could not be read. */
export type Hiding = 'decoded' | 'invisible';

/** What the judge reads. */
export type Views = {
  /** The visible text, and a second one if something was hidden. */
  readonly texts: readonly [string] | readonly [string, string];
  readonly hidden: readonly Hiding[];
};

/** The one view of a text of printable ASCII in which nothing is hidden; undefined for every other text. */
function* findPlainView(text: string): Steps<string | undefined> {
  const hints = text.length > PIECE_CHARS ? undefined : findHints(text);
  if (hints === undefined || hints === 0) return hints === 0 ? text : undefined;
  for (const [hint, decode] of BY_HINT) {
    if ((hints & hint) === 0) continue;
    if (decode(text) !== text) return undefined;
    if (text.length > SHORT_CHARS) yield;
  }
  return (hints & HINTS.tokenEdge) === 0 ? text : neutralise(text);
}

const asOnlyView = (text: string): Views => ({ texts: [text], hidden: [] });

/** The views of a text of printable ASCII that gives no decoder a reason to look, however long; undefined for every other. */
export const createHintlessViews = (text: string): Views | undefined => {
  const hints = text.length > PIECE_CHARS ? undefined : findHints(text);
  if (hints === undefined || (hints & ~HINTS.tokenEdge) !== 0) return undefined;
  return asOnlyView(hints === 0 ? text : neutralise(text));
};

/**
 * The same for a short text, undefined for a longer one: a look that takes microseconds. A decoder may take a millisecond, and
 * a request may hold a thousand texts.
 */
export const createShortHintlessViews = (text: string): Views | undefined =>
  text.length > SHORT_CHARS ? undefined : createHintlessViews(text);

/**
 * Creates the texts that the judge reads: the visible one, and, if something was hidden, a second one with hidden messages
 * decoded in place. Invisible characters that say nothing, and are more than ordinary writing has, are named at its end.
 */
export function* createViews(text: string, onDecoded?: OnDecoded): Steps<Views> {
  const plain = yield* findPlainView(text);
  if (plain !== undefined) return asOnlyView(plain);
  const visible = yield* inPieces(normalise, text);
  const { text: decoded, removed } = yield* decodeHidden(text, visible, onDecoded);
  const isRemovalSuspect = mayCarryMessage(removed, text.length);
  const first = yield* inPieces(neutralise, visible);
  if (decoded === undefined && !isRemovalSuspect) return asOnlyView(first);
  const note = isRemovalSuspect ? `\n${describeRemoved(removed)}` : '';
  const second = yield* inPieces(neutralise, (decoded ?? visible) + note);
  const hidden: readonly Hiding[] = [
    ...(decoded === undefined ? [] : (['decoded'] as const)),
    ...(isRemovalSuspect ? (['invisible'] as const) : []),
  ];
  return { texts: [first, second], hidden };
}

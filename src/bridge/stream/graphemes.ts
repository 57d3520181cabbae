import { cutText } from '../../core/text.ts';

/** A longer grapheme cluster is cut, so that many marks on one letter cannot delay a text. */
const CLUSTER_UNITS = 64;
/** A cluster and the character after it. The segmenter never gets longer texts, as it copies its text for each call. */
const WINDOW_UNITS = CLUSTER_UNITS + 2;
/** A long text is segmented so many units at a time, because a call takes as long as a hundred graphemes. */
const SEGMENTED_UNITS = 1024;
/** What is taken at a time of a long part. */
const PART_UNITS = 16_384;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** What may follow a text: `more` at any time, nothing `for-now` although it has not ended, or `nothing` ever. */
export type TextContinuation = 'more' | 'for-now' | 'nothing';

/** UTF-16 units that never combine with one another, whatever is around them, except for a line end of two. */
const isNeverCombined = (unit: number): boolean =>
  unit < 0x300 ||
  (unit >= 0x370 && unit <= 0x482) ||
  (unit >= 0x2010 && unit <= 0x2027) ||
  (unit >= 0x3000 && unit <= 0x3029) ||
  (unit >= 0x3030 && unit <= 0x9fff && unit !== 0x3099 && unit !== 0x309a) ||
  (unit >= 0xff01 && unit <= 0xff60);

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

const areNeverCombined = (text: string, at: number): boolean =>
  isNeverCombined(text.charCodeAt(at)) && isNeverCombined(text.charCodeAt(at + 1));

/** The length of the grapheme at `at`, or 0 while what follows the text could make it longer. */
const graphemeLengthAt = (text: string, at: number, continuation: TextContinuation): number => {
  const unit = text.charCodeAt(at);
  if (at + 1 === text.length)
    return continuation === 'nothing' || (continuation === 'for-now' && !isHighSurrogate(unit)) ? 1 : 0;
  if (areNeverCombined(text, at)) return unit === CARRIAGE_RETURN && text.charCodeAt(at + 1) === LINE_FEED ? 2 : 1;
  const window = text.slice(at, at + WINDOW_UNITS);
  // Half a character does not even show whether it begins a new grapheme.
  const isHalved = continuation !== 'nothing' && isHighSurrogate(window.charCodeAt(window.length - 1));
  const seen = isHalved ? window.slice(0, -1) : window;
  const width = segmenter.segment(seen).containing(0)?.segment.length ?? 0;
  if (width > CLUSTER_UNITS) {
    const isPair =
      isHighSurrogate(seen.charCodeAt(CLUSTER_UNITS - 1)) && isLowSurrogate(seen.charCodeAt(CLUSTER_UNITS));
    return isPair ? CLUSTER_UNITS - 1 : CLUSTER_UNITS;
  }
  return width === seen.length && continuation === 'more' ? 0 : width;
};

/** Where the next graphemes of a long text end, as far as one call of the segmenter shows that for sure. */
const nextEnds = (text: string, at: number): readonly number[] => {
  if (text.length - at < SEGMENTED_UNITS) return [];
  const window = text.slice(at, at + SEGMENTED_UNITS);
  const ends: number[] = [];
  for (const { index, segment } of segmenter.segment(window)) {
    const end = index + segment.length;
    if (segment.length > CLUSTER_UNITS || end > SEGMENTED_UNITS - WINDOW_UNITS) break;
    ends.push(at + end);
  }
  return ends;
};

/** How much to take, as far as it has arrived: at least so many graphemes, and at least so many UTF-16 units. */
export type Portion = { readonly graphemes: number; readonly units: number };

/** A text that arrives in parts and is taken in other parts, none of which ends within a grapheme. */
type GrowingText = {
  readonly add: (part: string) => void;
  /** UTF-16 units that were not taken, including those that are held back. */
  readonly units: () => number;
  /** Empty when no grapheme is sure: unless nothing follows, the last one may still grow. */
  readonly take: (portion: Portion, continuation: TextContinuation) => string;
  /** The oldest part with what was held back before it, less what is held back now. A very long part is several. */
  readonly takePart: (continuation: TextContinuation) => string;
};

/** Holds the parts as they are, and copies a few units at a time. */
export const createGrowingText = (): GrowingText => {
  const parts: string[] = [];
  let next = 0;
  let text = '';
  let at = 0;
  let units = 0;
  /** The end of the grapheme at `at`, and of those after it, if they are known. */
  let ends: readonly number[] = [];
  let known = 0;
  const append = () => {
    const part = parts[next++] ?? '';
    text = at === text.length ? part : text.slice(at) + part;
    at = 0;
    ends = [];
    if (next < parts.length) return;
    parts.length = 0;
    next = 0;
  };
  /** Moves behind the next grapheme, unless what follows the text could make it longer. */
  const skipGrapheme = (continuation: TextContinuation): boolean => {
    const from = at;
    if (ends[known] === undefined && !areNeverCombined(text, at)) {
      ends = nextEnds(text, at);
      known = 0;
    }
    at = ends[known++] ?? at + graphemeLengthAt(text, at, continuation);
    return at > from;
  };
  return {
    add(part) {
      units += part.length;
      if (part.length <= PART_UNITS) parts.push(part);
      else parts.push(...cutText(part, PART_UNITS));
    },
    units: () => units,
    take({ graphemes, units: leastUnits }, continuation) {
      let piece = '';
      let start = at;
      for (let count = 0; count < graphemes || piece.length + at - start < leastUnits; count++) {
        if (text.length - at < WINDOW_UNITS && next < parts.length) {
          piece += text.slice(start, at);
          while (text.length - at < WINDOW_UNITS && next < parts.length) append();
          start = 0;
        }
        if (!skipGrapheme(continuation)) break;
      }
      piece += text.slice(start, at);
      units -= piece.length;
      return piece;
    },
    takePart(continuation) {
      let piece = '';
      do {
        append();
        const follows = next < parts.length ? 'more' : continuation;
        while (skipGrapheme(follows));
        piece = text.slice(0, at);
      } while (piece === '' && next < parts.length);
      units -= piece.length;
      return piece;
    },
  };
};

const isBoundary = (text: string, from: number, at: number): boolean => {
  if (areNeverCombined(text, at - 1))
    return text.charCodeAt(at - 1) !== CARRIAGE_RETURN || text.charCodeAt(at) !== LINE_FEED;
  return segmenter.segment(text.slice(from, at + 2)).containing(at - from)?.index === at - from;
};

/**
 * The end of a piece with at least so many UTF-16 units from `from` on, where a grapheme begins. Undefined while more has to come to
 * know it; what comes after that changes nothing.
 */
export const endOfPiece = (text: string, from: number, leastUnits: number): number | undefined => {
  for (let end = from + leastUnits; end < text.length; end++) {
    if (isHighSurrogate(text.charCodeAt(end)) && end + 1 === text.length) return undefined;
    if (isBoundary(text, from, end)) return end;
    if (end - from >= leastUnits + CLUSTER_UNITS && !isLowSurrogate(text.charCodeAt(end))) return end;
  }
  return undefined;
};

/** Whether a text has so many graphemes or more. Looks no further than these. */
export const hasGraphemes = (text: string, count: number): boolean => {
  const growing = createGrowingText();
  growing.add(text);
  growing.take({ graphemes: count - 1, units: 0 }, 'nothing');
  return growing.units() > 0;
};

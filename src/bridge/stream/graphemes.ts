/** A longer cluster is cut: marks piled upon a letter must not hold a text up. */
const CLUSTER_UNITS = 64;
/** A cluster and the character after it. Longer texts are never given to the segmenter, which copies them for each look. */
const WINDOW_UNITS = CLUSTER_UNITS + 2;
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** What may follow a text: `more` at any time, nothing `for-now` although it has not ended, or `nothing`. */
export type Prospect = 'more' | 'for-now' | 'nothing';

/** Units that never join one another, whatever stands around them, but for a line end of two. */
const standsAlone = (unit: number): boolean =>
  unit < 0x300 ||
  (unit >= 0x370 && unit <= 0x482) ||
  (unit >= 0x2010 && unit <= 0x2027) ||
  (unit >= 0x3000 && unit <= 0x3029) ||
  (unit >= 0x3030 && unit <= 0x9fff && unit !== 0x3099 && unit !== 0x309a) ||
  (unit >= 0xff01 && unit <= 0xff60);

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** The length of the grapheme at `at`, or 0 while what follows the text could make it longer. */
const widthAt = (text: string, at: number, prospect: Prospect): number => {
  const unit = text.charCodeAt(at);
  if (at + 1 === text.length)
    return prospect === 'nothing' || (prospect === 'for-now' && !isHighSurrogate(unit)) ? 1 : 0;
  const after = text.charCodeAt(at + 1);
  if (standsAlone(unit) && standsAlone(after)) return unit === CARRIAGE_RETURN && after === LINE_FEED ? 2 : 1;
  const window = text.slice(at, at + WINDOW_UNITS);
  // Half a character tells nothing yet, not even whether it begins a new grapheme.
  const isHalved = prospect !== 'nothing' && isHighSurrogate(window.charCodeAt(window.length - 1));
  const seen = isHalved ? window.slice(0, -1) : window;
  const width = segmenter.segment(seen).containing(0)?.segment.length ?? 0;
  if (width > CLUSTER_UNITS) {
    const isPair =
      isHighSurrogate(seen.charCodeAt(CLUSTER_UNITS - 1)) && isLowSurrogate(seen.charCodeAt(CLUSTER_UNITS));
    return isPair ? CLUSTER_UNITS - 1 : CLUSTER_UNITS;
  }
  return width === seen.length && prospect === 'more' ? 0 : width;
};

/** How much is taken, as far as it is there: at least so many graphemes, and at least so many UTF-16 units. */
export type Portion = { readonly graphemes: number; readonly units: number };

/** A text that arrives in parts and leaves in other ones, none of which ends within a grapheme. */
export type GrowingText = {
  readonly add: (part: string) => void;
  /** UTF-16 units that have not left, with those that are held back. */
  readonly units: () => number;
  /** Empty when no grapheme is sure: unless nothing follows, the last one may still grow. */
  readonly take: (portion: Portion, prospect: Prospect) => string;
  /** The oldest part with what was held back before it, less what is held back now. */
  readonly takePart: (prospect: Prospect) => string;
};

/** Holds the parts as they are, and copies a few units at a time. */
export const createGrowingText = (): GrowingText => {
  const parts: string[] = [];
  let next = 0;
  let text = '';
  let at = 0;
  let units = 0;
  const append = () => {
    const part = parts[next++] ?? '';
    text = at === text.length ? part : text.slice(at) + part;
    at = 0;
    if (next < parts.length) return;
    parts.length = 0;
    next = 0;
  };
  return {
    add(part) {
      units += part.length;
      parts.push(part);
    },
    units: () => units,
    take({ graphemes, units: leastUnits }, prospect) {
      let piece = '';
      let start = at;
      for (let count = 0; count < graphemes || piece.length + at - start < leastUnits; count++) {
        if (text.length - at < WINDOW_UNITS && next < parts.length) {
          piece += text.slice(start, at);
          while (text.length - at < WINDOW_UNITS && next < parts.length) append();
          start = 0;
        }
        const width = widthAt(text, at, prospect);
        if (width === 0) break;
        at += width;
      }
      piece += text.slice(start, at);
      units -= piece.length;
      return piece;
    },
    takePart(prospect) {
      let piece = '';
      do {
        append();
        const follows = next < parts.length ? 'more' : prospect;
        for (let width = widthAt(text, at, follows); width > 0; width = widthAt(text, at, follows)) at += width;
        piece = text.slice(0, at);
      } while (piece === '' && next < parts.length);
      units -= piece.length;
      return piece;
    },
  };
};

/** Whether a text has so many graphemes or more. Looks no further than these. */
export const hasGraphemes = (text: string, count: number): boolean => {
  const growing = createGrowingText();
  growing.add(text);
  growing.take({ graphemes: count - 1, units: 0 }, 'nothing');
  return growing.units() > 0;
};

/**
 * Everything that Unicode calls default-ignorable (zero width, fillers, variation selectors, tags, direction controls),
 * annotation marks, noncharacters, and the control characters that break no line: one run of them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for; one class is quicker than two.
export const INVISIBLE_RUN = /[\p{DI}\p{NChar}\ufff9-\ufffb\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]+/gu;

/** Letters that join or stack: the spelling of their languages needs joiners. */
export const JOINING =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Balinese}\p{Script=Javanese}]/u;
/** Letters of scripts without blanks between words: a zero-width space says where a line may break. */
export const UNSPACED =
  /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Javanese}\p{Script=Balinese}]/u;
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** Characters that a variation selector gives another shape. */
export const TAKES_VARIANTS = /[\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Mongolian}\p{Sm}]/u;
/** What takes an emoji selector: phones put it behind arrows and enclosed letters as well. */
export const EMOJI = /[\p{Emoji}\p{So}]/u;
const KEYCAP = /[\d#*]/;
/** What a joiner makes one picture of. */
export const PICTOGRAM = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]/u;
const LETTER_OR_MARK = /[\p{L}\p{M}]/u;
// England, Scotland and Wales: the only flags written with tag characters.
const FLAG_TAGS = /^gb(?:eng|sct|wls)\x7f$/;

const DIRECTION_CONTROLS = /^[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]{1,2}$/;

type Neighbours = { readonly before: string; readonly after: string };
type Place = Neighbours & { readonly text: string; readonly index: number };

const hangulJamo = /[\u1100-\u11ff]/;

const mayJoin = ({ before, after }: Neighbours): boolean =>
  JOINING.test(before) || JOINING.test(after) || (PICTOGRAM.test(before) && PICTOGRAM.test(after));

// A syllable of one letter has a soft hyphen on both sides: med-i-cal.
const BEFORE_HYPHEN = /[\p{L}\p{M}]{2}(?:\u00ad[\p{L}\p{M}])?$/u;
const AFTER_HYPHEN = /^(?:[\p{L}\p{M}]\u00ad)?[\p{L}\p{M}]{2}/u;

/** A hyphenation point has two letters of the word on each side. */
const isHyphenation = ({ text, index }: Place): boolean =>
  BEFORE_HYPHEN.test(text.slice(Math.max(0, index - 8), index)) && AFTER_HYPHEN.test(text.slice(index + 1, index + 9));

/** True for what a run of one sign is in ordinary writing, by its neighbours. */
const isOrdinarySign = (sign: string, around: Place): boolean => {
  const { before, after } = around;
  const code = sign.codePointAt(0) ?? 0;
  if (code === 0x200c || code === 0x200d) return mayJoin(around);
  if (code === 0xfe0e || code === 0xfe0f) {
    if (EMOJI.test(before)) return !KEYCAP.test(before) || after === '\u20e3';
    return TAKES_VARIANTS.test(before);
  }
  if ((code >= 0xfe00 && code < 0xfe10) || (code >= 0xe0100 && code <= 0xe01ef)) return TAKES_VARIANTS.test(before);
  if (code === 0xad) return isHyphenation(around);
  // Behind a sign of an address or a name, a long word may break.
  if (code === 0x200b) return UNSPACED.test(before) || (/[./_:?&=-]/.test(before) && LETTER_OR_MARK.test(after));
  if (code === 0x34f) return /\p{M}/u.test(before) || /\p{M}/u.test(after);
  if (code >= 0x180b && code <= 0x180f) return /\p{Script=Mongolian}/u.test(before + after);
  if (code === 0x17b4 || code === 0x17b5) return /\p{Script=Khmer}/u.test(before);
  if (code === 0x115f || code === 0x1160) return hangulJamo.test(before) || hangulJamo.test(after);
  // Colours of a terminal.
  if (code === 0x1b) return after === '[';
  return code === 0xfeff && (before === '' || before === '\n');
};

const isFlag = (run: string, before: string): boolean =>
  before === '\u{1f3f4}' &&
  FLAG_TAGS.test([...run].map((tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000)).join(''));

const charBefore = (text: string, index: number): string => {
  const unit = text.charAt(index - 1);
  return /[\udc00-\udfff]/.test(unit) && index > 1 ? text.slice(index - 2, index) : unit;
};

/** The visible characters on both sides of a run; empty or U+0000 at an edge of the text. */
export const neighboursOf = (text: string, index: number, length: number): Neighbours => ({
  before: charBefore(text, index),
  after: String.fromCodePoint(text.codePointAt(index + length) ?? 0),
});

/** Creates a test for runs of invisible characters of one text: is a run what ordinary writing has in that place? */
export const createOrdinaryRunTest = (text: string): ((run: string, index: number) => boolean) => {
  let hasRightToLeft: boolean | undefined;
  return (run, index) => {
    if (run.length > 12) return false;
    const around = { ...neighboursOf(text, index, run.length), text, index };
    if (run === '\ufe0f\u200d') return EMOJI.test(around.before) && PICTOGRAM.test(around.after);
    if (DIRECTION_CONTROLS.test(run)) {
      hasRightToLeft ??= RIGHT_TO_LEFT.test(text);
      return hasRightToLeft;
    }
    const [sign = ''] = run;
    return sign.length === run.length ? isOrdinarySign(sign, around) : isFlag(run, around.before);
  };
};

/** How many invisible characters were removed, by code point: only those that ordinary writing does not have. */
export type RemovedCounts = ReadonlyMap<number, number>;

// One variation selector or tag can carry a letter, any other sign a bit.
const CARRIER_WEIGHT = 4;
const MIN_WEIGHT = 12;
// Copied text collects stray ones.
const CHARS_PER_STRAY = 1000;

const weightOf = (code: number): number => ((code >= 0xfe00 && code <= 0xfe0f) || code >= 0xe0000 ? CARRIER_WEIGHT : 1);

/** True if so many invisible characters were removed from a text of `chars` that they may carry a message. */
export const mayCarryMessage = (removed: RemovedCounts, chars: number): boolean => {
  let weight = 0;
  for (const [code, count] of removed) weight += count * weightOf(code);
  return weight >= MIN_WEIGHT + Math.floor(chars / CHARS_PER_STRAY);
};

const MAX_NAMED_KINDS = 8;

/** Tells the judge what it does not see: how many invisible characters of which kinds. One line, bounded in length. */
export const describeRemoved = (removed: RemovedCounts): string => {
  const kinds = [...removed].sort((left, right) => right[1] - left[1]);
  const total = kinds.reduce((sum, [, count]) => sum + count, 0);
  const named = kinds
    .slice(0, MAX_NAMED_KINDS)
    .map(([code, count]) => `${count} x U+${code.toString(16).toUpperCase().padStart(4, '0')}`);
  const others = kinds.length > MAX_NAMED_KINDS ? ` and ${kinds.length - MAX_NAMED_KINDS} other kinds` : '';
  return `[${total} invisible characters were removed from this text, more than ordinary writing has, and may hide a message: ${named.join(', ')}${others}]`;
};

const HINT = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/u;
const DISC_OR_SQUARE = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
// A single one is an ordinary pictogram (blood group, parking): letters must stand together with others.
const WORD =
  /(?=[A-Za-z]{0,2}[\u{1f150}-\u{1f189}])[A-Za-z\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]{3}|[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}](?: [\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]){2}/u;
const INDICATORS = /[\u{1f1e6}-\u{1f1ff}](?: ?[\u{1f1e6}-\u{1f1ff}])*/gu;
const letters = (chars: string, first: number): string =>
  chars.replace(/[\u{1f150}-\u{1f1ff}]/gu, (char) =>
    String.fromCharCode(97 + (((char.codePointAt(0) ?? 0) - first) % 32)),
  );

let regions: Intl.DisplayNames | undefined;
const isRegion = (pair: string): boolean => {
  // Costs as much as reading a page: made once, and only for texts that have such letters.
  regions ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  return regions.of(pair) !== undefined;
};

/** Ordinary flags are pairs that name a region; the runtime knows which do. */
const isNoFlags = (run: string): boolean => {
  if (run.length <= 5) return false;
  const pairs = letters(run, 0x1f1e6).replaceAll(' ', '').toUpperCase().match(/../g) ?? [];
  return !pairs.every(isRegion);
};

/** White letters on black discs and squares, and flag letters that form no flags. NFKC leaves these three as they are. */
export const enclosed = (text: string): string => {
  if (!HINT.test(text)) return text;
  const view = WORD.test(text) ? text.replace(DISC_OR_SQUARE, (char) => letters(char, 0x1f150)) : text;
  return (view.match(INDICATORS) ?? []).some(isNoFlags)
    ? view.replace(INDICATORS, (run) => letters(run, 0x1f1e6))
    : view;
};

const MARK = '[\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]';
const MARKS = new RegExp(MARK, 'g');
// No language piles marks on letters that have no composed form: two on one letter, or one on each of three in a row.
const STACK = new RegExp(`${MARK}{2,}`, 'g');
const ROW = new RegExp(`(?:\\p{L}${MARK}+){3}`, 'u');
const LEAST_STACKS = 3;

const withoutMarks = (text: string): string => text.replace(MARKS, '');
// One character at a time: sorting a tall stack of other marks takes quadratic time.
const bare = (word: string): string =>
  withoutMarks(word).replace(/[^\0-\x7f]/gu, (char) => withoutMarks(char.normalize('NFD')).normalize('NFC'));

/** Letters buried under combining marks, or struck through and underlined by them, bare again. */
export const stackedMarks = (text: string): string => {
  if (!ROW.test(text) && (text.match(STACK)?.length ?? 0) < LEAST_STACKS) return text;
  return text.replace(/\S+/g, (word) => (word.search(MARKS) < 0 ? word : bare(word)));
};

// Text turned by half a circle, a to z, with second forms of some letters.
const FORMS = 'ɐqɔpǝɟƃɥᴉɾʞןɯuodbɹsʇnʌʍxʎzıꞁləƎƆⅎ';
const LETTERS = 'abcdefghijklmnopqrstuvwxyzilleecf';
const letterOf: ReadonlyMap<string, string> = new Map([...FORMS].map((form, index) => [form, LETTERS.charAt(index)]));

const RUN = new RegExp(
  `(?<![\\p{L}/[])[${FORMS}HIMNOSWXZ](?:[${FORMS}HIMNOSWXZ ,.'˙¿¡]*[${FORMS}HIMNOSWXZ])?(?![\\p{L}/\\]])`,
  'gu',
);
// Phonetic writing shares most of the turned letters, but not these.
const NOT_PHONETIC = /[ǝʇʞƃᴉןꞁƎƆⅎ]/;
const ANY_TURNED = /[ɐɔǝɟƃɥᴉɾʞןɯɹʇʌʍʎꞁƎƆⅎ]/gu;
const LEAST_TURNED = 2;

const decoded = (run: string): string => {
  const turned = run.match(ANY_TURNED)?.length ?? 0;
  if (run.length < 3 || turned < LEAST_TURNED || !NOT_PHONETIC.test(run)) return run;
  return [...run]
    .reverse()
    .map((char) => letterOf.get(char) ?? char)
    .join('');
};

/** Upside-down letters, read from the end as they are meant to be. */
export const turned = (text: string): string => (NOT_PHONETIC.test(text) ? text.replace(RUN, decoded) : text);

// From a right-to-left or left-to-right override to whatever ends its effect.
const OVERRIDE = /([\u202d\u202e])([^\u202a-\u202e\u2069\n\r\u2029]+)/g;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** Text that direction overrides show backwards, as it is shown. An override that changes nothing hides nothing. */
export const overrides = (text: string): string =>
  text.replace(OVERRIDE, (whole, override: string, shown: string) =>
    (override === '\u202d') === RIGHT_TO_LEFT.test(shown) ? [...shown].reverse().join('') : whole,
  );

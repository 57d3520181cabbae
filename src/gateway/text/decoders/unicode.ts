const ENCLOSED_HINT = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/u;
const DISC_OR_SQUARE = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]/gu;
// A single one is an ordinary pictogram (blood group, parking): three letters in a row are needed.
const ENCLOSED_WORD =
  /(?=[A-Za-z]{0,2}[\u{1f150}-\u{1f189}])[A-Za-z\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]{3}|[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}](?: [\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}]){2}/u;
const FLAG_LETTERS = /[\u{1f1e6}-\u{1f1ff}](?: ?[\u{1f1e6}-\u{1f1ff}])*/gu;
const toLetters = (chars: string, first: number): string =>
  chars.replace(/[\u{1f150}-\u{1f1ff}]/gu, (char) =>
    String.fromCharCode(97 + (((char.codePointAt(0) ?? 0) - first) % 32)),
  );

let regions: Intl.DisplayNames | undefined;
/** There are 676 pairs at most. */
const knownPairs = new Map<string, boolean>();
const isRegion = (pair: string): boolean => {
  const known = knownPairs.get(pair);
  if (known !== undefined) return known;
  // Expensive: created once, and only for texts with such letters.
  regions ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const isKnown = regions.of(pair) !== undefined;
  knownPairs.set(pair, isKnown);
  return isKnown;
};

/** True for flag letters that are no flags: flags are pairs that name a region, which the runtime knows. */
const spellsLetters = (run: string): boolean => {
  if (run.length <= 5) return false;
  const pairs = toLetters(run, 0x1f1e6).replaceAll(' ', '').toUpperCase().match(/../g) ?? [];
  return !pairs.every(isRegion);
};

/** Decodes white letters on black discs and squares, and flag letters that form no flags. NFKC does not fold these. */
export const decodeEnclosed = (text: string): string => {
  if (!ENCLOSED_HINT.test(text)) return text;
  const view = ENCLOSED_WORD.test(text) ? text.replace(DISC_OR_SQUARE, (char) => toLetters(char, 0x1f150)) : text;
  return (view.match(FLAG_LETTERS) ?? []).some(spellsLetters)
    ? view.replace(FLAG_LETTERS, (run) => toLetters(run, 0x1f1e6))
    : view;
};

const MARK = '[\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f]';
const MARKS = new RegExp(MARK, 'g');
// No language stacks marks on letters without a composed form: two on one letter, or one on each of three in a row.
const MARK_STACK = new RegExp(`${MARK}{2,}`, 'g');
const MARKED_ROW = new RegExp(`(?:\\p{L}${MARK}+){3}`, 'u');
const MIN_STACKS = 3;

const removeMarks = (text: string): string => text.replace(MARKS, '');
// One character at a time: sorting a tall stack of other marks takes quadratic time.
const removeAllMarks = (word: string): string =>
  removeMarks(word).replace(/[^\0-\x7f]/gu, (char) => removeMarks(char.normalize('NFD')).normalize('NFC'));

/** Removes stacks of combining marks from letters, also those that strike through or underline them. */
export const removeStackedMarks = (text: string): string => {
  if (!MARKED_ROW.test(text) && (text.match(MARK_STACK)?.length ?? 0) < MIN_STACKS) return text;
  return text.replace(/\S+/g, (word) => (word.search(MARKS) < 0 ? word : removeAllMarks(word)));
};

// Text turned by half a circle, a to z, with second forms of some letters.
const TURNED_LETTERS = 'ɐqɔpǝɟƃɥᴉɾʞןɯuodbɹsʇnʌʍxʎzıꞁləƎƆⅎ';
const UPRIGHT_LETTERS = 'abcdefghijklmnopqrstuvwxyzilleecf';
const uprightOf: ReadonlyMap<string, string> = new Map(
  [...TURNED_LETTERS].map((form, index) => [form, UPRIGHT_LETTERS.charAt(index)]),
);

const TURNED_RUN = new RegExp(
  `(?<![\\p{L}/[])[${TURNED_LETTERS}HIMNOSWXZ](?:[${TURNED_LETTERS}HIMNOSWXZ ,.'˙¿¡]*[${TURNED_LETTERS}HIMNOSWXZ])?(?![\\p{L}/\\]])`,
  'gu',
);
// Phonetic writing shares most of the turned letters, but not these.
const NOT_PHONETIC = /[ǝʇʞƃᴉןꞁƎƆⅎ]/;
const ANY_TURNED = /[ɐɔǝɟƃɥᴉɾʞןɯɹʇʌʍʎꞁƎƆⅎ]/gu;
const MIN_TURNED = 2;

const decodeTurnedRun = (run: string): string => {
  const turned = run.match(ANY_TURNED)?.length ?? 0;
  if (run.length < 3 || turned < MIN_TURNED || !NOT_PHONETIC.test(run)) return run;
  return [...run]
    .reverse()
    .map((char) => uprightOf.get(char) ?? char)
    .join('');
};

/** Decodes upside-down text, which reads from the end. */
export const decodeTurned = (text: string): string =>
  NOT_PHONETIC.test(text) ? text.replace(TURNED_RUN, decodeTurnedRun) : text;

// Letters in Braille, a to z, and the signs between words. The sign for a capital stands before it.
const BRAILLE = '⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵⠂⠲⠦⠖⠄⠤⠆⠒';
const IN_PRINT = "abcdefghijklmnopqrstuvwxyz,.?!'-;:";
const CAPITAL_SIGN = '⠠';
const printOf: ReadonlyMap<string, string> = new Map([
  ...[...BRAILLE].map((form, index) => [form, IN_PRINT.charAt(index)] as const),
  [CAPITAL_SIGN, ''],
]);
const ANY_BRAILLE = /[\u2801-\u28ff]/g;
const BRAILLE_RUN = /[\u2801-\u28ff](?:[\s,.;:!?-]*[\u2801-\u28ff]){4,}/g;
const MIN_BRAILLE_LETTERS = 5;

const decodeBrailleRun = (run: string): string => {
  const signs = run.match(ANY_BRAILLE) ?? [];
  const known = signs.filter((sign) => printOf.has(sign));
  const letters = new Set(signs.filter((sign) => /[a-z]/.test(printOf.get(sign) ?? '')));
  if (known.length < signs.length * 0.9 || letters.size < MIN_BRAILLE_LETTERS) return run;
  return run.replace(ANY_BRAILLE, (sign) => printOf.get(sign) ?? sign);
};

/** Decodes Braille of at least five different letters. Spinners and bars of terminals hold more that are none. */
export const decodeBraille = (text: string): string => text.replace(BRAILLE_RUN, decodeBrailleRun);

// From a right-to-left or left-to-right override to the character that ends its effect.
const OVERRIDE = /([\u202d\u202e])([^\u202a-\u202e\u2069\n\r\u2029]+)/g;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** Reorders text under direction overrides as it is displayed. An override that changes nothing hides nothing. */
export const applyOverrides = (text: string): string =>
  text.replace(OVERRIDE, (whole, override: string, shown: string) =>
    (override === '\u202d') === RIGHT_TO_LEFT.test(shown) ? [...shown].reverse().join('') : whole,
  );

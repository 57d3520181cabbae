import { fluency } from './english.ts';

const LEET_HINT = /[a-z][013457@$!]+[a-z]/i;
// Addresses come first, so that they are skipped whole.
const TOKEN = /[a-z]{2,9}:\/\/\S+|[\w.+-]{1,64}@[\w-]{1,64}\.\S+|[a-z\d@$!]{2,}/gi;
const LEET_SIGN = /[013457@$!]/g;
const LETTER_OF: ReadonlyMap<string, string> = new Map(
  [...'013457@$!'].map((sign, index) => [sign, 'oieastasi'.charAt(index)]),
);

// Not leet: codes and formulas (H1N1, CH3OH), hexadecimal ids, numbers with units, log4j, l10n, handles.
const ORDINARY_TOKEN =
  /^(?:[\da-f]{6,}|(?:\d+[a-z]{1,3})+|[a-z]1[01][a-z]|[a-z]+\d+k|.*4j.*|ipv4\w*|@\w+|\w+@(?:latest|next)|.*!!.*)$/i;
const FORMULA = /^(?:(?:[A-Z]\d{1,2}){2,}|[CHNOS3457]+|.*![A-Z].*)$/;
// Names of programs and random ids change case inside.
const ONE_CASE = /^(?:[A-Z]?[a-z]+|[A-Z]+)$/;
const LEET_CERTAIN = /[b-df-hj-np-tv-z][0134@!][b-df-hj-np-tv-z]|[a-z][013457@$!]+[a-z]+[013457@$!]/i;
const WORD_LEVEL = 5.7;

const replaceLeetSigns = (token: string, letterForOne: string): string =>
  token.replace(LEET_SIGN, (sign) => (sign === '1' ? letterForOne : (LETTER_OF.get(sign) ?? sign)));

type Reading = { readonly text: string; readonly level: number };

const readLeet = (token: string): Reading => {
  const withI = replaceLeetSigns(token, 'i');
  const readingWithI = { text: withI, level: fluency(withI) };
  if (!token.includes('1')) return readingWithI;
  const withL = replaceLeetSigns(token, 'l');
  const readingWithL = { text: withL, level: fluency(withL) };
  return readingWithL.level > readingWithI.level + 0.5 ? readingWithL : readingWithI;
};

const isLeetForm = (token: string): boolean =>
  !/[2689.]|:\/\//.test(token) && LEET_HINT.test(token) && !ORDINARY_TOKEN.test(token);

/** The word that a token spells, if it may be leet. */
const decodeLeetToken = (token: string): string | undefined => {
  if (!isLeetForm(token)) return undefined;
  const { text, level } = readLeet(token);
  return level >= WORD_LEVEL ? text : undefined;
};
const isLeet = (token: string): boolean => !FORMULA.test(token) && ONE_CASE.test(token.replace(/[^A-Za-z]+/g, ''));

/** Half for short codes in capitals (SW1A), two for tokens that can hardly be anything else. */
const leetWeight = (token: string): number => {
  if (token.length < 5) return token === token.toUpperCase() ? 0.5 : 1;
  return LEET_CERTAIN.test(token) && /\d/.test(token) ? 2 : 1;
};
// Long runs of random letters and digits hold a few by chance.
const minLeetWeight = (text: string): number => 2 + Math.floor(text.length / 10_000);

const isShortLeet = (token: string): boolean =>
  token.length <= 3 && /[a-z]/i.test(token) && !/[2689]/.test(token) && !/^\d+[a-z]{2}$/.test(token);

/** Decodes words with digits and signs for letters. One short word is no evidence; two, or one long one, are. */
export const decodeLeet = (text: string): string => {
  if (!LEET_HINT.test(text)) return text;
  const words = new Map<string, string>();
  let weight = 0;
  for (const token of new Set(text.match(TOKEN))) {
    const word = decodeLeetToken(token);
    if (word === undefined) continue;
    words.set(token, word);
    if (isLeet(token)) weight += leetWeight(token);
  }
  if (weight < minLeetWeight(text)) return text;
  return text.replace(TOKEN, (token) => words.get(token) ?? (isShortLeet(token) ? readLeet(token).text : token));
};

// Ranges, not Unicode properties: repeated this often, those take most of a second to compile.
const SPACED_LETTER = '[A-Za-z\\u00c0-\\u024f\\u0370-\\u052f\\u05d0-\\u06ef]';
const SPACING_SIGN = '\\0-/:-@[-`{-\\xa9\\xab-\\xb4\\xb6-\\xb9\\xbb-\\xbf\\u2000-\\u2bff\\u3000-\\u303f\\ud800-\\udfff';
const SPACED_RUN = new RegExp(
  `(?<![^${SPACING_SIGN}])${SPACED_LETTER}(?:[${SPACING_SIGN}]{1,4}${SPACED_LETTER}(?![^${SPACING_SIGN}])){5,}`,
  'g',
);
const SPACING_GAP = new RegExp(`[${SPACING_SIGN}]+`, 'g');
// Three in a row: a quick test before the full pattern.
const SPACED_HINT =
  /(?:^|[^A-Za-z\d])[A-Za-z\x80-\uffff][^A-Za-z\d]{1,4}[A-Za-z\x80-\uffff][^A-Za-z\d]{1,4}[A-Za-z\x80-\uffff](?![A-Za-z\d])/;
// In Chinese a character is a word: blanks between characters hide nothing, other signs do.
const IDEOGRAPHS = /\p{Script=Han}(?:[._*~|+#-]\p{Script=Han}){3,}/gu;
// Long rows count even when they spell no words: they may hold another encoding.
const CERTAIN_LETTERS = 12;

const findCommonest = (gaps: readonly string[]): { readonly gap: string; readonly count: number } => {
  const counts = new Map<string, number>();
  for (const gap of gaps) counts.set(gap, (counts.get(gap) ?? 0) + 1);
  const [gap, count] = [...counts].reduce((most, entry) => (entry[1] > most[1] ? entry : most), ['', 0]);
  return { gap, count };
};

/** True for letters in alphabetical order (columns, choices, parameters), which spell nothing. */
const isSeries = (letters: string): boolean => {
  let steps = 0;
  for (let index = 1; index < letters.length; index++) {
    if (letters.charCodeAt(index) === letters.charCodeAt(index - 1) + 1) steps += 1;
  }
  return steps >= letters.length * 0.4;
};

const joinRun = (run: string): string => {
  const gaps = run.match(SPACING_GAP) ?? [];
  const usual = findCommonest(gaps);
  const text = run.replace(SPACING_GAP, (gap) => (gap === usual.gap ? '' : ' '));
  const letters = text.replaceAll(' ', '').toLowerCase();
  // Abbreviations end with the dot that separates them: the former U.S.S.R. (a.k.a. ...).
  const isAbbreviations = gaps.every((gap) => gap.startsWith('.')) && !/\S{5}/.test(text);
  if (usual.count < gaps.length * 0.6 || isAbbreviations || isSeries(letters)) return run;
  const isWords = /[^a-z]/.test(letters) || fluency(text) >= 5.7;
  return isWords || letters.length >= CERTAIN_LETTERS ? text : run;
};

/** Joins single letters separated by blanks or signs to words; a rarer gap marks the end of a word. */
export const joinSpaced = (text: string): string =>
  !SPACED_HINT.test(text)
    ? text
    : text.replace(SPACED_RUN, joinRun).replace(IDEOGRAPHS, (run) => run.replace(/[^\p{Script=Han}]/gu, ''));

// Reversed English words that are words of no language. The hint is coarser and quicker.
const BACKWARDS_HINT = /eht|uoy|woh|siht|ekam|htiw|lli[kw]|bmob/i;
const BACKWARDS_CERTAIN = /\b(?:htiw|r?uoy|woh|siht|ekam|lli[kw]|bmob|eht)\b/i;
const BACKWARDS_WORD =
  /\b(?:htiw|r?uoy|woh|siht|ekam|lli[kw]|bmob|eht|tah[tw]|morf|evah|dna|rof|fo|ot|ni|ta|si|em|nac)\b/g;
const MIN_BACKWARDS_WORDS = 2;

const reverse = (text: string): string => [...text].reverse().join('');

/** Returns both readings: the whole line reversed, and each word reversed. */
const reverseLine = (line: string): string =>
  BACKWARDS_CERTAIN.test(line) && new Set(line.toLowerCase().match(BACKWARDS_WORD)).size >= MIN_BACKWARDS_WORDS
    ? `${reverse(line)}\n${line.replace(/\S+/g, reverse)}`
    : line;

/** Decodes reversed English, reversed word by word or line by line. */
export const decodeBackwards = (text: string): string =>
  BACKWARDS_HINT.test(text) ? text.split('\n').map(reverseLine).join('\n') : text;

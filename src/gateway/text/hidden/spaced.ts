import { fluency } from './english.ts';

// Ranges, not Unicode properties: repeated as often as here, those take most of a second to compile.
const LETTER = '[A-Za-z\\u00c0-\\u024f\\u0370-\\u052f\\u05d0-\\u06ef]';
const SIGN = '\\0-/:-@[-`{-\\xa9\\xab-\\xb4\\xb6-\\xb9\\xbb-\\xbf\\u2000-\\u2bff\\u3000-\\u303f\\ud800-\\udfff';
const RUN = new RegExp(`(?<![^${SIGN}])${LETTER}(?:[${SIGN}]{1,4}${LETTER}(?![^${SIGN}])){5,}`, 'g');
const GAP = new RegExp(`[${SIGN}]+`, 'g');
// Three in a row, looked for where looking is quick.
const HINT =
  /(?:^|[^A-Za-z\d])[A-Za-z\x80-\uffff][^A-Za-z\d]{1,4}[A-Za-z\x80-\uffff][^A-Za-z\d]{1,4}[A-Za-z\x80-\uffff](?![A-Za-z\d])/;
// In Chinese a character is a word: blanks hide nothing there, but other signs between characters do.
const IDEOGRAPHS = /\p{Script=Han}(?:[._*~|+#-]\p{Script=Han}){3,}/gu;
// Long rows count even when they spell no words: they may hold another code.
const SURE_LETTERS = 12;

const commonest = (gaps: readonly string[]): { readonly gap: string; readonly count: number } => {
  const counts = new Map<string, number>();
  for (const gap of gaps) counts.set(gap, (counts.get(gap) ?? 0) + 1);
  const [gap, count] = [...counts].reduce((most, entry) => (entry[1] > most[1] ? entry : most), ['', 0]);
  return { gap, count };
};

/** True for letters counted up (columns, choices, parameters) rather than spelling something. */
const isSeries = (letters: string): boolean => {
  let steps = 0;
  for (let index = 1; index < letters.length; index++) {
    if (letters.charCodeAt(index) === letters.charCodeAt(index - 1) + 1) steps += 1;
  }
  return steps >= letters.length * 0.4;
};

const joined = (run: string): string => {
  const gaps = run.match(GAP) ?? [];
  const usual = commonest(gaps);
  const text = run.replace(GAP, (gap) => (gap === usual.gap ? '' : ' '));
  const letters = text.replaceAll(' ', '').toLowerCase();
  // Abbreviations end with the dot they are parted by: the former U.S.S.R. (a.k.a. ...).
  const isAbbreviations = gaps.every((gap) => gap.startsWith('.')) && !/\S{5}/.test(text);
  if (usual.count < gaps.length * 0.6 || isAbbreviations || isSeries(letters)) return run;
  const isWords = /[^a-z]/.test(letters) || fluency(text) >= 5.7;
  return isWords || letters.length >= SURE_LETTERS ? text : run;
};

/** Single letters kept apart by blanks or signs, joined to words; a rarer gap marks the end of a word. */
export const spaced = (text: string): string =>
  !HINT.test(text)
    ? text
    : text.replace(RUN, joined).replace(IDEOGRAPHS, (run) => run.replace(/[^\p{Script=Han}]/gu, ''));

import { isPlain } from '../normalise.ts';
import { fluency } from './english.ts';

const LETTER = '[\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Arabic}\\p{Script=Hebrew}]';
const NO_WORD = '[^\\p{L}\\p{M}\\p{N}]';
const RUN = new RegExp(
  `(?<![\\p{L}\\p{M}\\p{N}])${LETTER}(?:${NO_WORD}{1,4}${LETTER}(?![\\p{L}\\p{M}\\p{N}])){5,}`,
  'gu',
);
const GAP = new RegExp(`${NO_WORD}+`, 'gu');
// Three in a row, looked for where looking is quick.
const HINT = /(?:^|[^A-Za-z\d])[A-Za-z][^A-Za-z\d]{1,4}[A-Za-z][^A-Za-z\d]{1,4}[A-Za-z](?![A-Za-z\d])/;
// In Chinese a character is a word: blanks hide nothing there, but other signs between characters do.
const IDEOGRAPHS = /\p{Script=Han}(?:[._*~|+#-]\p{Script=Han}){3,}/gu;
// Long rows count even when they spell no words: they may hold another code.
const SURE_LETTERS = 12;

const commonest = (gaps: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const gap of gaps) counts.set(gap, (counts.get(gap) ?? 0) + 1);
  return [...counts].reduce((most, entry) => (entry[1] > most[1] ? entry : most), ['', 0])[0];
};

const joined = (run: string): string => {
  const gaps = run.match(GAP) ?? [];
  const usual = commonest(gaps);
  const text = run.replace(GAP, (gap) => (gap === usual ? '' : ' '));
  const letters = text.replaceAll(' ', '').toLowerCase();
  if ('abcdefghijklmnopqrstuvwxyz'.includes(letters)) return run;
  const isWords = /[^a-z]/.test(letters) || fluency(text) >= 5.7;
  return isWords || letters.length >= SURE_LETTERS ? text : run;
};

/** Single letters kept apart by blanks or signs, joined to words; a rarer gap marks the end of a word. */
export const spaced = (text: string): string =>
  isPlain(text) && !HINT.test(text)
    ? text
    : text.replace(RUN, joined).replace(IDEOGRAPHS, (run) => run.replace(/[^\p{Script=Han}]/gu, ''));

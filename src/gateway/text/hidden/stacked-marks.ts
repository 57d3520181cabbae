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

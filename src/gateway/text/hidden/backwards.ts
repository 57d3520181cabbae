// English words spelt from the end that are words of no language. The first look is cruder and quicker.
const HINT = /eht|uoy|woh|siht|ekam|htiw|lli[kw]|bmob/i;
const SURE = /\b(?:htiw|r?uoy|woh|siht|ekam|lli[kw]|bmob|eht)\b/i;
const ANY = /\b(?:htiw|r?uoy|woh|siht|ekam|lli[kw]|bmob|eht|tah[tw]|morf|evah|dna|rof|fo|ot|ni|ta|si|em|nac)\b/g;
const LEAST_WORDS = 2;

const reversed = (text: string): string => [...text].reverse().join('');

/** Shows both readings: the whole line from its end, and letters turned within each word. */
const decoded = (line: string): string =>
  SURE.test(line) && new Set(line.toLowerCase().match(ANY)).size >= LEAST_WORDS
    ? `${reversed(line)}\n${line.replace(/\S+/g, reversed)}`
    : line;

/** English written from its end, word by word or line by line. */
export const backwards = (text: string): string => (HINT.test(text) ? text.split('\n').map(decoded).join('\n') : text);

// No language has these words: English ones spelt from the end.
const HINT = /\b(?:htiw|r?uoy|woh|tah[tw]|ekam|siht|morf|evah|lli[wk]|bmob|eht)\b/i;
const WORD =
  /\b(?:eht|dna|rof|htiw|uoy|ruoy|woh|tahw|ekam|taht|siht|morf|evah|lliw|llik|bmob|fo|ot|ni|ta|si|em|nac|meht|tuohtiw)\b/gi;
const LEAST_WORDS = 2;

const reversed = (text: string): string => [...text].reverse().join('');

/** Shows both readings: letters turned within each word, and the whole line from its end. */
const decoded = (line: string): string => {
  if (!HINT.test(line) || new Set(line.toLowerCase().match(WORD)).size < LEAST_WORDS) return line;
  return `${reversed(line)}\n${line.replace(/\S+/g, reversed)}`;
};

/** English written from its end, word by word or line by line. */
export const backwards = (text: string): string => (HINT.test(text) ? text.split('\n').map(decoded).join('\n') : text);

import {
  type Alphabet,
  commonWordShare,
  IDENTITY,
  LETTER_KINDS,
  meanLevel,
  pairLevel,
  pairLevelsIn,
  readLetters,
  readPairs,
} from './english.ts';

// rot13 is the best known of the 25 rotations; the last alphabet is a mirrored one (atbash).
const ALPHABETS: readonly Alphabet[] = [
  ...Array.from({ length: 25 }, (_, shift) =>
    IDENTITY.map((letter) => (letter === 0 ? 0 : ((letter + shift) % 26) + 1)),
  ),
  IDENTITY.map((letter) => (letter === 0 ? 0 : 27 - letter)),
];

const substitute = (text: string, alphabet: Alphabet): string =>
  text.replace(/[A-Za-z]+/g, (run) => {
    let letters = '';
    for (let index = 0; index < run.length; index++) {
      const code = run.charCodeAt(index);
      letters += String.fromCharCode((code & 96) + (alphabet[code & 31] ?? 0));
    }
    return letters;
  });

const CIPHERS = ALPHABETS.map((alphabet) => ({ alphabet, levels: pairLevelsIn(alphabet) }));

/** Letter pairs below this level count as noise. Ten times the level, because whole numbers add faster. */
const NOISE_LEVEL = 66;
/** A passage with more noise is tried. */
export const MIN_NOISE = 120;
const SAMPLE_CHARS = 4000;
const MIN_LETTERS = 10;
const CERTAIN_LETTERS = 24;
/** So many are enough where the text as it stands is noise. */
const LIKELY_LETTERS = 16;
const MIN_LEVEL = 6.4;
/** How much better a reading has to be than the text as it stands. */
const MIN_GAIN = 0.8;
const MAX_DEPTH = 4;

// For all pairs in advance: every character of every text is looked up.
const NOISE_OF_PAIRS = Int8Array.from({ length: LETTER_KINDS ** 2 }, (_, pair) =>
  pair === 0 ? 0 : NOISE_LEVEL - 10 * pairLevel(Math.floor(pair / LETTER_KINDS), pair % LETTER_KINDS),
);

/** How unlike English two adjacent letters are, as `readLetters` numbers them: negative where they are common. */
export const noiseOfPair = (left: number, right: number): number => NOISE_OF_PAIRS[left * LETTER_KINDS + right] ?? 0;

type Passage = { readonly from: number; readonly to: number };

/** The passage that looks least like English words, from word edge to word edge, if it is noisy enough to try. */
const findLeastFluent = (letters: Uint8Array): Passage | undefined => {
  let passage: Passage | undefined;
  let most = MIN_NOISE;
  let noise = 0;
  let from = 0;
  let wordStart = 0;
  let previous = 0;
  for (let index = 0; index <= letters.length; index++) {
    const letter = letters[index] ?? 0;
    if (previous === 0) wordStart = index;
    if (previous + letter === 0) continue;
    if (noise <= 0) {
      noise = 0;
      from = wordStart;
    }
    noise += noiseOfPair(previous, letter);
    if (letter === 0 && noise > most) {
      most = noise;
      passage = { from, to: index };
    }
    previous = letter;
  }
  return passage;
};

const countLetters = (letters: Uint8Array): number => {
  let count = 0;
  for (let index = 0; index < letters.length; index++) count += letters[index] === 0 ? 0 : 1;
  return count;
};

const HIGHEST_LEVEL = 9;

/** False if a look at the first third proves that the mean level of all pairs is lower. Most alphabets end here. */
const canReach = (level: number, pairs: Uint16Array, levels: Uint8Array): boolean => {
  const seen = Math.floor(pairs.length / 3);
  const seenSum = meanLevel(pairs.subarray(0, seen), levels) * seen;
  // A millionth for what division and multiplication lose.
  return seenSum + (pairs.length - seen) * HIGHEST_LEVEL + 1e-6 >= level * pairs.length;
};

type Deciphered = { readonly text: string; readonly cipher: (typeof CIPHERS)[number] };

const decipher = (passage: string, passageLetters: Uint8Array): Deciphered | undefined => {
  const letters = passageLetters.subarray(0, SAMPLE_CHARS);
  const count = countLetters(letters);
  // Ids and words of other alphabets leave stray letters between other characters.
  if (count < MIN_LETTERS || count < passage.slice(0, SAMPLE_CHARS).replace(/\s+/g, '').length * 0.8) return undefined;
  const pairs = readPairs(letters);
  const before = meanLevel(pairs);
  let best: { readonly level: number; readonly cipher: Deciphered['cipher'] } | undefined;
  for (const cipher of CIPHERS) {
    const { levels } = cipher;
    if (!canReach(Math.max(MIN_LEVEL, before + MIN_GAIN), pairs, levels)) continue;
    const level = meanLevel(pairs, levels);
    if (level > (best?.level ?? 0)) best = { level, cipher };
  }
  if (best === undefined || best.level < MIN_LEVEL || best.level < before + MIN_GAIN) return undefined;
  const text = substitute(passage, best.cipher.alphabet);
  const gain = best.level - before;
  const isCertain = best.level >= 7 && (count >= CERTAIN_LETTERS ? gain >= 1.5 : count >= LIKELY_LETTERS && gain >= 3);
  return isCertain || commonWordShare(text) >= 0.2 ? { text, cipher: best.cipher } : undefined;
};

const decipherLines = (passage: string, letters: Uint8Array): string => {
  let from = 0;
  const lines = passage.split('\n').map((line) => {
    const lineLetters = letters.subarray(from, from + line.length);
    from += line.length + 1;
    return decipher(line, lineLetters)?.text ?? line;
  });
  return lines.join('\n');
};

/** More characters between two words than a sentence has: the second belongs to another. */
const MAX_GAP = 3;

/** Where the words that a cipher makes no worse end, from a place on: words next to a passage may look like English by chance. */
const extend = (letters: Uint8Array, place: number, step: 1 | -1, levels: Uint8Array): number => {
  const letterAt = (index: number): number => letters[step === 1 ? index : index - 1] ?? 0;
  let end = place;
  for (;;) {
    let from = end;
    while (letterAt(from) === 0 && Math.abs(from - end) <= MAX_GAP) from += step;
    let to = from;
    while (letterAt(to) !== 0) to += step;
    const pairs = readPairs(letters.subarray(Math.min(from, to), Math.max(from, to)));
    if (to === from || meanLevel(pairs, levels) < meanLevel(pairs)) return end;
    end = to;
  }
};

/** Tries the least fluent passage, or its whole line, then the text before and after it. */
const decipherPassages = (text: string, letters: Uint8Array, depth: number): string => {
  const passage = depth === 0 ? undefined : findLeastFluent(letters);
  if (passage === undefined) return text;
  const lineEnd = text.indexOf('\n', passage.to);
  const line = { from: text.lastIndexOf('\n', passage.from) + 1, to: lineEnd === -1 ? text.length : lineEnd };
  const readingOf = ({ from, to }: Passage) => decipher(text.slice(from, to), letters.subarray(from, to));
  const found = readingOf(passage);
  const whole = found === undefined ? readingOf(line) : undefined;
  let { from, to } = whole === undefined ? passage : line;
  if (found !== undefined) {
    from = extend(letters, from, -1, found.cipher.levels);
    to = extend(letters, to, 1, found.cipher.levels);
  }
  const middle = text.slice(from, to);
  const { cipher } = found ?? whole ?? {};
  return (
    decipherPassages(text.slice(0, from), letters.subarray(0, from), depth - 1) +
    (cipher === undefined ? decipherLines(middle, letters.subarray(from, to)) : substitute(middle, cipher.alphabet)) +
    decipherPassages(text.slice(to), letters.subarray(to), depth - 1)
  );
};

/** Decodes letters replaced by rotation (rot13) or mirroring (atbash). Finds English only. */
export const decodeCiphers = (text: string): string => decipherPassages(text, readLetters(text), MAX_DEPTH);

// A Morse sign's index starts at 1: a dot doubles it, a dash doubles it and adds one.
const MORSE_LETTERS = '  etianmsurwdkgohvfüläpjbxcyzqöŝ54 3   2       16       7   8 90';
const MORSE_RUN = /[.·•*_–—−-]{1,6}(?:[ \n\t/|]+[.·•*_–—−-]{1,6}){4,}/g;

const morseLetter = (sign: string): string => {
  let index = 1;
  for (const mark of sign) index = index * 2 + (/[.·•*]/.test(mark) ? 0 : 1);
  return MORSE_LETTERS[index]?.trim() || '?';
};

const decodeMorseRun = (run: string): string => {
  const words = run.split(/\s*[/|\n]\s*|\s{2,}/).map((word) => word.split(/\s+/).map(morseLetter).join(''));
  const letters = words.join('');
  const known = letters.replaceAll('?', '');
  return known.length >= 5 && known.length >= letters.length * 0.8 && new Set(known).size >= 3 ? words.join(' ') : run;
};

/** Decodes Morse code of five letters and more. Rules, bullets and dot leaders spell too few different letters. */
export const decodeMorse = (text: string): string => text.replace(MORSE_RUN, decodeMorseRun);

const NATO_WORD =
  '(?:al(?:ph|f)a|bravo|charlie|delta|echo|fox-?trot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|x-?ray|yankee|zulu)';
// Every message has a vowel, and these words are quick to find.
const NATO_HINT = /al(?:f|ph)a|echo|india|oscar|uniform|yankee/i;
const NATO_RUN = new RegExp(`\\b${NATO_WORD}(?:[\\s,.;:/|_-]+${NATO_WORD}){3,}\\b`, 'gi');
const NATO_WORD_AND_GAP = new RegExp(`(${NATO_WORD})([\\s,.;:/|_-]*)`, 'gi');

/** Decodes four and more words of the NATO spelling alphabet in a row to their letters. */
export const decodeNato = (text: string): string =>
  !NATO_HINT.test(text)
    ? text
    : text.replace(NATO_RUN, (run) =>
        run.replace(
          NATO_WORD_AND_GAP,
          (_, word: string, gap: string) => word.slice(0, 1).toLowerCase() + (/[/|\n]|\s{2}/.test(gap) ? ' ' : ''),
        ),
      );

import { type Alphabet, commonShare, fluency, letterAt, PLAIN, pairLevel } from './payload.ts';

// rot13 is the best known of the 25 rotations; the last alphabet is a mirrored one (atbash).
const ALPHABETS: readonly Alphabet[] = [
  ...Array.from({ length: 25 }, (_, turn) => PLAIN.map((letter) => (letter === 0 ? 0 : ((letter + turn) % 26) + 1))),
  PLAIN.map((letter) => (letter === 0 ? 0 : 27 - letter)),
];

const substituted = (text: string, alphabet: Alphabet): string =>
  text.replace(/[a-z]/gi, (char) => {
    const code = char.charCodeAt(0);
    return String.fromCharCode((code & 96) + (alphabet[code & 31] ?? 0));
  });

/** Pairs below this level pull a passage towards noise: ten times the level, for whole numbers are added faster. */
const NOISE_LEVEL = 66;
const LEAST_NOISE = 120;
const SAMPLE_CHARS = 4000;
const LEAST_LETTERS = 10;
const SURE_LETTERS = 24;

type Passage = { readonly from: number; readonly to: number };

/** The passage that looks least like words, from word edge to word edge, when there is one worth a try. */
const strangest = (text: string): Passage | undefined => {
  let passage: Passage | undefined;
  let most = LEAST_NOISE;
  let noise = 0;
  let from = 0;
  let wordStart = 0;
  let previous = 0;
  for (let index = 0; index <= text.length; index++) {
    const letter = letterAt(text, index);
    if (previous === 0) wordStart = index;
    if (previous + letter === 0) continue;
    if (noise <= 0) {
      noise = 0;
      from = wordStart;
    }
    noise += NOISE_LEVEL - 10 * pairLevel(previous, letter);
    if (letter === 0 && noise > most) {
      most = noise;
      passage = { from, to: index };
    }
    previous = letter;
  }
  return passage;
};

const deciphered = (passage: string): string | undefined => {
  const sample = passage.slice(0, SAMPLE_CHARS);
  const letters = sample.replace(/[^A-Za-z]+/g, '').length;
  // Ids and words of other alphabets leave stray letters between what is none.
  if (letters < LEAST_LETTERS || letters < sample.replace(/\s+/g, '').length * 0.8) return undefined;
  const before = fluency(sample);
  let best = { level: 0, alphabet: PLAIN };
  for (const alphabet of ALPHABETS) {
    const level = fluency(sample, alphabet);
    if (level > best.level) best = { level, alphabet };
  }
  if (best.level < 6.4 || best.level < before + 0.8) return undefined;
  const text = substituted(passage, best.alphabet);
  const isSure = letters >= SURE_LETTERS && best.level >= 7 && best.level >= before + 1.5;
  return isSure || commonShare(text) >= 0.2 ? text : undefined;
};

const byLine = (passage: string): string =>
  passage
    .split('\n')
    .map((line) => deciphered(line) ?? line)
    .join('\n');

/** Tries the strangest passage, then what stands before and after it. */
const searched = (text: string, depth: number): string => {
  const passage = depth === 0 ? undefined : strangest(text);
  if (passage === undefined) return text;
  const { from, to } = passage;
  const middle = text.slice(from, to);
  return (
    searched(text.slice(0, from), depth - 1) +
    (deciphered(middle) ?? byLine(middle)) +
    searched(text.slice(to), depth - 1)
  );
};

const SEARCH_DEPTH = 4;

/** Letters swapped for others by rotation (rot13) or mirroring. Finds English only; ordinary words end the search at once. */
export const ciphers = (text: string): string => searched(text, SEARCH_DEPTH);

// A mark's place is found by walking from 1: a dot doubles it, a dash doubles it and adds one.
const LETTERS = '  etianmsurwdkgohvfüläpjbxcyzqöŝ54 3   2       16       7   8 90';
const MORSE_RUN = /[.·•*_–—−-]{1,6}(?:[ \n\t/|]+[.·•*_–—−-]{1,6}){4,}/g;

const letterOf = (mark: string): string => {
  let place = 1;
  for (const sign of mark) place = place * 2 + (/[.·•*]/.test(sign) ? 0 : 1);
  return LETTERS[place]?.trim() || '?';
};

const morseText = (run: string): string => {
  const words = run.split(/\s*[/|\n]\s*|\s{2,}/).map((word) => word.split(/\s+/).map(letterOf).join(''));
  const letters = words.join('');
  const known = letters.replaceAll('?', '');
  return known.length >= 5 && known.length >= letters.length * 0.8 && new Set(known).size >= 3 ? words.join(' ') : run;
};

/** Morse code of five letters and more. Rules, bullets and dot leaders spell too few different letters to count. */
export const morse = (text: string): string => text.replace(MORSE_RUN, morseText);

const WORD =
  '(?:al(?:ph|f)a|bravo|charlie|delta|echo|fox-?trot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|x-?ray|yankee|zulu)';
// Every message has a vowel, and these words are quick to look for.
const NATO_HINT = /al(?:f|ph)a|echo|india|oscar|uniform|yankee/i;
const NATO_RUN = new RegExp(`\\b${WORD}(?:[\\s,.;:/|_-]+${WORD}){3,}\\b`, 'gi');
const EACH = new RegExp(`(${WORD})([\\s,.;:/|_-]*)`, 'gi');

/** Four and more words of the spelling alphabet in a row, as the letters they stand for. */
export const nato = (text: string): string =>
  !NATO_HINT.test(text)
    ? text
    : text.replace(NATO_RUN, (run) =>
        run.replace(
          EACH,
          (_, word: string, gap: string) => word.slice(0, 1).toLowerCase() + (/[/|\n]|\s{2}/.test(gap) ? ' ' : ''),
        ),
      );

// English by numbers: how usual a pair of letters is, and how many of a text's words are common ones. Decoders that guess use
// it to distinguish a message from noise.

// How often each pair of letters occurs in English, from 0 to 9 on a logarithmic scale, counted in technical prose. 27 rows of
// 27: word edge, then a to z.
const PAIR_LEVEL_DIGITS =
  '098988877955887984899778474827760460615879060879665464550237010550723510543710060670618107706621830737610040963158331700433630452532030975886654503768365987365750850106500700410800616500050850207136600415430652600021780009000700122710426300020566867770304769860688260405120005000200000300040400000640006000400233000150300000872268320800721720356632060775028100600261670251500042971787681614545730188551060855674851534679560867866231670447034500731760746620060000000000000100000000600000973659452805566740676653060960628306704434772378723050971438409800523850776606360756656340510767360777000200560108000600020440010100000660005006700204600460000000560404001500010050015000210822214100400233750555001001240004000300002400000000001';
const LETTERS = 26;
/** The letters, and the word edge. */
export const LETTER_KINDS = LETTERS + 1;

const levelOfPair = Uint8Array.from(PAIR_LEVEL_DIGITS, Number);

/** The letter that each letter 1..26 stands for; index 0 is the word edge. */
export type Alphabet = Uint8Array;
/** The alphabet in which each letter stands for itself. */
export const IDENTITY: Alphabet = Uint8Array.from({ length: LETTER_KINDS }, (_, letter) => letter);

const letterOfCode = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z]/.test(String.fromCharCode(code)) ? code & 31 : 0,
);

/** A text's letters, one number for each UTF-16 unit: 1..26 for a letter of either case, 0 for everything else. */
export const readLetters = (text: string): Uint8Array => {
  const letters = new Uint8Array(text.length);
  for (let index = 0; index < letters.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128) letters[index] = letterOfCode[code] ?? 0;
  }
  return letters;
};

/** How common two adjacent letters are in English, 0..9. */
export const pairLevel = (left: number, right: number): number => levelOfPair[left * LETTER_KINDS + right] ?? 0;

/** The level of each pair of letters, numbered as `readPairs` does, when they are read in an alphabet. */
export const pairLevelsIn = (alphabet: Alphabet): Uint8Array =>
  Uint8Array.from(levelOfPair, (_, pair) =>
    pairLevel(alphabet[Math.floor(pair / LETTER_KINDS)] ?? 0, alphabet[pair % LETTER_KINDS] ?? 0),
  );

/** The adjacent letters as one number for each pair, word edges included. */
export const readPairs = (letters: Uint8Array): Uint16Array => {
  const pairs = new Uint16Array(letters.length + 1);
  let previous = 0;
  let size = 0;
  for (let index = 0; index <= letters.length; index++) {
    const letter = letters[index] ?? 0;
    if (previous + letter > 0) {
      pairs[size] = previous * LETTER_KINDS + letter;
      size += 1;
    }
    previous = letter;
  }
  return pairs.subarray(0, size);
};

/** The mean level of some pairs: English 7 and more, other languages 6, noise under 5. */
export const meanLevel = (pairs: Uint16Array, levels: Uint8Array = levelOfPair): number => {
  let sum = 0;
  for (let index = 0; index < pairs.length; index++) sum += levels[pairs[index] ?? 0] ?? 0;
  return pairs.length === 0 ? 0 : sum / pairs.length;
};

/** How much a text looks like English: English 7 and more, other languages 6, noise under 5. */
export const fluency = (text: string): number => meanLevel(readPairs(readLetters(text)));

const COMMON_WORDS = new Set(
  'about all and any are as at be bomb but by can do drugs for from get give gun have he her him his how if in is it kill like make me my not of on one or out people she so that the their them they this to up use want was we what when where who will with would you your'.split(
    ' ',
  ),
);

/** The share of a text's letters in the most common English words. Words of one letter do not count. */
export const commonWordShare = (text: string): number => {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const lettersIn = (some: readonly string[]): number => some.join('').length;
  return lettersIn(words.filter((word) => word.length > 1 && COMMON_WORDS.has(word))) / Math.max(1, lettersIn(words));
};

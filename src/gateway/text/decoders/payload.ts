/** A positional code whose digits are worth a fixed number of bits. */
export type Base = { readonly values: Uint8Array; readonly bits: number };

/** A base from its digits in order of their worth. */
export const baseOf = (alphabet: string): Base => {
  const values = new Uint8Array(128);
  for (let worth = 0; worth < alphabet.length; worth++) values[alphabet.charCodeAt(worth)] = worth;
  return { values, bits: Math.log2(alphabet.length) };
};

const bytesOf = (digits: string, { values, bits }: Base): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array((digits.length * bits) >> 3);
  let held = 0;
  let heldBits = 0;
  let size = 0;
  for (let index = 0; index < digits.length; index++) {
    held = ((held << bits) | (values[digits.charCodeAt(index)] ?? 0)) & 0xffff;
    heldBits += bits;
    if (heldBits < 8) continue;
    heldBits -= 8;
    bytes[size] = held >> heldBits;
    size += 1;
  }
  return bytes;
};

const shareWithout = (text: string, pattern: RegExp): number => text.replace(pattern, '').length / text.length;

/** The share of letters and spaces in a text. Format characters count: a payload may hide a second one in them. */
export const letterShare = (text: string): number => shareWithout(text, /[^\p{L}\p{M}\p{Cf}\s]+/gu);

// Three different characters at least, or card numbers such as 5555... would spell a row of U.
const isVaried = (text: string): boolean => {
  const seen = new Set<string>();
  for (const char of text) {
    if (seen.add(char).size >= 3) return true;
  }
  return false;
};

const isText = (text: string): boolean =>
  isVaried(text) &&
  shareWithout(text, /[\p{Cc}\p{Co}\p{Cn}]+/gu) >= 0.9 &&
  // A short random run spells a few letters more often.
  letterShare(text) >= (text.length < 20 ? 0.7 : 0.6);

/** How many bytes the UTF-8 character at `index` takes, or 0 when there is none. */
const charBytesAt = (bytes: Uint8Array, index: number): number => {
  const first = bytes[index] ?? 0xff;
  if (first < 0x80) return 1;
  const size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let next = 1; next < size; next++) {
    if (((bytes[index + next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return size;
};

/** Where the valid UTF-8 that starts at `from` ends. */
const endOfText = (bytes: Uint8Array, from: number): number => {
  let end = from;
  for (let size = charBytesAt(bytes, end); size > 0; size = charBytesAt(bytes, end)) end += size;
  return end;
};

const decoder = new TextDecoder();

/** The text that bytes spell, when they spell one: valid UTF-8, or UTF-16 of Latin letters, and mostly letters. */
export const textFrom = (bytes: Uint8Array<ArrayBuffer>): string | undefined => {
  // A decoder that throws on invalid bytes would cost more than all the rest: most runs are no text.
  const solid = bytes.includes(0) ? bytes.filter((byte) => byte !== 0) : bytes;
  const whole = solid.length < bytes.length * 0.7 ? solid : bytes;
  if (endOfText(whole, 0) < whole.length) return undefined;
  const text = decoder.decode(whole);
  return isText(text) ? text : undefined;
};

// Random bytes almost never hold so long a stretch of letters; many random bytes might hold one of 12.
const STRETCH_BYTES = 12;
const LONG_STRETCH_BYTES = 18;
const stretchesIn = (bytes: Uint8Array<ArrayBuffer>): string => {
  const stretches: string[] = [];
  const least = bytes.length < 1000 ? STRETCH_BYTES : LONG_STRETCH_BYTES;
  for (let index = 0; index < bytes.length; index++) {
    const from = index;
    index = endOfText(bytes, from);
    if (index - from < least) continue;
    for (const stretch of decoder.decode(bytes.subarray(from, index)).split(/[^\P{Cc}\n]+/u)) {
      if (stretch.length >= least && isVaried(stretch) && letterShare(stretch) >= 0.85) stretches.push(stretch);
    }
  }
  return stretches.join(' ');
};

/** The text that a run of digits spells, whole or, if other characters are glued to it, in part. */
export const textIn = (digits: string, base: Base): string | undefined => {
  const whole = textFrom(bytesOf(digits, base));
  if (whole !== undefined || digits.length * base.bits < STRETCH_BYTES * 8) return whole;
  for (let phase = 0; phase === 0 || (phase * base.bits) % 8 > 0; phase++) {
    const stretches = stretchesIn(bytesOf(phase === 0 ? digits : digits.slice(phase), base));
    if (stretches !== '') return stretches;
  }
  return undefined;
};

/** How many of the characters hide something when escaped: letters, but no accented Latin ones, and the invisible. */
export const tellingChars = (chars: string): number =>
  chars.replace(/[\0-@[-`{-\u024f]|[^\p{L}\p{M}\p{Cf}]/gu, '').length;

// How often each pair of letters occurs in English, from 0 to 9 on a logarithmic scale, counted over technical prose. 27 rows
// of 27: the edge of a word, then a to z.
const LEVELS =
  '098988877955887984899778474827760460615879060879665464550237010550723510543710060670618107706621830737610040963158331700433630452532030975886654503768365987365750850106500700410800616500050850207136600415430652600021780009000700122710426300020566867770304769860688260405120005000200000300040400000640006000400233000150300000872268320800721720356632060775028100600261670251500042971787681614545730188551060855674851534679560867866231670447034500731760746620060000000000000100000000600000973659452805566740676653060960628306704434772378723050971438409800523850776606360756656340510767360777000200560108000600020440010100000660005006700204600460000000560404001500010050015000210822214100400233750555001001240004000300002400000000001';
const LETTERS = 26;

const levelOfPair = Uint8Array.from(LEVELS, Number);

/** What each letter 1..26 stands for; place 0 is the edge of a word. */
export type Alphabet = Uint8Array;
/** Letters that stand for themselves. */
export const PLAIN: Alphabet = Uint8Array.from({ length: LETTERS + 1 }, (_, letter) => letter);

const letterOfCode = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z]/.test(String.fromCharCode(code)) ? code & 31 : 0,
);

/** 1..26 for a letter of either case, 0 for everything else and past the end. */
export const letterAt = (text: string, index: number): number => {
  const code = index < text.length ? text.charCodeAt(index) : 0;
  return code < 128 ? (letterOfCode[code] ?? 0) : 0;
};

/** How usual two neighbouring letters are, 0..9. */
export const pairLevel = (left: number, right: number): number => levelOfPair[left * (LETTERS + 1) + right] ?? 0;

/** How much a text read through an alphabet looks like English: English 7 and more, other languages 6, noise under 5. */
export const fluency = (text: string, alphabet: Alphabet = PLAIN): number => {
  let previous = 0;
  let sum = 0;
  let pairs = 0;
  for (let index = 0; index <= text.length; index++) {
    const letter = alphabet[letterAt(text, index)] ?? 0;
    if (previous + letter > 0) {
      sum += pairLevel(previous, letter);
      pairs += 1;
    }
    previous = letter;
  }
  return pairs === 0 ? 0 : sum / pairs;
};

const COMMON = new Set(
  'about all and any are as at be bomb but by can do drugs for from get give gun have he her him his how if in is it kill like make me my not of on one or out people she so that the their them they this to up use want was we what when where who will with would you your'.split(
    ' ',
  ),
);

/** The share of a text's letters that stand in the commonest English words; single letters prove nothing. */
export const commonShare = (text: string): number => {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  const lettersIn = (some: readonly string[]): number => some.join('').length;
  return lettersIn(words.filter((word) => word.length > 1 && COMMON.has(word))) / Math.max(1, lettersIn(words));
};

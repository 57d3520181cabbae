/** The value of each digit of base64, by its character code. */
const DIGITS = new Uint8Array(128);
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  DIGITS[digit.charCodeAt(0)] = value;

/** The bytes of an image, read where they stand: it may be megabytes, and a few of them tell whether it moves. */
type Bytes = { readonly length: number; readonly at: (index: number) => number };

const bytesOf = (base64: string): Bytes => {
  const digit = (index: number): number => DIGITS[base64.charCodeAt(index) & 127] ?? 0;
  const length = (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);
  return {
    length,
    at(index) {
      if (index >= length) return -1;
      const first = Math.floor(index / 3) * 4;
      const group = (digit(first) << 18) | (digit(first + 1) << 12) | (digit(first + 2) << 6) | digit(first + 3);
      return (group >> (16 - 8 * (index % 3))) & 255;
    },
  };
};

const textAt = (bytes: Bytes, from: number, length: number): string =>
  Array.from({ length }, (_, index) => String.fromCharCode(bytes.at(from + index) & 255)).join('');

/** Programs fill the blocks of a GIF with 255 bytes. One of so many short blocks was made to be read for long. */
const maxGifBlocks = ({ length }: Bytes): number => 1000 + length / 100;
const BLOCK = { extension: 0x21, image: 0x2c } as const;

/** The length of a table of colours, by the flags before it. */
const coloursLength = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** Whether a GIF has a second image. Reading ends as in browsers: at what is no block. Source: GIF89a specification. */
const isAnimatedGif = (bytes: Bytes): boolean => {
  const maxBlocks = maxGifBlocks(bytes);
  let images = 0;
  let at = 13 + coloursLength(bytes.at(10));
  for (let blocks = 0; blocks < maxBlocks; ) {
    const kind = bytes.at(at);
    if (kind === BLOCK.image) {
      images += 1;
      if (images > 1) return true;
      at += 11 + coloursLength(bytes.at(at + 9));
    } else if (kind === BLOCK.extension) at += 2;
    else return false;
    let size = bytes.at(at);
    for (; size > 0 && blocks < maxBlocks; blocks++) {
      at += size + 1;
      size = bytes.at(at);
    }
    blocks += 1;
    at += 1;
  }
  return true;
};

const lengthAt = (bytes: Bytes, at: number): number =>
  bytes.at(at) * 2 ** 24 + bytes.at(at + 1) * 2 ** 16 + bytes.at(at + 2) * 2 ** 8 + bytes.at(at + 3);

/** A PNG has a few chunks before its picture. One of so many was made to be read for long. */
const MAX_PNG_CHUNKS = 1000;

/** Whether a PNG says before its picture that more follow. Source: https://www.w3.org/TR/png-3/#acTL-chunk */
const isAnimatedPng = (bytes: Bytes): boolean => {
  for (let at = 8, chunks = 0; at + 8 <= bytes.length; chunks++) {
    if (chunks === MAX_PNG_CHUNKS) return true;
    const type = textAt(bytes, at + 4, 4);
    if (type === 'acTL') return true;
    if (type === 'IDAT' || type === 'IEND') return false;
    at += 12 + lengthAt(bytes, at);
  }
  return false;
};

/** Source: https://developers.google.com/speed/webp/docs/riff_container */
const isAnimatedWebp = (bytes: Bytes): boolean => textAt(bytes, 12, 4) === 'VP8X' && (bytes.at(20) & 2) !== 0;

/**
 * Whether an image in base64 is animated, by its bytes and not by its declared type: models are shown the first frame alone. It takes
 * a few milliseconds for the largest.
 */
export const isAnimated = (base64: string): boolean => {
  const bytes = bytesOf(base64);
  if (textAt(bytes, 0, 4) === 'GIF8') return isAnimatedGif(bytes);
  if (textAt(bytes, 1, 3) === 'PNG') return isAnimatedPng(bytes);
  return textAt(bytes, 0, 4) === 'RIFF' && textAt(bytes, 8, 4) === 'WEBP' && isAnimatedWebp(bytes);
};

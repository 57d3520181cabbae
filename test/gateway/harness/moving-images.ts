const bytesOf = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0));
const dataUrl = (type: string, bytes: readonly number[]): string =>
  `data:image/${type};base64,${Buffer.from(bytes).toString('base64')}`;

const GIF_HEAD = [...bytesOf('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255];
const GIF_LOOP = [0x21, 0xff, 11, ...bytesOf('NETSCAPE2.0'), 3, 1, 0, 0, 0];
const GIF_DELAY = [0x21, 0xf9, 4, 0, 10, 0, 0, 0];
const GIF_FRAME = [0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0];
/** A frame with a table of colours of its own, whose bytes look like the beginning of a frame. */
const GIF_FRAME_WITH_COLOURS = [
  0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 0x2c, 0x2c, 0x2c, 0x2c, 0x2c, 0x2c, 2, 2, 0x44, 1, 0,
];
const GIF_COMMENT = [0x21, 0xfe, 4, 0x2c, 0x2c, 0x3b, 0x2c, 0];

const chunk = (type: string, bytes: readonly number[]): number[] => [
  ...[0, 0, 0, bytes.length],
  ...bytesOf(type),
  ...bytes,
  ...[0, 0, 0, 0],
];
const PNG_HEAD = [0x89, ...bytesOf('PNG\r\n\x1a\n'), ...chunk('IHDR', [0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])];
const PNG_PICTURE = [...chunk('IDAT', bytesOf('acTL')), ...chunk('IEND', [])];
const webp = (flags: number): number[] => [
  ...bytesOf('RIFF'),
  ...[22, 0, 0, 0],
  ...bytesOf('WEBPVP8X'),
  ...[10, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0],
];

/** Images with one picture. */
export const STILL_IMAGES: Readonly<Record<string, string>> = {
  'a GIF': dataUrl('gif', [...GIF_HEAD, ...GIF_FRAME, 0x3b]),
  'a GIF with a comment, and bytes like a frame behind its end': dataUrl('gif', [
    ...GIF_HEAD,
    ...GIF_DELAY,
    ...GIF_COMMENT,
    ...GIF_FRAME_WITH_COLOURS,
    0x3b,
    ...GIF_FRAME,
  ]),
  'a GIF that is cut off': dataUrl('gif', [...GIF_HEAD, ...GIF_FRAME.slice(0, -4)]),
  'a PNG': dataUrl('png', [...PNG_HEAD, ...PNG_PICTURE]),
  'a PNG with hundreds of texts before its picture': dataUrl('png', [
    ...PNG_HEAD,
    ...Array.from({ length: 300 }, () => chunk('tEXt', bytesOf('acTL'))).flat(),
    ...PNG_PICTURE,
  ]),
  'a WebP with transparency': dataUrl('webp', webp(0x10)),
  'a JPEG': dataUrl('jpeg', [0xff, 0xd8, 0xff, 0xe0]),
};

/** Images with several pictures, of which models are shown the first. */
export const MOVING_IMAGES: Readonly<Record<string, string>> = {
  'a GIF': dataUrl('gif', [...GIF_HEAD, ...GIF_LOOP, ...GIF_DELAY, ...GIF_FRAME, ...GIF_DELAY, ...GIF_FRAME, 0x3b]),
  'a GIF without any delay': dataUrl('gif', [...GIF_HEAD, ...GIF_FRAME_WITH_COLOURS, ...GIF_FRAME, 0x3b]),
  'a GIF that is cut off in its second frame': dataUrl('gif', [...GIF_HEAD, ...GIF_FRAME, ...GIF_FRAME.slice(0, 3)]),
  'a GIF that is said to be a PNG': dataUrl('png', [...GIF_HEAD, ...GIF_FRAME, ...GIF_FRAME, 0x3b]),
  'a GIF of hundreds of thousands of blocks': dataUrl('gif', [
    ...GIF_HEAD,
    ...GIF_FRAME.slice(0, 11),
    ...Array.from({ length: 600_000 }, () => 1),
  ]),
  'a PNG': dataUrl('png', [...PNG_HEAD, ...chunk('acTL', [0, 0, 0, 2, 0, 0, 0, 0]), ...PNG_PICTURE]),
  'a PNG of tens of thousands of chunks': dataUrl('png', [
    ...PNG_HEAD,
    ...Array.from({ length: 40_000 }, () => chunk('tEXt', [])).flat(),
    ...PNG_PICTURE,
  ]),
  'a WebP': dataUrl('webp', webp(0x02)),
};

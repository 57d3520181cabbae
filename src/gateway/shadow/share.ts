/** Of a long text this much is looked at, at its beginning and at its end. */
const END_CHARS = 1024;

/** FNV-1a over the UTF-16 units, then the mixing of MurmurHash3: each bit of the text changes half of the 32. */
const hash32 = (text: string): number => {
  let hash = 0x811c9dc5 ^ text.length;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
};

/** Whether a text belongs to a share of all texts, from 0 to 1. The same text always does or never does. It takes some microseconds. */
export const isInShare = (text: string, share: number): boolean => {
  const looked =
    text.length <= 2 * END_CHARS ? text : `${text.length} ${text.slice(0, END_CHARS)}${text.slice(-END_CHARS)}`;
  return hash32(looked) < share * 2 ** 32;
};

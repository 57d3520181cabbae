const OVERLAP_LIMIT_CHARS = 1000;
// A surrogate pair must fit whole.
const LEAST_CHARS = 2;

const splitsPair = (text: string, index: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(index - 1, index + 1));

/**
 * Cuts a text into overlapping windows of at most `windowChars` that together hold all of it, so that nothing is lost at
 * a cut. The last one reaches back to be full: a short tail would be judged without context.
 */
export const windowsOf = (text: string, windowChars: number): readonly string[] => {
  const size = Math.max(LEAST_CHARS, Math.floor(windowChars));
  const overlap = Math.min(OVERLAP_LIMIT_CHARS, Math.floor(size / 10));
  const windows: string[] = [];
  let start = 0;
  while (start + size < text.length) {
    const end = splitsPair(text, start + size) ? start + size - 1 : start + size;
    windows.push(text.slice(start, end));
    const next = Math.min(end - overlap, text.length - size);
    start = splitsPair(text, next) ? next + 1 : next;
  }
  return [...windows, text.slice(start)];
};

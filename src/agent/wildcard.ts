type Compiled = {
  /** At which places of the pattern a character may stand, a bit for each. */
  readonly placesOf: ReadonlyMap<string, bigint>;
  /** Where any character may stand. */
  readonly questions: bigint;
  /** Before which places a star is. */
  readonly stars: bigint;
  readonly length: bigint;
};

const compiled = (pattern: string): Compiled => {
  const placesOf = new Map<string, bigint>();
  let questions = 0n;
  let stars = 0n;
  let length = 0n;
  for (const char of pattern) {
    const place = 1n << length;
    if (char === '*') stars |= place;
    else length += 1n;
    if (char === '?') questions |= place;
    else if (char !== '*') placesOf.set(char, (placesOf.get(char) ?? 0n) | place);
  }
  return { placesOf, questions, stars, length };
};

/** Follows all ways through the pattern at once, a bit for each, so that no text makes it go back. */
const isWhole = (text: string, { placesOf, questions, stars, length }: Compiled): boolean => {
  let reached = 1n;
  for (const char of text) {
    const onward = reached & ((placesOf.get(char) ?? 0n) | questions);
    reached = (onward << 1n) | (reached & stars);
    if (reached === 0n) return false;
  }
  return reached >> length === 1n;
};

const slashed = (text: string): string => text.replaceAll('\\', '/');

/**
 * Whether a text is wholly of a pattern: `*` is any run of characters, line breaks too, `?` is one. A backslash is a
 * slash, and `ls *` is also `ls` alone. The time grows with the text's length, however the two were chosen.
 */
export const matchesWildcard = (text: string, pattern: string): boolean => {
  if (pattern === '*') return true;
  const plain = slashed(text);
  const wanted = slashed(pattern);
  if (isWhole(plain, compiled(wanted))) return true;
  return wanted.endsWith(' *') && isWhole(plain, compiled(wanted.slice(0, -2)));
};

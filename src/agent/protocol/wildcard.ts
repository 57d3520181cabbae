/** Whether a text matches a pattern as a whole. */
export type Wildcard = (text: string) => boolean;

/** The characters between two stars. A `?` among them is any one. */
type Run = readonly string[];

const standsAt = (run: Run, chars: Run, start: number): boolean =>
  run.every((char, at) => char === '?' || char === chars[start + at]);

/** Where a run first stands between two places, or -1. */
const placeOf = (run: Run, chars: Run, { from, to }: { readonly from: number; readonly to: number }): number => {
  for (let start = from; start + run.length <= to; start++) if (standsAt(run, chars, start)) return start;
  return -1;
};

/** Each run is taken where it first stands: no later position leaves more text for the rest, so nothing is tried twice. */
const exactly = (pattern: string): Wildcard => {
  const [first = [], ...more] = pattern.split('*').map((run) => [...run]);
  const last = more.pop();
  const least = [first, ...more, last ?? []].reduce((sum, run) => sum + run.length, 0);
  return (text) => {
    // There are no more characters than code units: most texts need not be taken apart.
    if (text.length < least) return false;
    const chars = [...text];
    if (last === undefined) return chars.length === least && standsAt(first, chars, 0);
    const to = chars.length - last.length;
    if (chars.length < least || !standsAt(first, chars, 0) || !standsAt(last, chars, to)) return false;
    let from = first.length;
    for (const run of more) {
      const place = placeOf(run, chars, { from, to });
      if (place === -1) return false;
      from = place + run.length;
    }
    return true;
  };
};

const slashed = (text: string): string => text.replaceAll('\\', '/');

/**
 * A pattern, taken apart once: `*` is any run of characters, line breaks too, `?` is one. A backslash is a slash, and
 * `ls *` is also `ls` alone.
 */
export const wildcard = (pattern: string): Wildcard => {
  if (pattern === '*') return () => true;
  const wanted = slashed(pattern);
  const whole = exactly(wanted);
  const bare = wanted.endsWith(' *') ? exactly(wanted.slice(0, -2)) : () => false;
  return (text) => {
    const plain = slashed(text);
    return whole(plain) || bare(plain);
  };
};

/** The same for a pattern that is held against one text only. */
export const matchesWildcard = (text: string, pattern: string): boolean => wildcard(pattern)(text);

/** Whether a pattern has no wildcards. */
export const isLiteral = (pattern: string): boolean => !/[*?]/.test(pattern);

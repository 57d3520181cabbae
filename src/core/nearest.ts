/** Levenshtein distance, row by row: how many characters have to be put in, taken out or replaced. */
export const distance = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [i, char] of [...left].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...right].entries()) {
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (char === other ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
};

/** The known name that a mistyped one was most likely meant to be: one that it begins, or else the fewest changes away. */
export const nearestName = (name: string, known: readonly string[]): string | undefined =>
  known.find((candidate) => name !== '' && candidate.startsWith(name)) ??
  known.toSorted((left, right) => distance(name, left) - distance(name, right))[0];

/** Log lines on stderr, gathered for one turn of the loop: one write for many lines under load. */
export type LineWriter = { readonly write: (line: string) => void; readonly flush: () => void };

export const createLineWriter = (): LineWriter => {
  let lines: string[] = [];
  // A closed pipe must not take the service down with it.
  process.stderr.on('error', () => {});
  const flush = (): void => {
    if (lines.length === 0) return;
    const text = `${lines.join('\n')}\n`;
    lines = [];
    process.stderr.write(text);
  };
  return {
    write(line) {
      if (lines.push(line) === 1) setImmediate(flush);
    },
    flush,
  };
};

const LINE_FEED = 0x0a;

/** Splits bytes into lines and passes on each without its line break. Returns false once an unfinished line is too long. */
export const createLineSplitter = (limitBytes: number, onLine: (line: string) => void) => {
  let parts: Buffer[] = [];
  let bytes = 0;
  return (chunk: Buffer): boolean => {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
      onLine(line.toString('utf8'));
    }
    if (rest.length > 0) parts.push(rest);
    bytes += rest.length;
    return bytes <= limitBytes;
  };
};

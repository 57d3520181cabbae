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

/** The same for an output of which only short lines count: longer ones are dropped, and take no memory. */
export const createShortLineReader = (limitBytes: number, onLine: (line: string) => void) => {
  let begun = Buffer.alloc(0);
  let isTooLong = false;
  return (chunk: Buffer): void => {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      if (!isTooLong && begun.length + end <= limitBytes)
        onLine(Buffer.concat([begun, rest.subarray(0, end)]).toString('utf8'));
      begun = Buffer.alloc(0);
      isTooLong = false;
      rest = rest.subarray(end + 1);
    }
    isTooLong ||= begun.length + rest.length > limitBytes;
    begun = isTooLong ? Buffer.alloc(0) : Buffer.concat([begun, rest]);
  };
};

/** The last lines of what was written. Of one that is too long nothing is kept: half of a secret could not be known as one. */
export const createLastLines = (limitBytes: number) => {
  let kept = Buffer.alloc(0);
  let isCut = false;
  return {
    take(chunk: Buffer): void {
      const all = Buffer.concat([kept, chunk.subarray(-limitBytes)]);
      isCut ||= kept.length + chunk.length > limitBytes;
      kept = all.subarray(-limitBytes);
    },
    text(): string {
      const text = kept.toString('utf8');
      return isCut ? text.slice(text.indexOf('\n') + 1 || text.length) : text;
    },
  };
};

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;

/**
 * Follows the bytes of an event stream, and says of each piece whether it holds anything of an event: comments and empty
 * lines say nothing, and keep a connection awake on which nothing happens.
 */
export const createSseWords = (): ((bytes: Uint8Array) => boolean) => {
  /** What the line at hand is, which may have begun in an earlier piece. */
  let line: 'empty' | 'comment' | 'words' = 'empty';
  const after = (byte: number): typeof line => {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return 'empty';
    return line === 'empty' ? (byte === COLON ? 'comment' : 'words') : line;
  };
  return (bytes) => {
    let hasWords = false;
    for (const byte of bytes) {
      line = after(byte);
      hasWords ||= line === 'words';
    }
    return hasWords;
  };
};

/** Separates what was sent of a text that then restarted from the new text. */
const RESTART_SEPARATOR = '\n\n';

/** One text of the agent. Both methods return what has to be sent because of the change, which may be empty. */
export type AppendOnlyText = {
  readonly add: (more: string) => string;
  /** What was sent does not count, and the text begins again. */
  readonly restart: () => void;
};

/**
 * Translates a text that can begin again into one that can only grow. What was sent cannot be taken back. When its backend was asked
 * again, the part that is repeated is not sent twice, and what differs follows in a new paragraph.
 */
export const createAppendOnlyText = (): AppendOnlyText => {
  let pieces: string[] = [];
  let chars = 0;
  /** What was sent before the restart. */
  let before = '';
  /** Whether the text has only repeated `before` since the restart. */
  let isRepeating = false;
  return {
    add(more) {
      const expected = before.slice(chars);
      pieces.push(more);
      chars += more.length;
      if (!isRepeating) return more;
      if (expected.startsWith(more)) return '';
      isRepeating = false;
      if (!more.startsWith(expected)) {
        before += RESTART_SEPARATOR;
        return RESTART_SEPARATOR + pieces.join('');
      }
      before = '';
      return more.slice(expected.length);
    },
    restart() {
      if (!isRepeating) before += pieces.join('');
      isRepeating = true;
      pieces = [];
      chars = 0;
    },
  };
};

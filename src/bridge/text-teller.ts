/** Between what was told of a text that then began anew, and the new text. */
const ANEW = '\n\n';

/** One text of the agent as it is now. Both verbs answer with what is to be told because of them, which may be nothing. */
export type TextTeller = {
  /** Whether anything was told, also if it counts for nothing by now. */
  readonly hasTold: () => boolean;
  /** More of it. */
  readonly add: (more: string) => string;
  /** It reads so now: the same, grown, or begun anew. */
  readonly become: (wanted: string) => string;
};

/**
 * Says what to tell of a text that changes. What was told cannot be taken back: where a text begins anew (its backend was asked
 * again), what is the same again is not told twice, and what is not comes after it, in a paragraph of its own.
 */
export const createTextTeller = (): TextTeller => {
  let pieces: string[] = [];
  let chars = 0;
  /** What was told before it began anew. */
  let before = '';
  /** Whether it has said nothing else since. */
  let isAgain = false;

  const add = (more: string): string => {
    const due = before.slice(chars);
    pieces.push(more);
    chars += more.length;
    if (!isAgain) return more;
    if (due.startsWith(more)) return '';
    isAgain = false;
    if (!more.startsWith(due)) {
      before += ANEW;
      return ANEW + pieces.join('');
    }
    before = '';
    return more.slice(due.length);
  };
  return {
    hasTold: () => before !== '' || chars > 0,
    add,
    become(wanted) {
      const known = pieces.join('');
      if (wanted.startsWith(known)) return wanted === known ? '' : add(wanted.slice(known.length));
      if (!isAgain) before += known;
      isAgain = true;
      pieces = [];
      chars = 0;
      return add(wanted);
    },
  };
};

/** So much of a text is read on either side of the place where it meets the next one. */
export const CONTEXT_CHARS = 500;
// A blank or the punctuation of a sentence. Left out are signs that end an escaped letter or stand within words, and an invisible one.
const BREAK = '(?![\\ufeff;{}\'\\u2019])[\\s\\p{Term}\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}"]';
const ENDS_WORD = new RegExp(`${BREAK}$`, 'u');
const BEGINS_APART = new RegExp(`^${BREAK}`, 'u');

const splitsWord = (before: string, after: string): boolean =>
  !ENDS_WORD.test(before.slice(-2)) && !BEGINS_APART.test(after.slice(0, 2));

const edgesOf = (text: string): string =>
  text.length <= 2 * CONTEXT_CHARS ? text : `${text.slice(0, CONTEXT_CHARS)}\n${text.slice(-CONTEXT_CHARS)}`;

/**
 * Texts one behind the other without a break, as some servers show them to a model; empty where no word is split over two of them. The
 * middle of a long text is left out: it is judged as it stands.
 */
export const joinedText = (texts: readonly string[]): string => {
  const shown = texts.filter((text) => text !== '');
  return shown.some((text, index) => index > 0 && splitsWord(shown[index - 1] ?? '', text))
    ? shown.map(edgesOf).join('')
    : '';
};

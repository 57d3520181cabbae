/** Longer than the longest text that is accepted by default, so that only texts that grew, or were allowed, are cut. */
export const PIECE_CHARS = 131_072;
/** How far back a blank is looked for. */
const SEARCH_CHARS = 4096;

// A cut behind one of these could hide a control token from `neutralise`.
const BEGINS_TOKEN = /[<|｜[\]~]/;
const HIGH_SURROGATE = /[\ud800-\udbff]/;

const findCut = (text: string, from: number, pieceChars: number): number => {
  const limit = from + pieceChars;
  for (let index = limit; index > limit - SEARCH_CHARS; index--) {
    const before = text.charAt(index - 1);
    if (before === ' ' || before === '\n') return index;
  }
  let cut = limit;
  while (cut < text.length && (BEGINS_TOKEN.test(text.charAt(cut - 1)) || HIGH_SURROGATE.test(text.charAt(cut - 1))))
    cut += 1;
  return cut;
};

/**
 * Cuts a very long text into pieces that can be worked on one by one, if possible at blanks: joined they are the text again.
 * Surrogate pairs and whatever could be a control token stay whole.
 */
export const splitPieces = (text: string, pieceChars = PIECE_CHARS): readonly string[] => {
  const pieces: string[] = [];
  let from = 0;
  while (from + pieceChars < text.length) {
    const cut = findCut(text, from, pieceChars);
    pieces.push(text.slice(from, cut));
    from = cut;
  }
  return [...pieces, text.slice(from)];
};

/** What stands between two texts of an answer. */
const BETWEEN = '\n\n';

/**
 * Says what goes before a piece of text, by the id of the text that it belongs to, so that each text begins a paragraph.
 * It has to hear of every piece, in order.
 */
export const createJoiner = (): ((id: string) => string) => {
  let last: string | undefined;
  return (id) => {
    const gap = last === undefined || last === id ? '' : BETWEEN;
    last = id;
    return gap;
  };
};

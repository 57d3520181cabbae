/** Part of every cache key: raise it whenever `normalise` or any decoder answers differently than before. */
export const NORMALISER_VERSION = '2';

const PLAIN = /^[\n\t\x20-\x7e]*$/;
// Everything Unicode calls default-ignorable (zero width, fillers, variation selectors, tags, bidi controls), annotation
// marks, noncharacters and the control characters that do not break a line.
const UNSEEN = /[\p{DI}\p{NChar}\ufff9-\ufffb]|[^\P{Cc}\n\t]/gu;
const LINE_BREAK = /\r\n|[\r\v\f\x85\u2028\u2029]/g;
// Sorting a long stack of marks into canonical order takes quadratic time; a joiner ends the stack for the sorter. The two
// half-width sound marks are letters that fold into marks.
const TALL_STACK = /[\p{M}\uff9e\uff9f]{30}/gu;

// Two Arabic ligatures unfold to whole sentences, 18 characters for one: a text of them would cost as much as a book.
const FOLDABLE = /[^\ufdfa\ufdfb]+/g;

/** True when the text is printable ASCII, tabs and line feeds: nothing in it can be invisible or a look-alike. */
export const isPlain = (text: string): boolean => PLAIN.test(text);

/** The text a reader sees: compatibility forms folded (NFKC), line breaks as \n, invisible and control characters gone. */
export const normalise = (text: string): string => {
  if (isPlain(text)) return text;
  return text
    .toWellFormed()
    .replace(LINE_BREAK, '\n')
    .replace(UNSEEN, '')
    .replace(TALL_STACK, '$&\u034f')
    .replace(FOLDABLE, (part) => part.normalize('NFKC'))
    .replace(UNSEEN, '')
    .replaceAll('\u2800', ' ');
};

/** True when nothing visible is left: white space and invisible characters only. */
export const isBlank = (text: string): boolean => normalise(text).trim() === '';

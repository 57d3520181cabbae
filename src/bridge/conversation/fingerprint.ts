import type { FilePart, HistoryMessage } from '../request.ts';

/** A short text that stands for another: SHA-256 in base64url. */
export type Digest = (text: string) => string;

const THOUGHTS = [
  { opening: '<think>', closing: '</think>' },
  { opening: '<details type="reasoning"', closing: '</details>' },
] as const;

/** By hand: a pattern would look for the end anew from every beginning in a text that has no end. */
const withoutBlocks = (text: string, opening: string, closing: string): string => {
  let kept = '';
  let from = 0;
  for (;;) {
    const start = text.indexOf(opening, from);
    const end = start === -1 ? -1 : text.indexOf(closing, start + opening.length);
    if (end === -1) return kept + text.slice(from);
    kept += text.slice(from, start);
    from = end + closing.length;
  }
};

/** A user may write about thoughts. An answer's own are shown by some clients, and sent back by some of these. */
const wordsIn = ({ role, text }: HistoryMessage): string => {
  const words =
    role === 'user'
      ? text
      : THOUGHTS.reduce((rest, { opening, closing }) => withoutBlocks(rest, opening, closing), text);
  // Single spaces are most of it, and stay.
  return words
    .normalize('NFC')
    .replace(/\s{2,}|[^\S ]/g, ' ')
    .trim();
};

/** Files count where the user sent them. What an answer came with was put into words, or is none of a client's. */
const plain = (said: HistoryMessage): HistoryMessage => {
  const { role, files = [] } = said;
  return { role, text: wordsIn(said), ...(role === 'user' && files.length > 0 ? { files } : {}) };
};

type Group = { readonly role: HistoryMessage['role']; readonly texts: string[]; readonly files: FilePart[] };

const entryFrom = ({ role, texts, files }: Group): HistoryMessage => ({
  role,
  text: texts.filter((text) => text !== '').join(' '),
  ...(files.length === 0 ? {} : { files }),
});

/** More of what was said, after entries that came from here or from `entriesOf`. */
export const appendMessages = (
  entries: readonly HistoryMessage[],
  said: readonly HistoryMessage[],
): HistoryMessage[] => {
  const groups: Group[] = [];
  for (const { role, text, files = [] } of [...entries, ...said.map(plain)]) {
    if (role === 'assistant' && text === '') continue;
    const last = groups.at(-1);
    const group = last?.role === role ? last : { role, texts: [], files: [] };
    if (group !== last) groups.push(group);
    group.texts.push(text);
    for (const file of files) group.files.push(file);
  }
  return groups.map(entryFrom);
};

/**
 * What was said, as far as it matters whether it is the same: without thoughts, and with white space evened out. Neighbours
 * of one role become one entry, and answers without words none.
 */
export const normalizeMessages = (said: readonly HistoryMessage[]): HistoryMessage[] => appendMessages([], said);

/** The words of an entry, which have no line break in them, and what its files come to. */
const contentOf = ({ text, files = [] }: HistoryMessage, digest: Digest): string =>
  [text, ...files.map(({ url }) => digest(url))].join('\n');

/** How far a conversation has come. Two are the same if and only if all their entries are. */
export type HistoryFingerprint = {
  /** A hash over the hash before it and the entry that was added. */
  readonly head: string;
  readonly entries: number;
  /** The head after the first entry. */
  readonly opening: string;
};

export const EMPTY_FINGERPRINT: HistoryFingerprint = { head: '', entries: 0, opening: '' };

/** Where a conversation stands once `entries` are said in it too. They must come from `entriesOf`. */
export const extendFingerprint = (
  before: HistoryFingerprint,
  entries: readonly HistoryMessage[],
  digest: Digest,
): HistoryFingerprint => {
  let standing = before;
  for (const entry of entries) {
    const head = digest(`${standing.head}\n${entry.role}\n${contentOf(entry, digest)}`);
    standing = { head, entries: standing.entries + 1, opening: standing.entries === 0 ? head : standing.opening };
  }
  return standing;
};

const TAIL_PAIRS = 2;

/** What the last questions with their answers hash to, the oldest first: two at most, and none where a question has no answer. */
export const hashTail = (entries: readonly HistoryMessage[], digest: Digest): readonly string[] => {
  const tail: string[] = [];
  for (let end = entries.length; tail.length < TAIL_PAIRS; end -= 2) {
    const [question, answer] = entries.slice(Math.max(0, end - 2), Math.max(0, end));
    if (question?.role !== 'user' || answer?.role !== 'assistant') break;
    tail.unshift(digest(`${contentOf(question, digest)}\n${answer.text}`));
  }
  return tail;
};

/** The tail of what was said, and then more of it. */
export const extendTail = (tail: readonly string[], more: readonly string[]): readonly string[] =>
  more.length === 0 ? [] : [...tail, ...more].slice(-TAIL_PAIRS);

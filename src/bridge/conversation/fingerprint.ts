import type { HistoryMessage, PromptFile } from '../request.ts';

/** Returns a short text that identifies another: SHA-256 in base64url. */
export type Digest = (text: string) => string;

const REASONING_BLOCKS = [
  { opening: '<think>', closing: '</think>' },
  { opening: '<details type="reasoning"', closing: '</details>' },
] as const;

/** No pattern: it would search for the end again from every opening in a text that has no end. */
const withoutBlocks = (text: string, opening: string, closing: string): string => {
  let rest = '';
  let from = 0;
  for (;;) {
    const start = text.indexOf(opening, from);
    const end = start === -1 ? -1 : text.indexOf(closing, start + opening.length);
    if (end === -1) return rest + text.slice(from);
    rest += text.slice(from, start);
    from = end + closing.length;
  }
};

/** Some clients show an answer's reasoning, and some of these send it back. In a user's text such blocks are meant. */
const normalizeText = ({ role, text }: HistoryMessage): string => {
  const withoutReasoning =
    role === 'user'
      ? text
      : REASONING_BLOCKS.reduce((rest, { opening, closing }) => withoutBlocks(rest, opening, closing), text);
  return (
    withoutReasoning
      .normalize('NFC')
      // Single spaces are the most common white space, and stay.
      .replace(/\s{2,}|[^\S ]/g, ' ')
      .trim()
  );
};

/** Only the user's files count. Those of an answer were put into text, or the client does not have them. */
const normalizeMessage = (message: HistoryMessage): HistoryMessage => {
  const { role, files = [] } = message;
  return { role, text: normalizeText(message), ...(role === 'user' && files.length > 0 ? { files } : {}) };
};

type Group = { readonly role: HistoryMessage['role']; readonly texts: string[]; readonly files: PromptFile[] };

const toEntry = ({ role, texts, files }: Group): HistoryMessage => ({
  role,
  text: texts.filter((text) => text !== '').join(' '),
  ...(files.length === 0 ? {} : { files }),
});

/** Adds messages to entries that came from here or from `normalizeMessages`. */
export const appendMessages = (
  entries: readonly HistoryMessage[],
  messages: readonly HistoryMessage[],
): HistoryMessage[] => {
  const groups: Group[] = [];
  for (const { role, text, files = [] } of [...entries, ...messages.map(normalizeMessage)]) {
    if (role === 'assistant' && text === '') continue;
    const last = groups.at(-1);
    const group = last?.role === role ? last : { role, texts: [], files: [] };
    if (group !== last) groups.push(group);
    group.texts.push(text);
    for (const file of files) group.files.push(file);
  }
  return groups.map(toEntry);
};

/**
 * The entries to compare histories by: without reasoning, and with normalized white space. Adjacent messages of one role
 * become one entry, and empty answers become none.
 */
export const normalizeMessages = (messages: readonly HistoryMessage[]): HistoryMessage[] =>
  appendMessages([], messages);

/** The text of an entry, which has no line break in it, and digests of its files. */
const contentOf = ({ text, files = [] }: HistoryMessage, digest: Digest): string =>
  [text, ...files.map(({ url }) => digest(url))].join('\n');

/** Identifies a history. Two are equal if and only if all their entries are. */
export type HistoryFingerprint = {
  /** A hash of the head before the last entry, and of that entry. */
  readonly head: string;
  readonly entries: number;
  /** The head after the first entry. */
  readonly opening: string;
};

export const EMPTY_FINGERPRINT: HistoryFingerprint = { head: '', entries: 0, opening: '' };

/** The fingerprint of a history once `entries` are added. They must come from `normalizeMessages`. */
export const extendFingerprint = (
  before: HistoryFingerprint,
  entries: readonly HistoryMessage[],
  digest: Digest,
): HistoryFingerprint => {
  let fingerprint = before;
  for (const entry of entries) {
    const head = digest(`${fingerprint.head}\n${entry.role}\n${contentOf(entry, digest)}`);
    const opening = fingerprint.entries === 0 ? head : fingerprint.opening;
    fingerprint = { head, entries: fingerprint.entries + 1, opening };
  }
  return fingerprint;
};

const TAIL_PAIRS = 2;

/** Hashes of the last prompts with their answers, the oldest first: two at most, and none before a prompt without an answer. */
export const hashTail = (entries: readonly HistoryMessage[], digest: Digest): readonly string[] => {
  const tail: string[] = [];
  for (let end = entries.length; tail.length < TAIL_PAIRS; end -= 2) {
    const [prompt, answer] = entries.slice(Math.max(0, end - 2), Math.max(0, end));
    if (prompt?.role !== 'user' || answer?.role !== 'assistant') break;
    tail.unshift(digest(`${contentOf(prompt, digest)}\n${answer.text}`));
  }
  return tail;
};

/** The tail of a history after more pairs. Empty when there is no complete pair among the new entries. */
export const extendTail = (tail: readonly string[], more: readonly string[]): readonly string[] =>
  more.length === 0 ? [] : [...tail, ...more].slice(-TAIL_PAIRS);

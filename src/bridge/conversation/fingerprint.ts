import { withSingleBlanks } from '../../core/text.ts';
import type { Steps } from '../../core/time-slices.ts';
import type { HistoryMessage, PromptFile } from '../request.ts';
import { digestOf, type NewHash } from './digest.ts';

const REASONING_BLOCKS = [
  { opening: '<think>', closing: '</think>' },
  { opening: '<details type="reasoning"', closing: '</details>' },
] as const;

const BLOCKS_PER_STEP = 1000;
const CHARS_PER_STEP = 65_536;
/** About as much work as the rest of a message makes. */
const CHARS_OF_MESSAGE = 500;

/** No pattern: it would search for the end again from every opening in a text that has no end. */
function* withoutBlocks(text: string, { opening, closing }: (typeof REASONING_BLOCKS)[number]): Steps<string> {
  const rest: string[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf(opening, from);
    const end = start === -1 ? -1 : text.indexOf(closing, start + opening.length);
    if (end === -1) break;
    rest.push(text.slice(from, start));
    from = end + closing.length;
    if (rest.length % BLOCKS_PER_STEP === 0) yield;
  }
  return from === 0 ? text : rest.join('') + text.slice(from);
}

/** Some clients show an answer's reasoning, and some of these send it back. In a user's text such blocks are meant. */
function* normalizeText({ role, text }: HistoryMessage): Steps<string> {
  let withoutReasoning = text;
  if (role === 'assistant')
    for (const block of REASONING_BLOCKS) withoutReasoning = yield* withoutBlocks(withoutReasoning, block);
  return (yield* withSingleBlanks(withoutReasoning)).trim();
}

/** Only the user's files count. Those of an answer were put into text, or the client does not have them. */
function* normalizeMessage(message: HistoryMessage): Steps<HistoryMessage> {
  const { role, text, words = text, files = [], calls = [] } = message;
  return {
    ...{ role, text: yield* normalizeText({ role, text: words }) },
    ...(role === 'user' && files.length > 0 ? { files } : {}),
    ...(calls.length > 0 ? { calls } : {}),
  };
}

type Group = {
  readonly role: HistoryMessage['role'];
  readonly texts: string[];
  readonly files: PromptFile[];
  readonly calls: Set<string>;
};

const toEntry = ({ role, texts, files, calls }: Group): HistoryMessage => ({
  role,
  text: texts.filter((text) => text !== '').join(' '),
  ...(files.length === 0 ? {} : { files }),
  ...(calls.size === 0 ? {} : { calls: [...calls].toSorted() }),
});

/** Adds messages to entries that came from here or from `normalizeMessages`. */
export function* appendMessages(
  entries: readonly HistoryMessage[],
  messages: readonly HistoryMessage[],
): Steps<HistoryMessage[]> {
  const groups: Group[] = [];
  const add = ({ role, text, files = [], calls = [] }: HistoryMessage): void => {
    if (role === 'assistant' && text === '' && calls.length === 0) return;
    const last = groups.at(-1);
    const group = last?.role === role ? last : { role, texts: [], files: [], calls: new Set<string>() };
    if (group !== last) groups.push(group);
    group.texts.push(text);
    for (const file of files) group.files.push(file);
    for (const call of calls) group.calls.add(call);
  };
  for (const entry of entries) add(entry);
  let chars = 0;
  for (const message of messages) {
    // Short messages are one step together.
    chars += message.text.length + CHARS_OF_MESSAGE;
    if (chars > CHARS_PER_STEP) {
      chars = 0;
      yield;
    }
    add(yield* normalizeMessage(message));
  }
  return groups.map(toEntry);
}

/**
 * The entries to compare histories by: without reasoning, and with normalized white space. Adjacent messages of one role
 * become one entry, and empty answers become none.
 */
export const normalizeMessages = (messages: readonly HistoryMessage[]): Steps<HistoryMessage[]> =>
  appendMessages([], messages);

/** Of a text that may be in many histories that are compared: it is read for the first of them alone. */
function* digestOnce(text: string, newHash: NewHash, digests: Map<string, string>): Steps<string> {
  const known = digests.get(text);
  if (known !== undefined) return known;
  yield;
  const digest = yield* digestOf(newHash, [text]);
  digests.set(text, digest);
  return digest;
}

/** The text of an entry, which has no line break in it, digests of its files, and of its calls, in no order: joined by line breaks. */
function* contentOf(
  { text, files = [], calls = [] }: HistoryMessage,
  newHash: NewHash,
  digests: Map<string, string>,
): Steps<readonly string[]> {
  const content = [calls.length === 0 ? text : yield* digestOnce(text, newHash, digests)];
  for (const call of calls) content.push('\ncall ', yield* digestOnce(call, newHash, digests));
  for (const { url } of files) content.push('\n', yield* digestOf(newHash, [url]));
  return content;
}

/** Identifies a history. Two are equal if and only if all their entries are. */
export type HistoryFingerprint = {
  /** A hash of the head before the last entry, and of that entry. */
  readonly head: string;
  readonly entries: number;
  /** The head after the first entry. */
  readonly opening: string;
};

export const EMPTY_FINGERPRINT: HistoryFingerprint = { head: '', entries: 0, opening: '' };

/**
 * The fingerprint of a history once `entries` are added. They must come from `normalizeMessages`. `digests`: of the texts of entries
 * with calls and of the calls, where they are read for several histories.
 */
export function* extendFingerprint(
  before: HistoryFingerprint,
  entries: readonly HistoryMessage[],
  newHash: NewHash,
  digests = new Map<string, string>(),
): Steps<HistoryFingerprint> {
  let fingerprint = before;
  let chars = 0;
  for (const entry of entries) {
    chars += entry.text.length + CHARS_OF_MESSAGE;
    if (chars > CHARS_PER_STEP) {
      chars = 0;
      yield;
    }
    const content = yield* contentOf(entry, newHash, digests);
    const head = yield* digestOf(newHash, [`${fingerprint.head}\n${entry.role}\n`, ...content]);
    const opening = fingerprint.entries === 0 ? head : fingerprint.opening;
    fingerprint = { head, entries: fingerprint.entries + 1, opening };
  }
  return fingerprint;
}

const TAIL_PAIRS = 2;

/** Hashes of the last prompts with their answers, the oldest first: two at most, and none before a prompt without an answer. */
export function* hashTail(entries: readonly HistoryMessage[], newHash: NewHash): Steps<readonly string[]> {
  const tail: string[] = [];
  for (let end = entries.length; tail.length < TAIL_PAIRS; end -= 2) {
    const [prompt, answer] = entries.slice(Math.max(0, end - 2), Math.max(0, end));
    if (prompt?.role !== 'user' || answer?.role !== 'assistant') break;
    tail.unshift(yield* digestOf(newHash, [...(yield* contentOf(prompt, newHash, new Map())), '\n', answer.text]));
  }
  return tail;
}

/** The tail of a history after more pairs. Empty when there is no complete pair among the new entries. */
export const extendTail = (tail: readonly string[], more: readonly string[]): readonly string[] =>
  more.length === 0 ? [] : [...tail, ...more].slice(-TAIL_PAIRS);

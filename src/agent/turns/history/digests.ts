import { cutText, withSingleBlanks } from '../../../core/text.ts';
import type { Steps } from '../../../core/time-slices.ts';
import type { GivenMessage, GivenPart } from '../../protocol/given-messages.ts';

/** SHA-256 in hexadecimal. */
type Digest = (text: string) => string;

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

function* normalized(text: string): Steps<string> {
  return (yield* withSingleBlanks(text)).trim();
}

/** Some clients show an answer's reasoning, and some of these send it back. */
function* normalizedAnswer(text: string): Steps<string> {
  let withoutReasoning = text;
  for (const block of REASONING_BLOCKS) withoutReasoning = yield* withoutBlocks(withoutReasoning, block);
  return yield* normalized(withoutReasoning);
}

/** A long text is digested piece by piece. */
function* digestOf(text: string, digest: Digest): Steps<string> {
  if (text.length <= CHARS_PER_STEP) return digest(text);
  const pieces: string[] = [];
  for (const piece of cutText(text)) {
    pieces.push(digest(piece));
    yield;
  }
  return digest(pieces.join('\n'));
}

/** A message to compare: its text without line breaks, and one line for each file, call or result. */
type Content = { readonly role: GivenMessage['role']; readonly text: string; readonly lines: readonly string[] };

function* fileLines(parts: readonly GivenPart[], digest: Digest): Steps<readonly string[]> {
  const lines: string[] = [];
  for (const part of parts) if (part.type === 'file') lines.push(`file ${yield* digestOf(part.url, digest)}`);
  return lines;
}

function* contentOf(message: GivenMessage, digest: Digest): Steps<Content> {
  const { role } = message;
  switch (message.role) {
    case 'user': {
      const text = message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
      return { role, text: yield* normalized(text), lines: yield* fileLines(message.parts, digest) };
    }
    case 'assistant': {
      const lines = (message.calls ?? []).map(({ id, name }) => `call ${JSON.stringify([id, name])}`);
      return { role, text: yield* normalizedAnswer(message.text ?? ''), lines };
    }
    case 'tool': {
      const output = yield* digestOf(yield* normalized(message.output), digest);
      const files = yield* fileLines(message.files ?? [], digest);
      return { role, text: '', lines: [`result ${JSON.stringify([message.callID, output])}`, ...files] };
    }
    default:
      return message satisfies never;
  }
}

/** Adjacent messages of one role, and how many messages there are up to the last of them. */
type Entry = { readonly role: GivenMessage['role']; texts: string[]; lines: string[]; count: number };

/** Only the files of users have an order that counts. */
const linesOf = ({ role, lines }: Entry): readonly string[] => (role === 'user' ? lines : [...new Set(lines)].sort());

/** A beginning of a history: its digest, and of how many messages it is. */
export type Chain = { readonly digest: string; readonly count: number };

function* entriesOf(messages: readonly GivenMessage[], digest: Digest): Steps<readonly Entry[]> {
  const entries: Entry[] = [];
  let chars = 0;
  for (const [index, message] of messages.entries()) {
    const { role, text, lines } = yield* contentOf(message, digest);
    // Short messages are one step together.
    chars += text.length + CHARS_OF_MESSAGE;
    if (chars > CHARS_PER_STEP) {
      chars = 0;
      yield;
    }
    if (role === 'assistant' && text === '' && lines.length === 0) continue;
    let entry = entries.at(-1);
    if (entry?.role !== role) {
      entry = { role, texts: [], lines: [], count: 0 };
      entries.push(entry);
    }
    if (text !== '') entry.texts.push(text);
    entry.lines.push(...lines);
    entry.count = index + 1;
  }
  return entries;
}

/**
 * The digests of all beginnings of a history, the shortest first: each is of the one before and of the next entry. White space and
 * reasoning do not count, adjacent messages of one role are one entry, and empty answers are none.
 */
export function* chainsOf(messages: readonly GivenMessage[], digest: Digest, before = ''): Steps<readonly Chain[]> {
  const chains: Chain[] = [];
  let last = before;
  for (const entry of yield* entriesOf(messages, digest)) {
    const text = entry.texts.join(' ');
    const content = text.length > CHARS_PER_STEP ? yield* digestOf(text, digest) : text;
    last = digest([last, entry.role, content, ...linesOf(entry)].join('\n'));
    chains.push({ digest: last, count: entry.count });
    if (chains.length % 100 === 0) yield;
  }
  return chains;
}

/** The digest of a history with more messages; `before` is that of the history without them. */
export function* extendChain(before: string, messages: readonly GivenMessage[], digest: Digest): Steps<string> {
  return (yield* chainsOf(messages, digest, before)).at(-1)?.digest ?? before;
}

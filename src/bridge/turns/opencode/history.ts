import { writeJson } from '../../../core/json.ts';
import { cutText, withSingleBlanks } from '../../../core/text.ts';
import type { Steps } from '../../../core/time-slices.ts';
import type { Prompt } from '../../agent/session-client.ts';
import type { SentMessage, SentPart } from '../port.ts';

type DigestText = (text: string) => string;

/** A beginning of a history: its digest, and the messages that follow it. */
export type Beginning = { readonly digest: string; readonly rest: readonly SentMessage[] };

const LONG_CHARS = 65_536;
/** Some clients show the reasoning of an answer and send it back. */
const REASONING = [
  ['<think>', '</think>'],
  ['<details type="reasoning"', '</details>'],
] as const;

/** No pattern: without an end it would search from each opening again. */
const withoutBlocks = (text: string, [opening, closing]: (typeof REASONING)[number]): string => {
  const kept: string[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf(opening, from);
    const end = start === -1 ? -1 : text.indexOf(closing, start);
    if (end === -1) return kept.join('') + text.slice(from);
    kept.push(text.slice(from, start));
    from = end + closing.length;
  }
};

function* digestOf(text: string, digest: DigestText): Steps<string> {
  if (text.length <= LONG_CHARS) return digest(text);
  const pieces: string[] = [];
  for (const piece of cutText(text)) {
    pieces.push(digest(piece));
    yield;
  }
  return digest(pieces.join('\n'));
}

const textOf = (message: SentMessage): string => {
  if (message.role === 'tool') return message.output;
  if (message.role === 'user')
    return message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
  return REASONING.reduce(withoutBlocks, message.text ?? '');
};

const filesOf = (message: SentMessage): readonly Extract<SentPart, { readonly type: 'file' }>[] => {
  if (message.role === 'assistant') return [];
  if (message.role === 'tool') return message.files ?? [];
  return message.parts.filter((part) => part.type === 'file');
};

/** What is compared of a message: its words, and a line for each file, call or result. */
function* contentOf(message: SentMessage, digest: DigestText): Steps<{ text: string; lines: readonly string[] }> {
  const text = (yield* withSingleBlanks(textOf(message))).trim();
  const files: string[] = [];
  for (const { url } of filesOf(message)) files.push(`file ${yield* digestOf(url, digest)}`);
  if (message.role === 'tool')
    return { text: '', lines: [`result ${message.callID} ${yield* digestOf(text, digest)}`, ...files] };
  const calls = message.role === 'assistant' ? (message.calls ?? []) : [];
  return { text, lines: [...files, ...calls.map(({ id, name }) => `call ${JSON.stringify([id, name])}`)] };
}

/**
 * The beginnings of a history after one with the digest `before`, the shortest first. White space and shown reasoning do not count,
 * adjacent messages of one role are one, and empty answers are none.
 */
export function* beginningsOf(
  messages: readonly SentMessage[],
  digest: DigestText,
  before = '',
): Steps<readonly Beginning[]> {
  const groups: { role: string; texts: string[]; lines: string[]; count: number }[] = [];
  for (const [index, message] of messages.entries()) {
    if (index % 100 === 99) yield;
    const { text, lines } = yield* contentOf(message, digest);
    if (message.role === 'assistant' && text === '' && lines.length === 0) continue;
    const last = groups.at(-1);
    const group = last?.role === message.role ? last : { role: message.role, texts: [], lines: [], count: 0 };
    if (group !== last) groups.push(group);
    if (text !== '') group.texts.push(text);
    group.lines.push(...lines);
    group.count = index + 1;
  }
  const beginnings: Beginning[] = [];
  let last = before;
  for (const { role, texts, lines, count } of groups) {
    const words = yield* digestOf(texts.join(' '), digest);
    last = digest([last, role, words, ...(role === 'user' ? lines : lines.toSorted())].join('\n'));
    beginnings.push({ digest: last, rest: messages.slice(count) });
  }
  return beginnings;
}

/** The digest of a history after which these messages have come. */
export function* digestAfter(before: string, messages: readonly SentMessage[], digest: DigestText): Steps<string> {
  return (yield* beginningsOf(messages, digest, before)).at(-1)?.digest ?? before;
}

type PromptPart = Prompt['parts'][number];
type Told = { readonly role: 'user' | 'assistant'; readonly text: string };

const OPENING =
  'These are the earlier messages of this conversation. They are context only: answer the message after them.\n';

/** A message in words: a call and its result are told, since OpenCode stores no calls of clients. */
const tell = (message: SentMessage, names: ReadonlyMap<string, string>): Told => {
  if (message.role === 'user') return { role: 'user', text: textOf(message) };
  if (message.role === 'tool')
    return { role: 'user', text: `[${names.get(message.callID) ?? 'The function'} returned]\n${message.output}` };
  const calls = (message.calls ?? []).map(({ name, arguments: given }) => `[called ${name} with ${given}]`);
  return { role: 'assistant', text: [message.text ?? '', ...calls].filter((text) => text !== '').join('\n\n') };
};

/** The parts of a prompt: the messages in `replay` as a transcript, since OpenCode stores no answers, then those of the input. */
export function* promptPartsOf(
  replay: readonly SentMessage[],
  input: readonly SentMessage[],
  history: readonly SentMessage[],
): Steps<readonly PromptPart[]> {
  const names = new Map(
    history.flatMap((message) =>
      message.role === 'assistant' ? (message.calls ?? []).map(({ id, name }) => [id, name] as const) : [],
    ),
  );
  const told = replay.map((message) => tell(message, names)).filter(({ text }) => text !== '');
  const transcript = told.length === 0 ? '' : `${OPENING}${yield* writeJson(told)}`;
  const before: readonly PromptPart[] = transcript === '' ? [] : [{ type: 'text', text: transcript, synthetic: true }];
  const given = input.flatMap((message): readonly PromptPart[] =>
    message.role === 'user' ? message.parts : [{ type: 'text', text: tell(message, names).text }, ...filesOf(message)],
  );
  return [...before, ...replay.flatMap(filesOf), ...given];
}

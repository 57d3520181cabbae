import { writeJson } from '../../../core/json.ts';
import type { Steps } from '../../../core/time-slices.ts';
import type { SentFile, SentMessage } from '../port.ts';
import type { Prompt } from './session-client.ts';

type Told = { readonly role: 'user' | 'assistant'; readonly text: string };

const OPENING =
  'These are the earlier messages of this conversation. They are context only: answer the message after them.\n';

const filesOf = (message: SentMessage): readonly SentFile[] => {
  if (message.role === 'assistant') return [];
  if (message.role === 'tool') return message.files ?? [];
  return message.parts.filter((part) => part.type === 'file');
};

/** A message in words: a call and its result are told, since OpenCode stores no calls of clients. */
const tell = (message: SentMessage, names: ReadonlyMap<string, string>): Told => {
  if (message.role === 'user')
    return { role: 'user', text: message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ') };
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
): Steps<Prompt['parts']> {
  const calls = history.flatMap((message) => (message.role === 'assistant' ? (message.calls ?? []) : []));
  const names = new Map(calls.map(({ id, name }) => [id, name]));
  const told = replay.map((message) => tell(message, names)).filter(({ text }) => text !== '');
  const transcript: Prompt['parts'] =
    told.length === 0 ? [] : [{ type: 'text', text: `${OPENING}${yield* writeJson(told)}`, synthetic: true }];
  const given = input.flatMap((message): Prompt['parts'] =>
    message.role === 'user' ? message.parts : [{ type: 'text', text: tell(message, names).text }, ...filesOf(message)],
  );
  return [...transcript, ...replay.flatMap(filesOf), ...given];
}

import { badInput, filesOfParts, type PromptFile, type PromptPart, textOfParts } from '../request.ts';
import type { SentCall, SentMessage } from '../turns/port.ts';
import { joinAdjacentTexts } from './content.ts';
import { type EntryKind, findPrompt } from './prompt-place.ts';

/** A message or item of a request, as its endpoint has read it. `at`: its path in the body. */
export type DialogueEntry = {
  readonly at: string;
  /** The member that an error about it names; `at` where there is none. */
  readonly faultAt?: string;
  readonly kind: EntryKind;
  readonly parts: readonly PromptPart[];
  /** Calls of the client in an answer. */
  readonly calls?: readonly SentCall[];
  /** Of a result: its call. */
  readonly callID?: string | undefined;
};

/** A request's messages with their roles. */
export type Dialogue = {
  readonly system: string;
  /** The messages up to the last answer. */
  readonly history: readonly SentMessage[];
  /** Results of the calls of the last answer, and the messages of the user since then. */
  readonly input: readonly SentMessage[];
  readonly files: readonly PromptFile[];
  /** The beginning of the answer; empty if the client has not written one. */
  readonly prefill: string;
  /** What is answered is instructions and no words of the user: it decides nothing. */
  readonly isByInstruction: boolean;
};

type Result = Extract<SentMessage, { readonly role: 'tool' }>;
type Answer = Extract<SentMessage, { readonly role: 'assistant' }>;

const toResult = ({ at, callID, parts }: DialogueEntry): Result => {
  if (!callID)
    throw badInput('missing_required_parameter', at, `Expected the id of a call at '${at}': it is a call's result`);
  const files = filesOfParts(parts);
  const text = textOfParts(parts);
  return { role: 'tool', callID, output: text, ...(files.length === 0 ? {} : { files }) };
};

const toAnswer = ({ parts, calls = [] }: DialogueEntry): Answer => {
  const text = textOfParts(parts);
  return { role: 'assistant', ...(text === '' ? {} : { text }), ...(calls.length === 0 ? {} : { calls }) };
};

const joined = (one: Answer, { text = '', calls = [] }: Answer): Answer => {
  const texts = [one.text ?? '', text].filter((each) => each !== '').join('\n\n');
  const all = [...(one.calls ?? []), ...calls];
  return { role: 'assistant', ...(texts === '' ? {} : { text: texts }), ...(all.length === 0 ? {} : { calls: all }) };
};

/** The entries as messages, without instructions and without what says nothing. An answer in several items is one message. */
export const toMessages = (entries: readonly DialogueEntry[]): readonly SentMessage[] => {
  const messages: SentMessage[] = [];
  for (const entry of entries) {
    if (entry.kind === 'instruction') continue;
    if (entry.kind === 'result') messages.push(toResult(entry));
    else if (entry.kind === 'user') {
      if (entry.parts.length > 0) messages.push({ role: 'user', parts: joinAdjacentTexts(entry.parts) });
    } else {
      const answer = toAnswer(entry);
      const last = messages.at(-1);
      if (answer.text === undefined && answer.calls === undefined) continue;
      if (last?.role === 'assistant') messages[messages.length - 1] = joined(last, answer);
      else messages.push(answer);
    }
  }
  return messages;
};

const asUser = (entry: DialogueEntry): DialogueEntry => ({ ...entry, kind: 'user' });

const emptyInput = (at: string) =>
  badInput('invalid_value', at, `Expected something to answer at '${at}': it is empty`);

/** Finds what has to be answered, and what comes before it. Faults with `bad-input` where there is nothing to answer. `param`: the list's path. */
export const readDialogue = (given: readonly DialogueEntry[], param: string): Dialogue => {
  const { entries, prefill, isByInstruction = false } = findPrompt(given, ({ kind }) => kind, asUser);
  const spoken = entries.filter(({ kind }) => kind !== 'instruction');
  const last = spoken.at(-1);
  if (last === undefined) throw badInput('invalid_value', param, `Expected a message of the user at '${param}'`);
  const start = spoken.findLastIndex(({ kind }) => kind !== 'user' && kind !== 'result') + 1;
  const faultAt = last.faultAt ?? last.at;
  if (start === spoken.length)
    throw badInput(
      'unsupported_value',
      faultAt,
      `Expected a message to answer: there is none of the user, nor an instruction or a result of a call, up to '${faultAt}'`,
    );
  const input = toMessages(spoken.slice(start));
  if (input.length === 0) throw emptyInput(faultAt);
  const instructions = entries.filter(({ kind }) => kind === 'instruction').map(({ parts }) => textOfParts(parts));
  return {
    system: instructions.filter((text) => text !== '').join('\n\n'),
    history: toMessages(spoken.slice(0, start)),
    input,
    files: spoken.flatMap(({ parts }) => filesOfParts(parts)),
    prefill: textOfParts(prefill.flatMap(({ parts }) => parts)),
    isByInstruction,
  };
};

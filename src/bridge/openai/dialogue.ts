import {
  type ApprovalDecision,
  addAnswer,
  badInput,
  filesOfParts,
  type PromptFile,
  type PromptPart,
  textOfParts,
} from '../request.ts';
import type { SentCall, SentMessage } from '../turns/port.ts';
import { joinAdjacentTexts } from './content.ts';

/**
 * What an entry of a dialogue is. `answer`: a text of the assistant, which may be continued. `silent`: it has no text. `other`: what
 * has to be followed by something, such as a call.
 */
type EntryKind = 'user' | 'result' | 'instruction' | 'answer' | 'silent' | 'other';

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
  readonly isError?: boolean;
  /** Of the user's, where it is nothing else. */
  readonly decision?: ApprovalDecision;
};

/** A request's messages with their roles. */
export type Dialogue = {
  readonly system: string;
  /** The messages up to the last answer. */
  readonly history: readonly SentMessage[];
  /** Results of the calls of the last answer, and the messages of the user since then. */
  readonly input: readonly SentMessage[];
  readonly files: readonly PromptFile[];
  /** The beginning of the answer; undefined if the client has not written one. */
  readonly prefill: string | undefined;
  /** What the user's words decide, if they are nothing but decisions; empty if what is answered is not the user's. */
  readonly approvals: readonly ApprovalDecision[] | undefined;
};

/** `prefill`: the answer's beginning, where the client has written that. */
type Prompt = {
  /** The entries up to the prompt, which is the user's words or results at their end. */
  readonly entries: readonly DialogueEntry[];
  readonly prefill: readonly DialogueEntry[];
  /** The prompt is instructions, which count as the user's words and decide nothing for the user. */
  readonly isByInstruction?: boolean;
};

/** The place of the entry before `end` that matters for what comes next; -1 where there is none. */
const lastSpoken = (kinds: readonly EntryKind[]): number =>
  kinds.findLastIndex((kind) => kind !== 'instruction' && kind !== 'silent');

/**
 * Finds what has to be answered where that is not the user's words, as OpenAI does. Texts of the assistant at the end are the beginning
 * of the answer. Instructions with no user's words to answer before them are the prompt: those after the last answer, or all
 * where nothing else was sent. Entries in which there is nothing to answer are left as they are.
 */
const findPrompt = (entries: readonly DialogueEntry[]): Prompt => {
  const kinds = entries.map(({ kind }) => kind);
  const isContinued = kinds.findLast((kind) => kind !== 'silent') === 'answer';
  const end = isContinued ? kinds.findLastIndex((kind) => kind !== 'answer' && kind !== 'silent') + 1 : entries.length;
  const last = lastSpoken(kinds.slice(0, end));
  const kind = kinds[last];
  const unchanged = { entries, prefill: [] };
  if (kind === 'other') return unchanged;
  const found = { entries: entries.slice(0, end), prefill: entries.slice(end) };
  if (kind === 'user' || kind === 'result') return found;
  const isAsked = kinds.slice(last + 1, end).includes('instruction');
  if (!isAsked) return unchanged;
  const asked = found.entries.map((entry, index) =>
    index > last && entry.kind === 'instruction' ? { ...entry, kind: 'user' as const } : entry,
  );
  return { ...found, entries: asked, isByInstruction: true };
};

const toResult = ({ at, callID, parts, isError = false }: DialogueEntry): SentMessage => {
  if (!callID)
    throw badInput('missing_required_parameter', at, `Expected the id of a call at '${at}': it is a call's result`);
  const files = filesOfParts(parts);
  const output = textOfParts(parts);
  return { role: 'tool', callID, output, ...(isError ? { isError } : {}), ...(files.length === 0 ? {} : { files }) };
};

/** The entries as messages, without instructions and without what says nothing. An answer in several items is one message. */
export const toMessages = (entries: readonly DialogueEntry[]): readonly SentMessage[] => {
  const messages: SentMessage[] = [];
  for (const entry of entries) {
    const { kind, parts, calls = [] } = entry;
    if (kind === 'result') messages.push(toResult(entry));
    else if (kind !== 'user') addAnswer(messages, { role: 'assistant', text: textOfParts(parts), calls });
    else if (parts.length > 0) messages.push({ role: 'user', parts: joinAdjacentTexts(parts) });
  }
  return messages;
};

const approvalsIn = (spoken: readonly DialogueEntry[]): Dialogue['approvals'] => {
  const words = spoken.slice(spoken.findLastIndex(({ kind }) => kind !== 'user') + 1);
  const decisions = words.flatMap(({ decision }) => decision ?? []);
  return decisions.length > 0 && decisions.length === words.length ? decisions : undefined;
};

/** Finds what has to be answered, and what comes before it. Faults with `bad-input` where there is nothing to answer. `param`: the list's path. */
export const readDialogue = (given: readonly DialogueEntry[], param: string): Dialogue => {
  const { entries, prefill, isByInstruction = false } = findPrompt(given);
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
  if (input.length === 0)
    throw badInput('invalid_value', faultAt, `Expected something to answer at '${faultAt}': it is empty`);
  const instructions = entries.filter(({ kind }) => kind === 'instruction').map(({ parts }) => textOfParts(parts));
  return {
    system: instructions.filter((text) => text !== '').join('\n\n'),
    history: toMessages(spoken.slice(0, start)),
    input,
    files: spoken.flatMap(({ parts }) => filesOfParts(parts)),
    prefill: textOfParts(prefill.flatMap(({ parts }) => parts)) || undefined,
    approvals: isByInstruction ? [] : approvalsIn(spoken),
  };
};

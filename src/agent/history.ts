import type { ChatMessage } from './chat-model.ts';
import type { AssistantMessage } from './message.ts';
import type { Part, ToolPart } from './part.ts';
import type { Told } from './store.ts';
import { isWithdrawn } from './withdrawn.ts';

type UserContent = Extract<ChatMessage, { readonly role: 'user' }>['content'];

const contentOf = (parts: readonly Part[]): UserContent =>
  parts.flatMap((part): UserContent => {
    if (part.type === 'text') return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
    if (part.type !== 'file') return [];
    const { mime, url, filename } = part;
    return [{ kind: 'file', mime, url, ...(filename === undefined ? {} : { filename }) }];
  });

const resultOf = ({ callID, tool, state }: ToolPart) => {
  const told = { id: callID, name: tool };
  if (state.status === 'completed') return { ...told, output: state.output, isError: false };
  // A call that never ended must have a result all the same: backends refuse a call without one.
  return { ...told, output: state.status === 'error' ? state.error : 'The call was interrupted', isError: true };
};

const saidBy = ({ info, parts }: Told): readonly ChatMessage[] => {
  if (info.role === 'user') {
    const content = contentOf(parts);
    return content.length === 0 ? [] : [{ role: 'user', content }];
  }
  const text = textIn(parts);
  const tools = parts.filter((part) => part.type === 'tool').filter((part) => !isWithdrawn(part));
  const calls = tools.map(({ callID, tool, state }) => ({ id: callID, name: tool, input: state.input }));
  if (text === '' && calls.length === 0) return [];
  const said: ChatMessage = { role: 'assistant', text, calls };
  return calls.length === 0 ? [said] : [said, { role: 'tool', results: tools.map(resultOf) }];
};

const textIn = (parts: readonly Part[]): string =>
  parts
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n');

const isSummary = ({ info }: Told): boolean => info.role === 'assistant' && info.summary === true;
const isCompaction = ({ parts }: Told): boolean => parts.some(({ type }) => type === 'compaction');

/**
 * Every message up to the one that is being answered, each followed by its answers, and that one at the end: those that wait
 * their turn come later. Clients choose ids by clocks of their own, so one that was answered counts whatever its id says.
 */
const inOrder = (messages: readonly Told[], askedID: string): readonly Told[] => {
  const answers = Map.groupBy(messages, ({ info }) => (info.role === 'assistant' ? info.parentID : ''));
  const asked = messages.filter(({ info }) => info.id === askedID);
  const before = messages.filter((told) => {
    const { id, role } = told.info;
    return role === 'user' && id !== askedID && (id < askedID || answers.has(id)) && !isCompaction(told);
  });
  return [...before, ...asked].flatMap((told) => [told, ...(answers.get(told.info.id) ?? [])]);
};

/**
 * The answer that was begun when a summary was made. What is said in it is said after the summary; the message that it
 * answers and those before that one are in the summary.
 */
const begunBefore = (messages: readonly Told[], summaryID: string): AssistantMessage | undefined => {
  const compactions = new Set(messages.filter(isCompaction).map(({ info }) => info.id));
  const answer = messages.findLast(
    ({ info }) => info.role === 'assistant' && info.id < summaryID && !compactions.has(info.parentID),
  )?.info;
  return answer?.role === 'assistant' ? answer : undefined;
};

/**
 * What a model is told of a session when it answers the message `askedID`: everything that was said and done, without its
 * thoughts; where there is a summary, what came after it, and the message itself.
 */
export const historyOf = (messages: readonly Told[], askedID: string): readonly ChatMessage[] => {
  const told = inOrder(messages, askedID);
  const summary = messages.findLast(isSummary);
  if (summary === undefined) return told.flatMap(saidBy);
  const text = `What happened before, in short:\n${textIn(summary.parts)}`;
  const begun = begunBefore(messages, summary.info.id);
  const since = told.filter(({ info }) => {
    if (info.role === 'assistant') return info.id > summary.info.id || info.id === begun?.id;
    return info.id > (begun?.parentID ?? '') || info.id === askedID;
  });
  return [{ role: 'user', content: [{ kind: 'text', text }] }, ...since.flatMap(saidBy)];
};

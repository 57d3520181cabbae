import { parseJsonValue } from '../../../core/json.ts';
import { fieldsOf, type ShownPart, textOf } from './message-parts.ts';

/** An answer of the bridge as far as it was streamed. */
export type StreamedAnswer = {
  readonly parts: readonly ShownPart[];
  /** Ids of the permission requests that the answer ended with. */
  readonly approvals: readonly string[];
  /** Why it ended; nothing while it is written. */
  readonly finish?: string;
  /** Why it broke off, as the bridge says it. */
  readonly error?: string;
};

export const NO_ANSWER: StreamedAnswer = { parts: [], approvals: [] };

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The bridge reports calls of the agent's tools as lines of reasoning, each in a chunk of its own. `waiting`: behind a decision. */
const TOOL_LINE = /^\[tool (.{1,300})\] (started|finished|failed|waiting)$/;

const addText = (parts: readonly ShownPart[], kind: 'text' | 'reasoning', text: string): readonly ShownPart[] => {
  if (text === '') return parts;
  const last = parts.at(-1);
  if (last?.kind === kind) return [...parts.slice(0, -1), { ...last, text: last.text + text }];
  // What only separates paragraphs begins none.
  const start = text.replace(/^\n+/, '');
  return start === '' ? parts : [...parts, { kind, id: String(parts.length), text: start }];
};

const addToolLine = (parts: readonly ShownPart[], tool: string, what: string): readonly ShownPart[] => {
  if (what === 'started') return [...parts, { kind: 'tool', id: String(parts.length), tool, state: 'running' }];
  const state = what === 'finished' ? 'completed' : what === 'waiting' ? 'pending' : 'error';
  const place = parts.findIndex((part) => part.kind === 'tool' && part.tool === tool && part.state === 'running');
  if (place === -1) return [...parts, { kind: 'tool', id: String(parts.length), tool, state }];
  return parts.map((part, index) => (index === place && part.kind === 'tool' ? { ...part, state } : part));
};

const addReasoning = (parts: readonly ShownPart[], text: string): readonly ShownPart[] => {
  const [, tool, what] = TOOL_LINE.exec(text) ?? [];
  return tool === undefined || what === undefined ? addText(parts, 'reasoning', text) : addToolLine(parts, tool, what);
};

/** How the bridge begins the words about a request, which the page shows as a card instead. */
const ASKED_IN_WORDS = /(?:^|\n\n)The agent asks for approval: /;

const withoutAsking = (parts: readonly ShownPart[]): readonly ShownPart[] =>
  parts.flatMap((part, index) => {
    if (part.kind !== 'text' || index < parts.length - 1) return [part];
    const start = part.text.search(ASKED_IN_WORDS);
    const text = start === -1 ? part.text : part.text.slice(0, start);
    return text === '' ? [] : [{ ...part, text }];
  });

/**
 * The answer with one more event of its stream: a chunk of a chat completion, an error, or the mark of the end. Where the page cannot show
 * requests, the bridge's words about them stay, and a message answers them.
 */
export const takeChunk = (answer: StreamedAnswer, data: string, showsRequests: boolean): StreamedAnswer => {
  if (data === '[DONE]') return answer;
  const chunk = fieldsOf(parseJsonValue(data));
  if (chunk.error !== undefined) {
    const message = textOf(fieldsOf(chunk.error).message);
    return { ...answer, error: message === '' ? 'Error' : message };
  }
  const choice = fieldsOf(listOf(chunk.choices)[0]);
  const delta = fieldsOf(choice.delta);
  let { parts } = answer;
  parts = addReasoning(parts, textOf(delta.reasoning_content));
  parts = addText(parts, 'text', textOf(delta.content));
  parts = addText(parts, 'text', textOf(delta.refusal));
  const asked = (showsRequests ? listOf(fieldsOf(chunk.gatehouse).approvals) : []).map((one) =>
    textOf(fieldsOf(one).id),
  );
  const approvals = [...answer.approvals, ...asked.filter((id) => id !== '')];
  const finish = textOf(choice.finish_reason);
  if (finish === '') return { ...answer, parts, approvals };
  return { ...answer, parts: approvals.length > 0 ? withoutAsking(parts) : parts, approvals, finish };
};

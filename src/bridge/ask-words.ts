import type { AskRecord } from './agent-record.ts';
import type { Ask } from './saying.ts';

const INPUT_CHARS = 2000;
const NOTE_CHARS = 1000;
const TOOL_CHARS = 200;
const MOST_NOTES = 20;
/** Enough of an id to tell a conversation's questions apart, and little enough to be typed. */
const SHORT_ID_CHARS = 6;

const oneLine = (text: string, limit: number): string => {
  const line = text.replace(/[\s\p{C}]+/gu, ' ').trim();
  return line.length > limit ? `${line.slice(0, limit).toWellFormed()}…` : line;
};

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
};

/** What a person is shown of a question: the tool, its arguments, and what the agent has to say of them. */
export const askFrom = ({ id, sessionID, permission, metadata }: AskRecord): Ask => {
  const { input, preview, title: _title, ...rest } = metadata;
  return {
    id,
    sessionID,
    tool: oneLine(permission, TOOL_CHARS),
    input: oneLine(JSON.stringify(input ?? rest), INPUT_CHARS),
    notes: textsIn(preview)
      .slice(0, MOST_NOTES)
      .map((note) => oneLine(note, NOTE_CHARS)),
  };
};

/** The end of an ask's id, which is enough to answer it by. */
export const shortIdOf = ({ id }: Pick<Ask, 'id'>): string => id.slice(-SHORT_ID_CHARS);

const questionOf = (ask: Ask): string => {
  const id = shortIdOf(ask);
  return [
    `The agent asks for approval: ${ask.tool} ${ask.input}`,
    ...ask.notes,
    `Reply "approve ${id}" or "reject ${id}".`,
  ].join('\n');
};

/** The question that an answer ends with. */
export const questionsOf = (asks: readonly Ask[]): string => asks.map(questionOf).join('\n\n');

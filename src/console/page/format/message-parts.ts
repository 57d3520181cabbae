import { isRecord } from '../../../core/json.ts';

/** How far a tool call is. */
export type CallState = 'pending' | 'running' | 'completed' | 'error';

/** A part of a message as the page shows it. What it does not know is shown as it came. */
export type ShownPart =
  | { readonly kind: 'text'; readonly id: string; readonly text: string }
  | { readonly kind: 'reasoning'; readonly id: string; readonly text: string }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly tool: string;
      readonly state: CallState;
      readonly input?: unknown;
      readonly output?: string;
      readonly error?: string;
      readonly durationMs?: number;
      /** The session of a task. */
      readonly task?: string;
    }
  | { readonly kind: 'file'; readonly id: string; readonly name: string; readonly type: string }
  | { readonly kind: 'retry'; readonly id: string; readonly attempt: number; readonly message: string }
  | { readonly kind: 'compaction'; readonly id: string }
  | { readonly kind: 'unknown'; readonly id: string; readonly value: unknown };

type Fields = Readonly<Record<string, unknown>>;

/** The members of what a service sent; none where it is no object. */
export const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
/** What a service sent, empty where it is no text. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

const STATES: readonly string[] = ['pending', 'running', 'completed', 'error'] satisfies CallState[];
const isCallState = (value: unknown): value is CallState => typeof value === 'string' && STATES.includes(value);

const readTool = (id: string, part: Fields): ShownPart => {
  const state = fieldsOf(part.state);
  const time = fieldsOf(state.time);
  const task = textOf(fieldsOf(state.metadata).sessionId);
  const [start, end] = [numberOf(time.start), numberOf(time.end)];
  return {
    kind: 'tool',
    id,
    tool: textOf(part.tool),
    state: isCallState(state.status) ? state.status : 'pending',
    ...(state.input === undefined ? {} : { input: state.input }),
    ...(typeof state.output === 'string' ? { output: state.output } : {}),
    ...(typeof state.error === 'string' ? { error: state.error } : {}),
    ...(part.tool === 'task' && /^\w{1,128}$/.test(task) ? { task } : {}),
    ...(start === undefined || end === undefined ? {} : { durationMs: Math.max(0, end - start) }),
  };
};

/** Parts that say where a step begins and ends, and hold nothing to read. */
const SILENT = new Set(['step-start', 'step-finish', 'snapshot', 'patch']);

/** A part of the agent server's; undefined for one that holds nothing to read. Never throws, whatever the value is. */
export const readPart = (value: unknown, place: number): ShownPart | undefined => {
  const part = fieldsOf(value);
  const id = textOf(part.id) || String(place);
  const type = textOf(part.type);
  if (SILENT.has(type)) return undefined;
  switch (type) {
    case 'text':
      return { kind: 'text', id, text: textOf(part.text) };
    case 'reasoning':
      return { kind: 'reasoning', id, text: textOf(part.text) };
    case 'tool':
      return readTool(id, part);
    case 'file':
      return { kind: 'file', id, name: textOf(part.filename), type: textOf(part.mime) };
    case 'retry':
      return {
        kind: 'retry',
        id,
        attempt: numberOf(part.attempt) ?? 0,
        message: textOf(fieldsOf(fieldsOf(part.error).data).message),
      };
    case 'compaction':
      return { kind: 'compaction', id };
    default:
      return { kind: 'unknown', id, value };
  }
};

/** The parts of a message that hold something to read. */
export const readParts = (parts: readonly unknown[]): readonly ShownPart[] =>
  parts.map(readPart).filter((part) => part !== undefined);

/** The sentence of an answer's error, as OpenCode's messages have it. */
export const errorSentence = (error: unknown): string | undefined => {
  if (error === undefined || error === null) return undefined;
  const { name, data } = fieldsOf(error);
  return textOf(fieldsOf(data).message) || textOf(name) || 'Error';
};

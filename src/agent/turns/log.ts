import { isClientCall, isWithdrawn } from '../protocol/call-metadata.ts';
import type { AssistantMessage, FilePart, Finish, MessageTokens, Part, ToolPart } from '../protocol/types.ts';

type Place = { readonly position: number; readonly messageID: string };
type PartPlace = Place & { readonly partID: string };
type CallPlace = PartPlace & { readonly callID: string; readonly name: string };

/** Something that a turn has put out. Entries are numbered, in ascending order, with the same numbers for every reader. */
export type LogEntry =
  | (PartPlace & { readonly type: 'text' | 'reasoning'; readonly text: string })
  | (PartPlace & { readonly type: 'text-ended' | 'reasoning-ended' })
  /** What was sent of this text does not count: an attempt of the model failed. */
  | (PartPlace & { readonly type: 'withdrawn' })
  /** A call that is made, or handed to the client. */
  | (CallPlace & { readonly type: 'call'; readonly arguments: string; readonly isForClient: boolean })
  | (CallPlace & {
      readonly type: 'call-ended';
      readonly output: string;
      readonly isError: boolean;
      readonly files?: readonly FilePart[];
    })
  | (Place & {
      readonly type: 'step';
      readonly finish: Finish;
      readonly tokens: MessageTokens;
      readonly structured?: unknown;
    });

/** A step of a model with its parts, in the order of their ids. */
export type AnswerStep = { readonly info: AssistantMessage; readonly parts: readonly Part[] };

/** The last piece that a text has got, so that it need not be cut out of the text. */
export type GrownPart = { readonly partID: string; readonly piece: string };

const PHASES = 2;
const PARTS = 2 ** 12;
const CHARS = 2 ** 23;
const PER_STEP = PHASES * PARTS * CHARS;
/** Behind any text: the longest has half of `CHARS`. */
const ENDED = CHARS - PARTS - 1;

const positionAt = (step: number, phase: 0 | 1, part: number, offset: number): number =>
  ((step * PHASES + phase) * PARTS + part) * CHARS + offset;

/** The index of the step of a position, among those of its prompt. */
export const stepOf = (position: number): number => Math.floor(position / PER_STEP);

/** The position of the end of a step. */
export const endOfStep = (step: number): number => positionAt(step, 1, PARTS - 1, 1);

/** The arguments of a call as JSON, as the model has written them where numbers might lose digits. */
export const argumentsOf = ({ state }: ToolPart): string => {
  const written = state.status === 'pending' ? undefined : state.metadata?.arguments;
  return typeof written === 'string' ? written : JSON.stringify(state.input);
};

/** Whether an attempt of the model failed after this part: its text was removed then. */
const isWithdrawnText = (part: Part): boolean =>
  (part.type === 'text' || part.type === 'reasoning') && part.text === '' && part.time?.end !== undefined;

/** Whether the part, and with it all that follows, may still change. */
const isOpen = (part: Part): boolean => {
  if (part.type === 'tool') return part.state.status === 'pending';
  return (part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined;
};

type Scope = {
  readonly step: number;
  readonly after: number;
  readonly until: number;
  readonly grown: GrownPart | undefined;
};

const textEntries = (
  part: Extract<Part, { readonly type: 'text' | 'reasoning' }>,
  index: number,
  { step, after, until, grown }: Scope,
): readonly LogEntry[] => {
  const { id: partID, messageID, type } = part;
  const start = positionAt(step, 0, index, 0);
  const text = until - start < part.text.length ? part.text.slice(0, Math.max(0, until - start)) : part.text;
  const from = Math.max(0, after - start);
  const length = text.length - from;
  const piece = grown?.partID === partID && grown.piece.length === length ? grown.piece : text.slice(from);
  const place = { messageID, partID };
  const entries: LogEntry[] = length > 0 ? [{ position: start + text.length, type, ...place, text: piece }] : [];
  if (!isOpen(part)) entries.push({ position: start + ENDED, type: `${type}-ended`, ...place });
  return entries;
};

/** The end of the texts of an attempt that failed: all at the end of its last one, since a reader may have come as far. */
const withdrawnEntries = (parts: readonly Part[], index: number, { step }: Scope): readonly LogEntry[] => {
  const next = parts[index + 1];
  if (next !== undefined && isWithdrawnText(next)) return [];
  const isOfRun = (part: Part): boolean => isWithdrawnText(part) || (part.type === 'tool' && isWithdrawn(part));
  const first = parts.findLastIndex((part, at) => at <= index && !isOfRun(part)) + 1;
  const run = parts.slice(first, index + 1).filter(isWithdrawnText);
  const start = positionAt(step, 0, index, CHARS - run.length);
  return run.map(({ id: partID, messageID }, at) => ({ position: start + at, type: 'withdrawn', messageID, partID }));
};

const callOf = ({ id: partID, messageID, callID, tool: name }: ToolPart) => ({ messageID, partID, callID, name });

const callEntry = (part: ToolPart, index: number, { step }: Scope): LogEntry => ({
  position: positionAt(step, 0, index, 1),
  type: 'call',
  ...callOf(part),
  arguments: argumentsOf(part),
  isForClient: isClientCall(part),
});

const callEndEntry = (part: ToolPart, index: number, { step }: Scope): LogEntry | undefined => {
  const { state } = part;
  if (state.status !== 'completed' && state.status !== 'error') return undefined;
  const isError = state.status === 'error';
  const files = isError ? undefined : state.attachments;
  return {
    position: positionAt(step, 1, index, 1),
    type: 'call-ended',
    ...callOf(part),
    output: isError ? state.error : state.output,
    isError,
    ...(files === undefined ? {} : { files }),
  };
};

/** Texts, reasoning and calls in the order of their parts, up to the first one that is open. */
const outputEntries = (parts: readonly Part[], scope: Scope): readonly LogEntry[] => {
  const entries: LogEntry[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.type === 'text' || part.type === 'reasoning')
      entries.push(
        ...(isWithdrawnText(part) ? withdrawnEntries(parts, index, scope) : textEntries(part, index, scope)),
      );
    else if (part.type === 'tool' && !isWithdrawn(part) && !isOpen(part)) entries.push(callEntry(part, index, scope));
    if (isOpen(part)) break;
  }
  return entries;
};

/** The ends of the agent's own calls in the order of their parts, up to the first one that has not ended. */
const callEndEntries = (parts: readonly Part[], scope: Scope): readonly LogEntry[] => {
  const entries: LogEntry[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'tool' || isWithdrawn(part) || isClientCall(part)) continue;
    const end = callEndEntry(part, index, scope);
    if (end === undefined) break;
    entries.push(end);
  }
  return entries;
};

const stepEntry = ({ id, finish = 'unknown', tokens, structured }: AssistantMessage, step: number): LogEntry => ({
  position: endOfStep(step),
  type: 'step',
  messageID: id,
  finish,
  tokens,
  ...(structured === undefined ? {} : { structured }),
});

/** The entries of one step after a position, as far as nothing before them may still change. */
const entriesOfStep = ({ info, parts }: AnswerStep, scope: Scope): readonly LogEntry[] => {
  const { step, after, until } = scope;
  const counted = parts.slice(0, PARTS - 1);
  const isComplete = info.time.completed !== undefined;
  const isModelDone = isComplete || (counted.some(({ type }) => type === 'tool') && !counted.some(isOpen));
  const entries = [
    ...outputEntries(counted, scope),
    ...(isModelDone ? callEndEntries(counted, scope) : []),
    ...(isComplete ? [stepEntry(info, step)] : []),
  ];
  return entries.filter(({ position }) => position > after && position <= until);
};

/** Where a log is read: after a position, up to another one. `firstStep`: the index of the first of the given steps. */
type LogRange = {
  readonly firstStep: number;
  readonly after: number;
  readonly until?: number | undefined;
  readonly grown?: GrownPart | undefined;
};

/** The log of steps that follow each other. A step that is not complete is the last one that counts. */
export const logOf = (
  steps: readonly AnswerStep[],
  { firstStep, after, until = Number.POSITIVE_INFINITY, grown }: LogRange,
): readonly LogEntry[] => {
  const entries: LogEntry[] = [];
  for (const [index, one] of steps.entries()) {
    const step = firstStep + index;
    if (endOfStep(step) > after) entries.push(...entriesOfStep(one, { step, after, until, grown }));
    if (one.info.time.completed === undefined) break;
  }
  return entries;
};

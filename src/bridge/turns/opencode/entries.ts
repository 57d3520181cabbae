import type { MessageRecord } from '../../agent/schema.ts';
import type { TurnEntry, TurnUsage } from '../port.ts';
import { NO_TURN_USAGE } from '../records.ts';
import { applyList, type GrowingText, isText, type PromptSteps, type Step } from './steps.ts';

const PHASES = 2;
const PARTS = 2 ** 12;
const CHARS = 2 ** 23;
const PER_STEP = PHASES * PARTS * CHARS;
const TEXT_ENDED = CHARS - 2;

const positionAt = (step: number, phase: 0 | 1, part: number, offset: number): number =>
  ((step * PHASES + phase) * PARTS + part) * CHARS + offset;

const endOfStep = (step: number): number => positionAt(step, 1, PARTS - 1, 1);

/** Whether a text gets no more. Some models never say it of their reasoning, which ends before the next part then. */
const isOver = (text: GrowingText, { info, parts }: Step): boolean =>
  text.hasEnded ||
  info.time.completed !== undefined ||
  (text.type === 'reasoning' && parts.slice(parts.indexOf(text) + 1).some(({ type }) => type !== 'other'));

type Range = { readonly after: number; readonly until: number };

function* textEntries(text: GrowingText, step: Step, start: number, { after, until }: Range): Generator<TurnEntry> {
  const { type, id: partID, text: whole } = text;
  const place = { messageID: step.info.id, partID };
  const from = Math.max(0, after - start);
  const to = Math.min(whole.length, until - start);
  if (from < to) yield { position: start + to, type, ...place, text: whole.slice(from, to) };
  if (isOver(text, step)) yield { position: start + TEXT_ENDED, type: `${type}-ended`, ...place };
}

/** Texts, reasoning and calls in the order of their parts, up to the first one that may still change. */
function* outputOf(step: Step, index: number, range: Range): Generator<TurnEntry> {
  for (const [at, part] of step.parts.entries()) {
    const start = positionAt(index, 0, at, 0);
    if (isText(part)) {
      yield* textEntries(part, step, start, range);
      if (!isOver(part, step)) return;
    } else if (part.type === 'tool') {
      const { id: partID, callID, tool: name, state } = part;
      if (state.status === 'pending' && step.info.time.completed === undefined) return;
      const call = { messageID: step.info.id, partID, callID, name, arguments: JSON.stringify(state.input) };
      yield { position: start + 1, type: 'call', ...call, isForClient: false };
    }
  }
}

/** The ends of calls: OpenCode runs them while its model goes on, so they come once the step is complete. */
function* endsOf({ info, parts }: Step, index: number): Generator<TurnEntry> {
  for (const [at, part] of parts.entries()) {
    if (part.type !== 'tool') continue;
    const { id: partID, callID, tool: name, state } = part;
    const isError = state.status !== 'completed';
    const output = state.status === 'completed' ? state.output : state.status === 'error' ? state.error : '';
    const call = { messageID: info.id, partID, callID, name, arguments: JSON.stringify(state.input) };
    yield { position: positionAt(index, 1, at, 1), type: 'call-ended', ...call, output, isError };
  }
  const { id: messageID, finish, structured } = info;
  yield { position: endOfStep(index), type: 'step', messageID, finish, structured };
}

/** The entries of steps between two positions, as far as nothing before them may still change. */
export const entriesOf = (steps: readonly Step[], range: Range): readonly TurnEntry[] => {
  const { after, until } = range;
  const entries: TurnEntry[] = [];
  for (let index = Math.max(0, Math.floor(after / PER_STEP)); index < steps.length; index += 1) {
    const step = steps[index];
    if (step === undefined) break;
    entries.push(...outputOf(step, index, range));
    if (step.info.time.completed === undefined) break;
    entries.push(...endsOf(step, index));
  }
  return entries.filter(({ position }) => position > after && position <= until);
};

/** The steps of a prompt in a session's messages. */
export const stepsIn = (records: readonly MessageRecord[], promptID: string): readonly Step[] => {
  const answer: PromptSteps = { steps: [], promptID, held: undefined };
  applyList(answer, records);
  return answer.steps;
};

/** Tokens of the steps that are complete between two positions. */
export const usageOf = (steps: readonly Step[], { after, until }: Range): TurnUsage => {
  let usage: TurnUsage = NO_TURN_USAGE;
  for (const [index, { info }] of steps.entries()) {
    const end = endOfStep(index);
    const { tokens } = info;
    if (tokens === undefined || end <= after || end > until) continue;
    usage = {
      input: usage.input + tokens.input,
      output: usage.output + tokens.output,
      reasoning: usage.reasoning + tokens.reasoning,
      cacheRead: usage.cacheRead + tokens.cache.read,
      cacheWrite: usage.cacheWrite + tokens.cache.write,
    };
  }
  return usage;
};

/** The names of the tools that steps have called. */
export const toolsOf = (steps: readonly Step[]): readonly string[] =>
  steps.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'tool' ? [part.tool] : [])));

/** The answer that steps give, as a client has it in its history. */
export const answerTextOf = (steps: readonly Step[]): string => {
  const structured = steps.findLast(({ info }) => info.structured !== undefined)?.info.structured;
  if (structured !== undefined) return JSON.stringify(structured);
  const texts = steps.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
  return texts.filter((text) => text !== '').join('\n\n');
};

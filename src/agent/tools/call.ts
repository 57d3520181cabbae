import type { Clock } from '../../core/clock.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import type { AgentMetrics, ToolCallRecord } from '../metrics.ts';
import { NESTING_LIMIT } from '../protocol/request-schemas.ts';
import type { ToolPart, ToolState } from '../protocol/types.ts';
import type { LoopGuard } from './loop-guard.ts';
import { createPermissionCheck, errorOutcome, type PermissionCheckNeeds } from './permission-check.ts';
import { type AgentTool, limitOutput, type OutputLimits, type RequestedCall, type ToolOutcome } from './tool.ts';

/** Works through items in their order, so many at the same time. The work must not reject. */
export const runConcurrently = async <Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
};

export type CallNeeds = PermissionCheckNeeds & {
  readonly clock: Clock;
  readonly agent: string;
  readonly guard: LoopGuard;
  readonly outputLimits: OutputLimits;
  readonly publish: (fact: Publication) => Promise<unknown>;
  readonly metrics: Pick<AgentMetrics, 'toolCallEnded'>;
  /** Hears of a tool that failed in a way it should not. The model is told, and may go on. */
  readonly onBug: (error: unknown) => void;
};

/** Whether the turn goes on after a call: a person who just says no ends it, as does a model that repeats itself. */
export type CallEnd = 'done' | 'rejected' | 'looping';

/** What came of a call, and how the turn goes on. `part` is the call's own, or what it is shown as. */
type CallResult = {
  readonly part: ToolPart;
  readonly start: number;
  readonly outcome: ToolOutcome;
  readonly end: CallEnd;
  readonly isRefused?: boolean;
};

/** A model may ask for a thousand calls in one answer, and each may be a task with calls of its own. */
const CALLS_AT_ONCE = 8;
const CALLS_OF_A_STEP = 64;

const REPEATED =
  'This very call was made several times with the same outcome. Do something else, or answer with what is known.';
const LATE = 'The turn has no step left for this call, so it was not made.';
const TOO_MANY = `One step makes at most ${CALLS_OF_A_STEP} calls, so this one was not made. Ask for it again in the next step if it is still needed.`;
const OVER = 'The turn ended with another call of this step, so this one was not made.';

const unknownToolOutcome = (tools: readonly AgentTool[]): ToolOutcome => {
  const known = tools.map(({ name }) => name).join(', ') || 'none';
  const output = `There is no tool of this name. The tools are: ${known}`;
  return { output, title: 'Invalid tool', metadata: {}, isError: false };
};

/** Makes the calls of one step. Each ends as a part that is completed or has failed, whatever happens. */
export const createCallRunner = (needs: CallNeeds) => {
  const { clock, agent, tools, guard, outputLimits, publish } = needs;
  const refusalOf = createPermissionCheck(needs);

  const endOf = (part: ToolPart, start: number, outcome: ToolOutcome): Publication => {
    const { input } = part.state;
    const { shown, isCut } = limitOutput(outcome.output, outputLimits);
    const time = { start, end: clock.now() };
    const { title, metadata } = outcome;
    const state: ToolState = outcome.isError
      ? { status: 'error', input, error: shown, metadata, time }
      : { status: 'completed', input, output: shown, title, metadata: { ...metadata, truncated: isCut }, time };
    const fact = partPublication({ ...part, state }, clock.now());
    const { sessionID, id: partID } = part;
    const kept = isCut ? [{ kind: 'output' as const, sessionID, partID, text: outcome.output }] : [];
    return { ...fact, changes: [...(fact.changes ?? []), ...kept] };
  };
  const finish = (part: ToolPart, start: number, outcome: ToolOutcome): Promise<unknown> =>
    publish(endOf(part, start, outcome));
  const count = ({ part }: RequestedCall, outcome: ToolCallRecord['outcome']): void => {
    const tool = tools.find(({ name }) => name === part.tool);
    needs.metrics.toolCallEnded({
      server: tool?.origin?.server ?? (tool === undefined ? 'none' : 'gatehouse'),
      outcome,
    });
  };
  /** None of them is made, and all are told so together. */
  const refuse = async (calls: readonly RequestedCall[], why: string): Promise<void> => {
    if (calls.length === 0) return;
    for (const one of calls) count(one, 'refused');
    const told = joinPublications(...calls.map(({ part }) => endOf(part, clock.now(), errorOutcome(why))));
    // Nobody else ends them: once more, should the store have failed.
    await publish(told).catch(() => publish(told));
  };
  const outcomeOf = async (part: ToolPart, tool: AgentTool, signal: AbortSignal): Promise<ToolOutcome> => {
    const { sessionID, messageID, callID } = part;
    try {
      return await tool.run(part.state.input, { sessionID, messageID, callID, agent, signal });
    } catch (error) {
      signal.throwIfAborted();
      needs.onBug(error);
      return errorOutcome('The tool failed in a way it should not. Whether it did anything is not known.');
    }
  };
  const make = async ({ part, input, raw }: RequestedCall, signal: AbortSignal): Promise<CallResult> => {
    const start = clock.now();
    const tool = tools.find(({ name }) => name === part.tool);
    if (tool === undefined) {
      return {
        part: { ...part, tool: 'invalid' },
        start,
        outcome: unknownToolOutcome(tools),
        end: 'done',
        isRefused: true,
      };
    }
    if (input === undefined) {
      const what = `The arguments are not a JSON object (${raw.length} characters)`;
      const outcome = errorOutcome(`${what}, or one of more than ${NESTING_LIMIT} levels`);
      return { part, start, outcome, end: 'done', isRefused: true };
    }
    const refusal = await refusalOf(part, tool, signal);
    if (refusal !== undefined) return { part, start, ...refusal, isRefused: true };
    const running: ToolState = { status: 'running', input, title: tool.name, time: { start } };
    await publish(partPublication({ ...part, state: running }, clock.now()));
    return { part, start, outcome: await outcomeOf(part, tool, signal), end: 'done' };
  };
  const call = async (asked: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
    signal.throwIfAborted();
    const { tool } = asked.part;
    const given = asked.input ?? asked.raw;
    const ruled = guard.rule(tool, given);
    if (ruled !== 'run') {
      await refuse([asked], REPEATED);
      return ruled === 'stop' ? 'looping' : 'done';
    }
    const { part, start, outcome, end, isRefused } = await make(asked, signal);
    guard.told(tool, given, outcome.output);
    await finish(part, start, outcome);
    count(asked, isRefused === true ? 'refused' : outcome.isError ? 'failed' : 'completed');
    return end;
  };
  /** A call that was cut short still ends as a part of its own. */
  const guarded = async (asked: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
    try {
      return await call(asked, signal);
    } catch (error) {
      const why = signal.aborted ? 'The call was aborted' : 'The call failed in a way it should not';
      count(asked, signal.aborted ? 'aborted' : 'failed');
      await finish(asked.part, clock.now(), errorOutcome(why)).catch(() => {});
      throw error;
    }
  };
  return {
    /** None of them, because the turn is at its end. */
    async none(calls: readonly RequestedCall[]): Promise<CallEnd> {
      await refuse(calls, LATE);
      return 'done';
    },
    /**
     * Some at the same time, the others after them, and none any more once one has ended the turn; the worst end of them.
     * Rejects with the signal's reason, or another failure, once every call has ended.
     */
    async all(calls: readonly RequestedCall[], signal: AbortSignal): Promise<CallEnd> {
      const ends: CallEnd[] = [];
      let failure: { readonly error: unknown } | undefined;
      const isOver = (): boolean => failure !== undefined || ends.some((end) => end !== 'done');
      const attempt = (work: Promise<void>): Promise<void> =>
        work.catch((error: unknown) => {
          failure ??= { error };
        });
      const one = async (asked: RequestedCall): Promise<void> => {
        if (isOver() && !signal.aborted) await refuse([asked], OVER);
        else ends.push(await guarded(asked, signal));
      };
      await attempt(refuse(calls.slice(CALLS_OF_A_STEP), TOO_MANY));
      await runConcurrently(calls.slice(0, CALLS_OF_A_STEP), CALLS_AT_ONCE, (asked) => attempt(one(asked)));
      if (failure !== undefined) throw failure.error;
      return ends.find((end) => end === 'looping') ?? ends.find((end) => end === 'rejected') ?? 'done';
    },
  };
};

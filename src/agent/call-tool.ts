import type { Clock } from '../core/clock.ts';
import type { AgentTool, ToolOutcome } from './agent-tool.ts';
import { createLeave, errorOutcome, type LeaveNeeds } from './call-leave.ts';
import type { LoopGuard } from './loop-guard.ts';
import type { ToolPart, ToolState } from './part.ts';
import { partFact } from './part-facts.ts';
import type { Fact } from './publisher.ts';
import type { AskedCall } from './step-parts.ts';
import { boundedOutput, type OutputLimits } from './tool-output.ts';

export type CallNeeds = LeaveNeeds & {
  readonly clock: Clock;
  readonly agent: string;
  readonly tools: readonly AgentTool[];
  readonly guard: LoopGuard;
  readonly outputLimits: OutputLimits;
  readonly publish: (fact: Fact) => Promise<unknown>;
  /** Hears of a tool that failed in a way it should not. The model is told, and may go on. */
  readonly onBug: (error: unknown) => void;
};

/** Whether the turn goes on after a call: a person who just says no ends it, as does a model that repeats itself. */
export type CallEnd = 'done' | 'rejected' | 'looping';

/** What came of a call, and how the turn goes on. `part` is the call's own, or what it is shown as. */
type Made = {
  readonly part: ToolPart;
  readonly start: number;
  readonly outcome: ToolOutcome;
  readonly end: CallEnd;
};

const REPEATED =
  'This very call was made several times with the same outcome. Do something else, or answer with what is known.';
const LATE = 'The turn has no step left for this call, so it was not made.';

const noSuchTool = (tools: readonly AgentTool[]): ToolOutcome => {
  const known = tools.map(({ name }) => name).join(', ') || 'none';
  const output = `There is no tool of this name. The tools are: ${known}`;
  return { output, title: 'Invalid tool', metadata: {}, isError: false };
};

/** Makes the calls of one step. Each ends as a part that is completed or has failed, whatever happens. */
export const createCaller = (needs: CallNeeds) => {
  const { clock, agent, tools, guard, outputLimits, publish } = needs;
  const refusalOf = createLeave(needs);

  const finish = async (part: ToolPart, start: number, outcome: ToolOutcome): Promise<void> => {
    const { input } = part.state;
    const { shown, isCut } = boundedOutput(outcome.output, outputLimits);
    const time = { start, end: clock.now() };
    const { title, metadata } = outcome;
    const state: ToolState = outcome.isError
      ? { status: 'error', input, error: shown, metadata, time }
      : { status: 'completed', input, output: shown, title, metadata: { ...metadata, truncated: isCut }, time };
    const fact = partFact({ ...part, state }, clock.now());
    const { sessionID, id: partID } = part;
    const kept = isCut ? [{ kind: 'output' as const, sessionID, partID, text: outcome.output }] : [];
    await publish({ ...fact, changes: [...(fact.changes ?? []), ...kept] });
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
  const make = async ({ part, input, raw }: AskedCall, signal: AbortSignal): Promise<Made> => {
    const start = clock.now();
    const tool = tools.find(({ name }) => name === part.tool);
    if (tool === undefined) {
      return { part: { ...part, tool: 'invalid' }, start, outcome: noSuchTool(tools), end: 'done' };
    }
    if (input === undefined) {
      const outcome = errorOutcome(`The arguments are not a JSON object (${raw.length} characters)`);
      return { part, start, outcome, end: 'done' };
    }
    const refusal = await refusalOf(part, tool, signal);
    if (refusal !== undefined) return { part, start, ...refusal };
    const running: ToolState = { status: 'running', input, title: tool.name, time: { start } };
    await publish(partFact({ ...part, state: running }, clock.now()));
    return { part, start, outcome: await outcomeOf(part, tool, signal), end: 'done' };
  };
  const call = async (asked: AskedCall, signal: AbortSignal): Promise<CallEnd> => {
    signal.throwIfAborted();
    const { tool } = asked.part;
    const given = asked.input ?? asked.raw;
    const ruled = guard.rule(tool, given);
    if (ruled !== 'run') {
      await finish(asked.part, clock.now(), errorOutcome(REPEATED));
      return ruled === 'stop' ? 'looping' : 'done';
    }
    const { part, start, outcome, end } = await make(asked, signal);
    guard.told(tool, given, outcome.output);
    await finish(part, start, outcome);
    return end;
  };
  /** A call that was cut short still ends as a part of its own. */
  const guarded = async (asked: AskedCall, signal: AbortSignal): Promise<CallEnd> => {
    try {
      return await call(asked, signal);
    } catch (error) {
      const why = signal.aborted ? 'The call was aborted' : 'The call failed in a way it should not';
      await finish(asked.part, clock.now(), errorOutcome(why)).catch(() => {});
      throw error;
    }
  };
  return {
    /** None of them, because the turn is at its end. */
    async none(calls: readonly AskedCall[]): Promise<CallEnd> {
      for (const { part } of calls) await finish(part, clock.now(), errorOutcome(LATE));
      return 'done';
    },
    /** All at the same time; the worst end of them. Rejects with the signal's reason once every call has ended. */
    async all(calls: readonly AskedCall[], signal: AbortSignal): Promise<CallEnd> {
      const ends = await Promise.allSettled(calls.map((asked) => guarded(asked, signal)));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
      const told = ends.map((end) => (end.status === 'fulfilled' ? end.value : 'done'));
      return told.find((end) => end === 'looping') ?? told.find((end) => end === 'rejected') ?? 'done';
    },
  };
};

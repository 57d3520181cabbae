import type { Clock } from '../../core/clock.ts';
import type { Span } from '../../core/http/tracing.ts';
import { nearName } from '../../core/identifier.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import type { AgentMetrics, ToolCallRecord } from '../metrics.ts';
import type { Ids } from '../protocol/ids.ts';
import type { ToolPart, ToolState } from '../protocol/types.ts';
import { createFileCapacity } from './attachments.ts';
import { callEndPublication } from './call-end.ts';
import type { LoopGuard } from './loop-guard.ts';
import type { OutputLimits } from './output-limit.ts';
import { createPermissionCheck, errorOutcome, type PermissionCheckNeeds } from './permission-check.ts';
import { type AgentTool, type RequestedCall, type ToolOutcome, unreadableArguments } from './tool.ts';

/** Works on items in their order, `limit` at the same time. `work` must not reject. */
const runConcurrently = async <Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> => {
  const remaining = items.values();
  const worker = async (): Promise<void> => {
    for (const item of remaining) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
};

type CallNeeds = PermissionCheckNeeds & {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly guard: LoopGuard;
  /** The tools that run at the client: their calls do not come here to be run. */
  readonly clientTools: readonly string[];
  readonly outputLimits: OutputLimits;
  /** The size of the session's messages as they are stored. */
  readonly storedBytes: () => Promise<number>;
  readonly sessionLimitBytes: number;
  readonly publish: (fact: Publication) => Promise<unknown>;
  readonly metrics: Pick<AgentMetrics, 'toolCallEnded'>;
  /** The turn in its trace; each call that is made is a span below it. */
  readonly span: Span | undefined;
  /** Called when a tool fails unexpectedly. The model gets an error, and the turn goes on. */
  readonly onBug: (error: unknown) => void;
};

/** Whether the turn goes on after a call: a person's bare rejection ends it, and so does a model that repeats itself. */
export type CallEnd = 'done' | 'rejected' | 'looping';

/** The outcome of a call, and how the turn goes on. `part` is the call as it is shown. */
type CallResult = {
  readonly part: ToolPart;
  readonly start: number;
  readonly outcome: ToolOutcome;
  readonly end: CallEnd;
  readonly isRefused?: boolean;
};

/** A model may request a thousand calls in one answer, and each may be a task with calls of its own. */
const MAX_CONCURRENT_CALLS = 8;
/** A step makes no more, and hands no more to the client. */
export const MAX_CALLS_PER_STEP = 64;

const REPEATED =
  'This very call was made several times with the same outcome. Do something else, or answer with what is known.';
/** What the model reads of a call of the last step. */
export const LATE = 'The turn has no step left for this call, so it was not made.';
/** What the model reads of a call that is one too many. */
export const TOO_MANY = `One step makes at most ${MAX_CALLS_PER_STEP} calls, so this one was not made. Ask for it again in the next step if it is still needed.`;
const OVER = 'The turn ended with another call of this step, so this one was not made.';

const unknownToolOutcome = (name: string, known: readonly string[]): ToolOutcome => {
  const missing = nearName(name, known) === undefined ? 'There is no tool of this name' : `There is no tool "${name}"`;
  const output = `${missing}. The tools are: ${known.join(', ') || 'none'}`;
  return { output, title: 'Invalid tool', metadata: {}, isError: false };
};

/**
 * Begins the span of a call, by the conventions for generative AI; one that goes to a tool server is a client's, and has the method of MCP
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/). The name is one that is configured: a model may make up others.
 */
const beginToolCall = (parent: Span | undefined, { name, origin }: AgentTool): Span | undefined =>
  parent?.begin(`execute_tool ${name}`, origin === undefined ? 'internal' : 'client', {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    ...(origin === undefined ? {} : { 'mcp.method.name': 'tools/call' }),
  });

/** Runs the tool calls of one step. Each ends as a part that is completed or failed, whatever happens. */
export const createCallRunner = (needs: CallNeeds) => {
  const { clock, ids, agent, tools, guard, outputLimits, publish } = needs;
  const checkPermission = createPermissionCheck(needs);
  const storeWithFiles = createFileCapacity({ storedBytes: needs.storedBytes, limitBytes: needs.sessionLimitBytes });

  const endFact = (part: ToolPart, start: number, outcome: ToolOutcome): Publication =>
    callEndPublication({ ids, outputLimits }, { part, outcome, time: { start, end: clock.now() } });
  const finish = (part: ToolPart, start: number, outcome: ToolOutcome): Promise<unknown> =>
    storeWithFiles(outcome, (stored) => publish(endFact(part, start, stored)));
  const count = ({ part }: RequestedCall, outcome: ToolCallRecord['outcome']): void => {
    const tool = tools.find(({ name }) => name === part.tool);
    const unlisted = needs.clientTools.includes(part.tool) ? 'client' : 'none';
    needs.metrics.toolCallEnded({
      server: tool?.origin?.server ?? (tool === undefined ? unlisted : 'gatehouse'),
      outcome,
    });
  };
  /** Ends all of these calls as failed, without running them. `why` is for the model. */
  const refuse = async (calls: readonly RequestedCall[], why: string): Promise<void> => {
    if (calls.length === 0) return;
    for (const one of calls) count(one, 'refused');
    const fact = joinPublications(...calls.map(({ part }) => endFact(part, clock.now(), errorOutcome(why))));
    // No one else ends them, so this is tried again if the store fails.
    await publish(fact).catch(() => publish(fact));
  };
  const runTool = async (part: ToolPart, tool: AgentTool, signal: AbortSignal): Promise<ToolOutcome> => {
    const { sessionID, messageID, callID } = part;
    const span = beginToolCall(needs.span, tool);
    try {
      const outcome = await tool.run(part.state.input, {
        sessionID,
        messageID,
        callID,
        agent,
        signal,
        ...(span && { span }),
      });
      span?.end(outcome.isError ? { 'error.type': 'tool_error' } : {});
      return outcome;
    } catch (error) {
      span?.end({ 'error.type': signal.aborted ? 'aborted' : 'bug' });
      signal.throwIfAborted();
      needs.onBug(error);
      return errorOutcome('The tool failed in a way it should not. Whether it did anything is not known.');
    }
  };
  const checkAndRun = async ({ part, input, raw }: RequestedCall, signal: AbortSignal): Promise<CallResult> => {
    const start = clock.now();
    const tool = tools.find(({ name }) => name === part.tool);
    if (tool === undefined) {
      return {
        part: { ...part, tool: 'invalid' },
        start,
        outcome: unknownToolOutcome(part.tool, [...tools.map(({ name }) => name), ...needs.clientTools]),
        end: 'done',
        isRefused: true,
      };
    }
    if (input === undefined) {
      return { part, start, outcome: errorOutcome(unreadableArguments(raw)), end: 'done', isRefused: true };
    }
    const refusal = await checkPermission(part, tool, signal);
    if (refusal !== undefined) return { part, start, ...refusal, isRefused: true };
    const running: ToolState = { status: 'running', input, title: tool.name, time: { start } };
    await publish(partPublication({ ...part, state: running }, clock.now()));
    return { part, start, outcome: await runTool(part, tool, signal), end: 'done' };
  };
  const runCall = async (requested: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
    signal.throwIfAborted();
    const { tool } = requested.part;
    const input = requested.input ?? requested.raw;
    const decision = guard.decide(tool, input);
    if (decision !== 'run') {
      await refuse([requested], REPEATED);
      return decision === 'stop' ? 'looping' : 'done';
    }
    const { part, start, outcome, end, isRefused } = await checkAndRun(requested, signal);
    guard.record(tool, input, outcome.output);
    await finish(part, start, outcome);
    count(requested, isRefused === true ? 'refused' : outcome.isError ? 'failed' : 'completed');
    return end;
  };
  /** A call that fails or is aborted still ends as a part of its own. */
  const runAndClose = async (requested: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
    try {
      return await runCall(requested, signal);
    } catch (error) {
      const why = signal.aborted ? 'The call was aborted' : 'The call failed in a way it should not';
      count(requested, signal.aborted ? 'aborted' : 'failed');
      await finish(requested.part, clock.now(), errorOutcome(why)).catch(() => {});
      throw error;
    }
  };
  return {
    /** Refuses all of them, because the turn has no step left. */
    async refuseAll(calls: readonly RequestedCall[]): Promise<CallEnd> {
      await refuse(calls, LATE);
      return 'done';
    },
    /** Refuses all of them, because the turn ended with another call. */
    refuseAfterEnd: (calls: readonly RequestedCall[]): Promise<void> => refuse(calls, OVER),
    refuse,
    /**
     * Runs several at the same time and none any more once one has ended the turn. Returns the strongest end of them.
     * Rejects with the signal's reason, or another failure, once every call has ended.
     */
    async runAll(calls: readonly RequestedCall[], signal: AbortSignal): Promise<CallEnd> {
      const ends: CallEnd[] = [];
      let failure: { readonly error: unknown } | undefined;
      const isOver = (): boolean => failure !== undefined || ends.some((end) => end !== 'done');
      const attempt = (work: Promise<void>): Promise<void> =>
        work.catch((error: unknown) => {
          failure ??= { error };
        });
      const runUnlessOver = async (requested: RequestedCall): Promise<void> => {
        if (isOver() && !signal.aborted) await refuse([requested], OVER);
        else ends.push(await runAndClose(requested, signal));
      };
      await attempt(refuse(calls.slice(MAX_CALLS_PER_STEP), TOO_MANY));
      await runConcurrently(calls.slice(0, MAX_CALLS_PER_STEP), MAX_CONCURRENT_CALLS, (requested) =>
        attempt(runUnlessOver(requested)),
      );
      if (failure !== undefined) throw failure.error;
      return ends.find((end) => end === 'looping') ?? ends.find((end) => end === 'rejected') ?? 'done';
    },
  };
};

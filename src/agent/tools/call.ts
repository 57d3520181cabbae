import type { Span } from '../../core/http/tracing.ts';
import { nearName } from '../../core/identifier.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import type { ToolCallRecord } from '../metrics.ts';
import type { ToolPart, ToolState } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { createFileCapacity } from './attachments.ts';
import { callEndPublication } from './call-end.ts';
import type { LoopGuard } from './loop-guard.ts';
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

/** What the calls of one turn work with. */
type CallNeeds = AgentRuntime &
  PermissionCheckNeeds & {
    readonly guard: LoopGuard;
    /** The tools that run at the client: their calls do not come here to be run. */
    readonly clientTools: readonly string[];
    /** The size of the session's messages as they are stored. */
    readonly storedBytes: () => Promise<number>;
    readonly publish: (fact: Publication) => Promise<unknown>;
    /** The turn in its trace; each call that is made is a span below it. */
    readonly span: Span | undefined;
  };

/** Whether the turn goes on after a call: a person's bare rejection ends it, and so does a model that repeats itself. */
export type CallEnd = 'done' | 'rejected' | 'looping';

/** The outcome of a call. `part` is the call as it is shown. */
type EndedCall = { readonly part: ToolPart; readonly start: number; readonly outcome: ToolOutcome };
/** The same, and how the turn goes on. */
type CallResult = EndedCall & { readonly end: CallEnd; readonly isRefused?: boolean };

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
/** What the model reads of a call of a turn that has ended with another one. */
export const OVER = 'The turn ended with another call of this step, so this one was not made.';

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

/** `CallNeeds`, with what all calls of a turn share. */
type Calls = CallNeeds & {
  readonly checkPermission: ReturnType<typeof createPermissionCheck>;
  readonly storeWithFiles: ReturnType<typeof createFileCapacity>;
};

const endFact = (calls: Calls, { part, start, outcome }: EndedCall): Publication =>
  callEndPublication(calls, { part, outcome, time: { start, end: calls.clock.now() } });

const finish = (calls: Calls, { part, start, outcome }: EndedCall) =>
  calls.storeWithFiles(outcome, (stored) => calls.publish(endFact(calls, { part, start, outcome: stored })));

const toolOf = ({ tools }: Calls, { tool: name }: ToolPart): AgentTool | undefined =>
  tools.find((tool) => tool.name === name);

const count = (calls: Calls, { part }: RequestedCall, outcome: ToolCallRecord['outcome']): void => {
  const tool = toolOf(calls, part);
  const unlisted = calls.clientTools.includes(part.tool) ? 'client' : 'none';
  const server = tool?.origin?.server ?? (tool === undefined ? unlisted : 'gatehouse');
  calls.metrics.toolCallEnded({ server, outcome });
};

/** Ends all of these calls as failed, without running them. `why` is for the model. */
const refuse = async (calls: Calls, refused: readonly RequestedCall[], why: string): Promise<void> => {
  if (refused.length === 0) return;
  for (const one of refused) count(calls, one, 'refused');
  const start = calls.clock.now();
  const ends = refused.map(({ part }) => endFact(calls, { part, start, outcome: errorOutcome(why) }));
  const fact = joinPublications(...ends);
  // No one else ends them, so this is tried again if the store fails.
  await calls.publish(fact).catch(() => calls.publish(fact));
};

const runTool = async (calls: Calls, part: ToolPart, tool: AgentTool, signal: AbortSignal): Promise<ToolOutcome> => {
  const { sessionID, messageID, callID } = part;
  const span = beginToolCall(calls.span, tool);
  try {
    const context = { sessionID, messageID, callID, agent: calls.agent, signal, ...(span && { span }) };
    const outcome = await tool.run(part.state.input, context);
    span?.end(outcome.isError ? { 'error.type': 'tool_error' } : {});
    return outcome;
  } catch (error) {
    span?.end({ 'error.type': signal.aborted ? 'aborted' : 'bug' });
    signal.throwIfAborted();
    calls.onBug(error);
    return errorOutcome('The tool failed in a way it should not. Whether it did anything is not known.');
  }
};

const checkAndRun = async (
  calls: Calls,
  { part, input, raw }: RequestedCall,
  signal: AbortSignal,
): Promise<CallResult> => {
  const start = calls.clock.now();
  const refused = { part, start, end: 'done', isRefused: true } as const;
  const tool = toolOf(calls, part);
  if (tool === undefined) {
    const known = [...calls.tools.map(({ name }) => name), ...calls.clientTools];
    return { ...refused, part: { ...part, tool: 'invalid' }, outcome: unknownToolOutcome(part.tool, known) };
  }
  if (input === undefined) return { ...refused, outcome: errorOutcome(unreadableArguments(raw)) };
  const refusal = await calls.checkPermission(part, tool, signal);
  if (refusal !== undefined) return { ...refused, ...refusal };
  const running: ToolState = { status: 'running', input, title: tool.name, time: { start } };
  await calls.publish(partPublication({ ...part, state: running }, calls.clock.now()));
  return { part, start, outcome: await runTool(calls, part, tool, signal), end: 'done' };
};

const runCall = async (calls: Calls, requested: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
  signal.throwIfAborted();
  const { tool } = requested.part;
  const input = requested.input ?? requested.raw;
  const decision = calls.guard.decide(tool, input);
  if (decision !== 'run') {
    await refuse(calls, [requested], REPEATED);
    return decision === 'stop' ? 'looping' : 'done';
  }
  const result = await checkAndRun(calls, requested, signal);
  const { outcome, end, isRefused } = result;
  calls.guard.record(tool, input, outcome.output);
  await finish(calls, result);
  count(calls, requested, isRefused === true ? 'refused' : outcome.isError ? 'failed' : 'completed');
  return end;
};

/** A call that fails or is aborted still ends as a part of its own. */
const runAndClose = async (calls: Calls, requested: RequestedCall, signal: AbortSignal): Promise<CallEnd> => {
  try {
    return await runCall(calls, requested, signal);
  } catch (error) {
    const why = signal.aborted ? 'The call was aborted' : 'The call failed in a way it should not';
    count(calls, requested, signal.aborted ? 'aborted' : 'failed');
    const { part } = requested;
    await finish(calls, { part, start: calls.clock.now(), outcome: errorOutcome(why) }).catch(() => {});
    throw error;
  }
};

const runAll = async (calls: Calls, requested: readonly RequestedCall[], signal: AbortSignal): Promise<CallEnd> => {
  const ends: CallEnd[] = [];
  let failure: { readonly error: unknown } | undefined;
  const isOver = (): boolean => failure !== undefined || ends.some((end) => end !== 'done');
  const attempt = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      failure ??= { error };
    });
  const runUnlessOver = async (one: RequestedCall): Promise<void> => {
    if (isOver() && !signal.aborted) await refuse(calls, [one], OVER);
    else ends.push(await runAndClose(calls, one, signal));
  };
  await attempt(refuse(calls, requested.slice(MAX_CALLS_PER_STEP), TOO_MANY));
  await runConcurrently(requested.slice(0, MAX_CALLS_PER_STEP), MAX_CONCURRENT_CALLS, (one) =>
    attempt(runUnlessOver(one)),
  );
  if (failure !== undefined) throw failure.error;
  return ends.find((end) => end === 'looping') ?? ends.find((end) => end === 'rejected') ?? 'done';
};

/** Runs the tool calls of one turn, step after step. Each ends as a part that is completed or failed, whatever happens. */
export const createCallRunner = (needs: CallNeeds) => {
  const { storedBytes, sessionLimitBytes: limitBytes } = needs;
  const calls: Calls = {
    ...needs,
    checkPermission: createPermissionCheck(needs),
    storeWithFiles: createFileCapacity({ storedBytes, limitBytes }),
  };
  return {
    /** Ends all of these calls as failed, without running them. `why` is for the model. */
    refuse: (refused: readonly RequestedCall[], why: string) => refuse(calls, refused, why),
    /**
     * Runs several at the same time and none any more once one has ended the turn. Returns the strongest end of them.
     * Rejects with the signal's reason, or another failure, once every call has ended.
     */
    runAll: (requested: readonly RequestedCall[], signal: AbortSignal) => runAll(calls, requested, signal),
  };
};

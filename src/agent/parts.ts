import { createServiceBudget, type MemoryBounds } from '../core/byte-budget.ts';
import type { Credentials } from '../core/http/auth.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import type { BeginSpan } from '../core/http/tracing.ts';
import type { ConfigViews } from './config/views.ts';
import { createPublisher } from './events/publisher.ts';
import { createOpenStreams } from './events/readers.ts';
import { statusPublication } from './events/records.ts';
import type { ChatModel } from './model/types.ts';
import type { EventDraft } from './protocol/events.ts';
import type { AgentRuntime } from './runtime.ts';
import { createPromptAcceptance } from './session/prompt.ts';
import { createRecovery } from './session/recovery.ts';
import { createFamilyRemoval, createRetention, type RetentionLimits } from './session/retention.ts';
import { createRunQueue, type RunQueue } from './session/run-queue.ts';
import { createSessions, sessionLimitBytes } from './session/sessions.ts';
import { type Approvals, createApprovals } from './tools/approvals.ts';
import { createClientResults } from './tools/client-results.ts';
import { createClientToolsCheck } from './tools/client-tools-check.ts';
import type { McpServers } from './tools/mcp/servers.ts';
import { createTaskTool, createTaskTracker, MAX_TASKS_PER_PROMPT } from './tools/task.ts';
import type { AgentTool } from './tools/tool.ts';
import { createAnswering } from './turn/prompt-run.ts';
import { STRUCTURED_OUTPUT } from './turn/structured-output.ts';
import { answerEnd } from './turns/history/answer-end.ts';
import { createTurns } from './turns/turns.ts';

/** The members of `AgentRuntime` that the agent server creates itself. */
type OwnParts = 'publisher' | 'budget' | 'sessionLimitBytes' | 'ending' | 'onBug';

/** What the agent server is made of: the surroundings of the process, the configuration, and adapters. */
export type AgentServerNeeds = Omit<AgentRuntime, OwnParts> & {
  /** None: everyone who reaches the server may do everything. */
  readonly credentials: Credentials | undefined;
  /** The server listens on this machine alone: without credentials it answers nothing but programs of this machine. */
  readonly isForThisMachine: boolean;
  readonly configViews: ConfigViews;
  readonly model: ChatModel;
  /** Creates the tool servers. `publish` is for the event that tools have changed. */
  readonly mcp: (publish: (draft: EventDraft) => void) => McpServers;
  readonly permissionTimeoutMs: number;
  readonly permissionOnceOnly: readonly string[];
  readonly turnTimeoutMs: number;
  /** How long `stop` waits for what runs to end by itself. */
  readonly drainMs: number;
  readonly retention: RetentionLimits;
  /** The bounds of request bodies, and of the messages that running turns hold. */
  readonly memory: MemoryBounds;
  /** Records what requests cause; without it a caller's trace is passed on. */
  readonly beginSpan?: BeginSpan | undefined;
};

/** How long a prompt waits for tool servers that are still being connected. */
const TOOLS_WAIT_MS = 5000;

/** What ends with the server, and where failures go that no caller sees. */
type Lifetime = {
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
  readonly onBug: (error: unknown) => void;
};

/** The tools of a run: those of the tool servers, which get `TOOLS_WAIT_MS` to connect, and `task`. */
const createToolList =
  (mcp: McpServers, task: AgentTool) =>
  async (signal: AbortSignal, onWait: () => Promise<unknown>): Promise<readonly AgentTool[]> => {
    // A run that is aborted meanwhile ends by itself, with a message that says so.
    const settled = mcp.settled(TOOLS_WAIT_MS, signal)?.catch(() => {});
    if (settled !== undefined) await Promise.all([settled, onWait()]);
    return [...mcp.tools(), task];
  };

/** The permission requests of this server. Those of a session end with it. */
const createServerApprovals = (runtime: AgentRuntime, needs: AgentServerNeeds): Approvals => {
  const { publisher, onBug } = runtime;
  const board = runtime.peers.permissionRequests;
  publisher.subscribe(({ event: { type, properties } }) => {
    if (type === 'session.deleted') void board.endWith(properties.sessionID).catch(onBug);
  });
  const { permissionTimeoutMs: timeoutMs, permissionOnceOnly: onceOnly } = needs;
  return createApprovals({ ...runtime, board, timeoutMs, onceOnly, publish: publisher.publish });
};

/** The removal of old sessions. */
const createServerRetention = (runtime: AgentRuntime, { retention: limits }: AgentServerNeeds, runs: RunQueue) => {
  const { store, publisher, clock } = runtime;
  const busy = async (sessionIDs: readonly string[]): Promise<readonly string[]> => {
    const statuses = await runs.statuses();
    return sessionIDs.filter((id) => statuses[id] !== undefined);
  };
  const removal = createFamilyRemoval({ store, publish: publisher.publish, busy, clock });
  return createRetention({ ...runtime, removal, limits });
};

/** The parts of the agent server. */
export const createParts = (needs: AgentServerNeeds, { ending, onBug }: Lifetime) => {
  const { store, peers, directory, memory } = needs;
  const budget = createServiceBudget(memory);
  const publisher = createPublisher(store);
  const own = { publisher, budget, sessionLimitBytes: sessionLimitBytes(budget), ending, onBug };
  const runtime: AgentRuntime = { ...needs, ...own };
  const { publish } = publisher;
  const bodies = createRequestBodies({ ...runtime, limitBytes: memory.limitBytes });
  const sessions = createSessions(runtime);
  const approvals = createServerApprovals(runtime, needs);
  const mcp = needs.mcp((draft) => void publish(directory, { drafts: [draft] }).catch(onBug));
  // Runs make calls, and calls of `task` make runs.
  const isClosing = (id: string): boolean => runs.isClosing(id);
  const ownNames = () => [...mcp.tools(), task].map(({ name }) => name).concat(STRUCTURED_OUTPUT);
  const usableClientTools = createClientToolsCheck({ ...runtime, ownNames });
  const acceptPrompt = createPromptAcceptance({ ...runtime, sessions, usableClientTools, isClosing });
  const takeClientResults = createClientResults({ ...runtime, sessions, usableClientTools, isClosing });
  const taskTracker = createTaskTracker(MAX_TASKS_PER_PROMPT);
  const task = createTaskTool({ ...runtime, sessions, accept: acceptPrompt, runs: () => runs, taskTracker });
  const answer = createAnswering({
    ...runtime,
    model: needs.model,
    approvals,
    sessions,
    tools: createToolList(mcp, task),
    instructions: mcp.instructions,
    turnTimeoutMs: needs.turnTimeoutMs,
    taskTracker,
    answerEnd: (user, ended) => answerEnd(runtime, user, ended),
  });
  const recovery = createRecovery({ ...runtime, isBusyHere: (id) => runs.isBusyHere(id) });
  const runs: RunQueue = createRunQueue({
    answer,
    leases: peers.leases,
    recovery,
    publishStatus: (session, status) => publish(session.directory, statusPublication(session.id, status)),
    onBug,
  });
  const retention = createServerRetention(runtime, needs, runs);
  const shared = { ...runtime, sessions, approvals, runs, acceptPrompt, takeClientResults };
  const streams = createOpenStreams();
  needs.metrics.watch(() => {
    const { running, waiting } = runs.counts();
    return {
      ...peers.counts(),
      runsRunning: running,
      runsWaiting: waiting,
      permissionRequestsOpen: approvals.count(),
      isStoreUp: peers.storeTrouble() === undefined,
      streamsOpen: streams.count(),
      bytesInFlight: budget.usedBytes(),
    };
  });
  return { ...shared, turns: createTurns(shared), mcp, recovery, retention, streams, bodies };
};

import { createServiceBudget, type MemoryBounds } from '../core/byte-budget.ts';
import type { Clock } from '../core/clock.ts';
import type { Credentials } from '../core/http/auth.ts';
import { createRequestBodies } from '../core/http/request-bodies.ts';
import type { BeginSpan } from '../core/http/tracing.ts';
import type { CompileSchema } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import { createTimeSlices } from '../core/time-slices.ts';
import type { AgentCatalog } from './agents/catalog.ts';
import type { ConfigViews } from './context.ts';
import { createPublisher } from './events/publisher.ts';
import { createOpenStreams } from './events/readers.ts';
import { statusPublication } from './events/records.ts';
import type { AgentMetrics } from './metrics.ts';
import type { ChatModel } from './model/types.ts';
import type { EventDraft } from './protocol/events.ts';
import type { Ids } from './protocol/ids.ts';
import { createPromptAcceptance } from './session/prompt.ts';
import { createRecovery } from './session/recovery.ts';
import { createFamilyRemoval, createRetention, type RetentionLimits } from './session/retention.ts';
import { createRunQueue, type RunQueue } from './session/run-queue.ts';
import { createSessions, sessionLimitBytes } from './session/sessions.ts';
import type { Peers } from './store/cluster.ts';
import type { Store } from './store/store.ts';
import { createApprovals } from './tools/approvals.ts';
import { createAwaitedCallsExpiry } from './tools/awaited-calls-expiry.ts';
import { createClientResults } from './tools/client-results.ts';
import { createClientToolsCheck } from './tools/client-tools-check.ts';
import type { McpServers } from './tools/mcp/servers.ts';
import type { OutputLimits } from './tools/output-limit.ts';
import { createTaskTool, createTaskTracker, MAX_TASKS_PER_PROMPT } from './tools/task.ts';
import type { AgentTool } from './tools/tool.ts';
import { createAnswering } from './turn/prompt-run.ts';
import { STRUCTURED_OUTPUT } from './turn/structured-output.ts';
import { createAnswerEnd } from './turns/history/answer-end.ts';
import { createTurns } from './turns/turns.ts';

/** What the agent server is made of: the surroundings of the process, the configuration, and adapters. */
export type AgentServerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly newRequestId: () => string;
  readonly chance: () => number;
  /** SHA-256 in hexadecimal. */
  readonly digest: (text: string) => string;
  readonly compileSchema: CompileSchema;
  readonly version: string;
  readonly directory: string;
  /** None: everyone who reaches the server may do everything. */
  readonly credentials: Credentials | undefined;
  /** The server listens on this machine alone: without credentials it answers nothing but programs of this machine. */
  readonly isForThisMachine: boolean;
  readonly store: Store;
  /** Other servers on the same store. */
  readonly peers: Peers;
  readonly catalog: AgentCatalog;
  readonly configViews: ConfigViews;
  readonly model: ChatModel;
  /** Creates the tool servers. `publish` is for the event that tools have changed. */
  readonly mcp: (publish: (draft: EventDraft) => void) => McpServers;
  readonly outputLimits: OutputLimits;
  readonly permissionTimeoutMs: number;
  readonly permissionOnceOnly: readonly string[];
  readonly turnTimeoutMs: number;
  /** How long the results of client tools are waited for. */
  readonly clientToolTimeoutMs: number;
  /** How long `stop` waits for what runs to end by itself. */
  readonly drainMs: number;
  readonly retention: RetentionLimits;
  /** The bounds of request bodies, and of the messages that running turns hold. */
  readonly memory: MemoryBounds;
  readonly metrics: AgentMetrics;
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

/** The parts of the agent server, each with what it works with. */
export const createParts = (needs: AgentServerNeeds, { ending, onBug }: Lifetime) => {
  const { clock, log, ids, chance, version, directory, store, peers, catalog, model, metrics } = needs;
  const { leases } = peers;
  const publisher = createPublisher(store);
  const budget = createServiceBudget(needs.memory);
  const runInSlices = createTimeSlices(clock);
  const bodies = createRequestBodies({ clock, limitBytes: needs.memory.limitBytes, budget, runInSlices });
  const { publish } = publisher;
  const limitBytes = sessionLimitBytes(budget);
  const sessions = createSessions({ store, publisher, ids, clock, version });
  const approvals = createApprovals({
    board: peers.permissionRequests,
    ids,
    clock,
    timeoutMs: needs.permissionTimeoutMs,
    onceOnly: needs.permissionOnceOnly,
    digest: needs.digest,
    publish,
  });
  publisher.subscribe(({ event: { type, properties } }) => {
    if (type === 'session.deleted') void peers.permissionRequests.endWith(properties.sessionID).catch(onBug);
  });
  const mcp = needs.mcp((draft) => void publish(directory, { drafts: [draft] }).catch(onBug));
  const isClosing = (id: string): boolean => runs.isClosing(id);
  const usableClientTools = createClientToolsCheck({
    compileSchema: needs.compileSchema,
    ownNames: () => [...mcp.tools(), task].map(({ name }) => name).concat(STRUCTURED_OUTPUT),
  });
  const acceptPrompt = createPromptAcceptance({
    store,
    sessions,
    catalog,
    ids,
    clock,
    leases,
    compileSchema: needs.compileSchema,
    usableClientTools,
    sessionLimitBytes: limitBytes,
    isClosing,
  });
  const taskTracker = createTaskTracker(MAX_TASKS_PER_PROMPT);
  const task = createTaskTool({
    sessions,
    store,
    catalog,
    accept: acceptPrompt,
    runs: (): RunQueue => runs,
    taskTracker,
  });
  const answer = createAnswering({
    clock,
    log,
    ids,
    chance,
    model,
    approvals,
    store,
    publisher,
    sessions,
    catalog,
    tools: createToolList(mcp, task),
    compileSchema: needs.compileSchema,
    instructions: mcp.instructions,
    outputLimits: needs.outputLimits,
    turnTimeoutMs: needs.turnTimeoutMs,
    clientToolTimeoutMs: needs.clientToolTimeoutMs,
    budget,
    taskTracker,
    metrics,
    answerEnd: createAnswerEnd({ store, digest: needs.digest, runInSlices }),
    onFailure: (reason) => log('warn', 'trouble', { reason }),
    onBug,
    ending,
  });
  const isBusyHere = (id: string): boolean => runs.isBusyHere(id);
  const recovery = createRecovery({ store, publisher, ids, clock, leases, isBusyHere });
  const runs = createRunQueue({
    answer,
    leases,
    recovery,
    publishStatus: (session, status) => publish(session.directory, statusPublication(session.id, status)),
    onBug,
  });
  const busy = async (sessionIDs: readonly string[]): Promise<readonly string[]> => {
    const statuses = await runs.statuses();
    return sessionIDs.filter((id) => statuses[id] !== undefined);
  };
  const removal = createFamilyRemoval({ store, publish, busy, clock });
  const retention = createRetention({ clock, log, chance, store, removal, limits: needs.retention, metrics });
  const takeClientResults = createClientResults({
    store,
    sessions,
    clock,
    ids,
    outputLimits: needs.outputLimits,
    usableClientTools,
    compileSchema: needs.compileSchema,
    metrics,
    isClosing,
  });
  const expiry = createAwaitedCallsExpiry({ store, sessions, publisher, clock, onBug });
  const turns = createTurns({
    ...{
      store,
      publisher,
      sessions,
      approvals,
      runs,
      catalog,
      ids,
      clock,
      runInSlices,
      acceptPrompt,
      takeClientResults,
    },
    digest: needs.digest,
    outputLimits: needs.outputLimits,
    sessionLimitBytes: limitBytes,
    clientToolTimeoutMs: needs.clientToolTimeoutMs,
    ending,
    onBug,
  });
  const streams = createOpenStreams();
  metrics.watch(() => {
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
  return {
    publisher,
    sessions,
    approvals,
    mcp,
    acceptPrompt,
    sessionLimitBytes: limitBytes,
    takeClientResults,
    recovery,
    runs,
    retention,
    expiry,
    streams,
    bodies,
    turns,
    runInSlices,
    digest: needs.digest,
  };
};

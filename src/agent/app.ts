import { pauseUntil } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import type { Credentials } from '../core/http/auth.ts';
import type { Handler } from '../core/http/handler.ts';
import type { RouteTable } from '../core/http/router.ts';
import type { Log } from '../core/log.ts';
import type { AgentCatalog } from './agents/catalog.ts';
import type { ConfigViews, RouteContext } from './context.ts';
import { createPublisher } from './events/publisher.ts';
import { createOpenStreams } from './events/readers.ts';
import { statusPublication } from './events/records.ts';
import { type AgentState, createAgentHandler } from './http/auth.ts';
import type { McpServers } from './mcp/servers.ts';
import { unmatchedRules } from './mcp/unmatched-rules.ts';
import type { AgentMetrics } from './metrics.ts';
import type { ChatModel } from './model/types.ts';
import type { EventDraft } from './protocol/events.ts';
import type { Ids } from './protocol/ids.ts';
import type { Session, SessionStatus } from './protocol/types.ts';
import { createPromptAcceptance } from './session/prompt.ts';
import { createRecovery, type Recovery } from './session/recovery.ts';
import { createFamilyRemoval, createRetention, type Retention, type RetentionLimits } from './session/retention.ts';
import { createRunQueue, type RunQueue } from './session/run-queue.ts';
import { createSessions } from './session/sessions.ts';
import type { Peers } from './store/cluster.ts';
import type { Store } from './store/store.ts';
import { createApprovals } from './tools/approvals.ts';
import { createTaskTool, createTaskTracker, MAX_TASKS_PER_PROMPT } from './tools/task.ts';
import type { AgentTool, OutputLimits } from './tools/tool.ts';
import { createAnswering } from './turn/prompt-run.ts';

/** How long a prompt waits for tool servers that are still being connected. */
const TOOLS_WAIT_MS = 5000;

/** The parts of the agent server, put together. `ending` aborts when the server stops. */
export const createParts = (
  needs: AgentServerNeeds,
  { ending, onBug }: { readonly ending: AbortSignal; readonly onBug: (error: unknown) => void },
): RouteContext & { readonly recovery: Recovery; readonly retention: Retention } => {
  const { clock, log, ids, store, peers, catalog, version, directory, metrics, permissionTimeoutMs: timeoutMs } = needs;
  const publisher = createPublisher(store);
  const { publish } = publisher;
  const sessions = createSessions({ store, publisher, ids, clock, version });
  const approvals = createApprovals({ board: peers.permissionRequests, ids, clock, timeoutMs, publish });
  const mcp = needs.mcp((draft) => void publish(directory, { drafts: [draft] }).catch(onBug));
  const isClosing = (id: string): boolean => runs.isClosing(id);
  const accept = createPromptAcceptance({ store, sessions, catalog, ids, clock, isClosing });
  const taskTracker = createTaskTracker(MAX_TASKS_PER_PROMPT);
  const task = createTaskTool({ sessions, store, catalog, accept, runs: (): RunQueue => runs, taskTracker });
  const tools = async (signal: AbortSignal, onWait: () => Promise<unknown>): Promise<readonly AgentTool[]> => {
    // A run that is aborted meanwhile ends by itself, with a message that says so.
    const settled = mcp.settled(TOOLS_WAIT_MS, signal)?.catch(() => {});
    if (settled !== undefined) await Promise.all([settled, onWait()]);
    return [...mcp.tools(), task];
  };
  const { instructions } = mcp;
  const onFailure = (reason: string): void => log('warn', 'trouble', { reason });
  const own = { approvals, publisher, sessions, tools, instructions, taskTracker, onFailure, onBug, ending };
  const answer = createAnswering({ ...needs, ...own });
  const tell = (session: Session, status: SessionStatus) =>
    publish(session.directory, statusPublication(session.id, status));
  const { leases } = peers;
  const recovery = createRecovery({ store, publisher, clock, leases });
  const runs = createRunQueue({ answer, leases, recoverSession: recovery.session, publishStatus: tell, onBug });
  const busy = async (sessionIDs: readonly string[]): Promise<readonly string[]> => {
    const statuses = await runs.statuses();
    return sessionIDs.filter((id) => statuses[id] !== undefined);
  };
  const removal = createFamilyRemoval({ store, publish, busy, clock });
  const retention = createRetention({ ...needs, removal, limits: needs.retention });
  const streams = createOpenStreams();
  metrics.watch(() => {
    const { running, waiting } = runs.counts();
    const [asksOpen, streamsOpen] = [approvals.count(), streams.count()];
    return {
      ...peers.counts(),
      runsRunning: running,
      runsWaiting: waiting,
      permissionRequestsOpen: asksOpen,
      streamsOpen,
    };
  });
  return {
    ...needs,
    publisher,
    sessions,
    approvals,
    runs,
    recovery,
    retention,
    mcp,
    streams,
    acceptPrompt: accept,
    ending,
    onBug,
  };
};

export type AgentServerNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly newRequestId: () => string;
  readonly chance: () => number;
  readonly version: string;
  readonly directory: string;
  /** None: everyone may do everything. */
  readonly credentials: Credentials | undefined;
  /** Only this machine can reach the server: without credentials nothing but its own programs is answered. */
  readonly isForThisMachine: boolean;
  readonly store: Store;
  /** Other servers on the same store. */
  readonly peers: Peers;
  readonly catalog: AgentCatalog;
  readonly configViews: ConfigViews;
  readonly model: ChatModel;
  /** Given what it needs to tell that tools have changed. */
  readonly mcp: (publish: (draft: EventDraft) => void) => McpServers;
  readonly outputLimits: OutputLimits;
  readonly permissionTimeoutMs: number;
  readonly turnTimeoutMs: number;
  /** What runs when the server is told to stop has so long to come to its end. */
  readonly drainMs: number;
  readonly retention: RetentionLimits;
  readonly metrics: AgentMetrics;
};

/** The agent server: its handler, and its life. */
export type AgentServer = {
  /** Answers from the first moment: with 503 until `start` has settled, and after `stop` has begun. */
  readonly handler: Handler;
  readonly table: RouteTable;
  /** Ends what an earlier process left unfinished, and connects to the tool servers. */
  readonly start: () => Promise<void>;
  /** Ends every run, then every stream with an event that says so. Waits for no run that does not end when it is told to. */
  readonly stop: () => Promise<void>;
};

/** Events that can be replayed, and how often older ones are forgotten. */
const EVENT_LIMIT = 100_000;
const PRUNE_EVERY_MS = 600_000;
const TOOLS_READY_LIMIT_MS = 60_000;
/** Leaves the streams and the tool servers their share of the ten seconds that a process has for its end. */
const RUNS_LIMIT_MS = 2500;

/** The agent server, from its needs. Building it does no I/O. */
export const createAgentServer = (needs: AgentServerNeeds): AgentServer => {
  const { clock, log, store, peers, drainMs } = needs;
  const ending = new AbortController();
  let state: AgentState = 'starting';
  const onBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  const parts = createParts(needs, { ending: ending.signal, onBug });
  const { publisher, runs, recovery, mcp, retention } = parts;
  let cancelPruning = (): void => {};
  const prune = (): void => {
    void store.pruneEvents(EVENT_LIMIT).catch(onBug);
    cancelPruning = clock.after(PRUNE_EVERY_MS, prune);
  };
  /** Once the tool servers have had their chance: a rule with a slip in it holds nobody back. */
  const logUnmatchedRules = async (): Promise<void> => {
    await mcp.settled(TOOLS_READY_LIMIT_MS, ending.signal);
    const permissions = [...needs.catalog.agents.values()].flatMap(({ rules }) => rules.map((rule) => rule.permission));
    const tools = ['task', ...mcp.tools().map(({ name }) => name)];
    for (const tool of unmatchedRules({ permissions, tools, statuses: mcp.statuses() }))
      log('warn', 'rule-matches-no-tool', { tool });
  };
  const recoverAll = async (): Promise<void> => {
    const count = await recovery.all();
    if (count > 0) log('warn', 'unfinished-answers-ended', { count });
  };
  return {
    ...createAgentHandler(needs, parts, () => state),
    async start() {
      peers.listen({
        onEvents: publisher.forward,
        onAbort: (sessionID) => void runs.abortHere(sessionID),
        onGone: () => void recoverAll().catch(onBug),
      });
      await recoverAll();
      // It may have been told to stop meanwhile.
      if (state !== 'starting') return;
      mcp.start();
      // It rejects only because the server stops.
      void logUnmatchedRules().catch(() => {});
      state = 'ready';
      prune();
      retention.start();
    },
    async stop() {
      state = 'stopping';
      cancelPruning();
      retention.stop();
      const { signal } = new AbortController();
      if (drainMs > 0) await pauseUntil(clock, { ms: drainMs, woken: runs.idle() }, signal);
      await pauseUntil(clock, { ms: RUNS_LIMIT_MS, woken: runs.stop() }, signal);
      ending.abort();
      await mcp.stop();
    },
  };
};

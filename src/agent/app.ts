import type { Credentials } from '../core/basic-auth.ts';
import type { Clock } from '../core/clock.ts';
import type { Handler } from '../core/handler.ts';
import type { RouteTable } from '../core/http/router.ts';
import type { Log } from '../core/log.ts';
import type { Voices } from './agents/catalog.ts';
import { assemble } from './assembly.ts';
import type { Shown } from './context.ts';
import { type AgentState, createFrontDoor } from './http/auth.ts';
import type { McpServers } from './mcp/servers.ts';
import { unmatchedRules } from './mcp/unmatched-rules.ts';
import type { Meter } from './metrics.ts';
import type { ChatModel } from './model/types.ts';
import type { EventDraft } from './protocol/events.ts';
import type { Ids } from './protocol/ids.ts';
import type { RetentionLimits } from './retention.ts';
import type { Peers } from './store/cluster.ts';
import type { Store } from './store/store.ts';
import type { OutputLimits } from './tool-output.ts';
import { wakeablePause } from './wakeable-pause.ts';

export type AgentNeeds = {
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
  readonly voices: Voices;
  readonly shown: Shown;
  readonly model: ChatModel;
  /** Given what it needs to tell that tools have changed. */
  readonly mcp: (publish: (draft: EventDraft) => void) => McpServers;
  readonly outputLimits: OutputLimits;
  readonly permissionTimeoutMs: number;
  readonly turnTimeoutMs: number;
  /** What runs when the server is told to stop has so long to come to its end. */
  readonly drainMs: number;
  readonly retention: RetentionLimits;
  readonly meter: Meter;
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
const EVENTS_KEPT = 100_000;
const PRUNE_EVERY_MS = 600_000;
const TOOLS_LIMIT_MS = 60_000;
/** Leaves the streams and the tool servers their share of the ten seconds that a process has for its end. */
const RUNS_LIMIT_MS = 2500;

/** The agent server, from its needs. Building it does no I/O. */
export const createAgentServer = (needs: AgentNeeds): AgentServer => {
  const { clock, log, store, peers, drainMs } = needs;
  const ending = new AbortController();
  let state: AgentState = 'starting';
  const onBug = (error: unknown): void =>
    log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  const parts = assemble(needs, { ending: ending.signal, onBug });
  const { publisher, runs, recovery, mcp, retention } = parts;
  let cancelPruning = (): void => {};
  const prune = (): void => {
    void store.pruneEvents(EVENTS_KEPT).catch(onBug);
    cancelPruning = clock.after(PRUNE_EVERY_MS, prune);
  };
  /** Once the tool servers have had their chance: a rule with a slip in it holds nobody back. */
  const tellUnmatchedRules = async (): Promise<void> => {
    await mcp.settled(TOOLS_LIMIT_MS, ending.signal);
    const permissions = [...needs.voices.agents.values()].flatMap(({ rules }) => rules.map((rule) => rule.permission));
    const tools = ['task', ...mcp.tools().map(({ name }) => name)];
    for (const tool of unmatchedRules({ permissions, tools, statuses: mcp.statuses() }))
      log('warn', 'rule-matches-no-tool', { tool });
  };
  const tidy = async (): Promise<void> => {
    const count = await recovery.all();
    if (count > 0) log('warn', 'unfinished-answers-ended', { count });
  };
  return {
    ...createFrontDoor(needs, parts, () => state),
    async start() {
      peers.listen({
        onEvents: publisher.hear,
        onAbort: (sessionID) => void runs.abortHere(sessionID),
        onGone: () => void tidy().catch(onBug),
      });
      await tidy();
      // It may have been told to stop meanwhile.
      if (state !== 'starting') return;
      mcp.start();
      // It rejects only because the server stops.
      void tellUnmatchedRules().catch(() => {});
      state = 'ready';
      prune();
      retention.start();
    },
    async stop() {
      state = 'stopping';
      cancelPruning();
      retention.stop();
      const { signal } = new AbortController();
      if (drainMs > 0) await wakeablePause(clock, { ms: drainMs, woken: runs.idle() }, signal);
      await wakeablePause(clock, { ms: RUNS_LIMIT_MS, woken: runs.stop() }, signal);
      ending.abort();
      await mcp.stop();
    },
  };
};

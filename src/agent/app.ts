import { pauseUntil } from '../core/async.ts';
import type { Handler } from '../core/http/handler.ts';
import type { RouteTable } from '../core/http/router.ts';
import { createRequestSpans, passOn } from '../core/http/tracing.ts';
import { createEventPruning } from './events/pruning.ts';
import type { RouteContext } from './http/context.ts';
import { type AgentState, createAgentHandler } from './http/handler.ts';
import { type AgentServerNeeds, createParts } from './parts.ts';
import { createReadBody } from './protocol/request-schemas.ts';
import { endAllExpiredCalls } from './session/awaited-calls.ts';
import { createResume } from './session/resume.ts';
import { isStoreFailure } from './store/errors.ts';
import { logUnmatchedRules } from './tools/mcp/unmatched-rules.ts';

/** The agent server: its handler, its start and its stop. */
export type AgentServer = {
  /** Answers from the first moment: with 503 until `start` has settled, and after `stop` has begun. */
  readonly handler: Handler;
  readonly table: RouteTable;
  /** Ends what an earlier process left unfinished, connects to the tool servers, and runs prompts that still wait. */
  readonly start: () => Promise<void>;
  /** Ends every run, then every stream with an event that says so. Waits a few seconds at most for a run that does not end. */
  readonly stop: () => Promise<void>;
};

/** Streams and tool servers need the rest of the ten seconds in which a process has to end. */
const RUNS_LIMIT_MS = 2500;

/** The agent server. Creating it does no I/O. */
export const createAgentServer = (needs: AgentServerNeeds): AgentServer => {
  const { clock, log, peers, credentials } = needs;
  const ending = new AbortController();
  let state: AgentState = 'starting';
  const stateNow = (): AgentState => state;
  const onBug = (error: unknown): void => {
    if (isStoreFailure(error)) log('warn', 'store-trouble', { reason: error.message });
    else log('error', 'bug', { reason: error instanceof Error ? error.name : typeof error });
  };
  const { recovery, retention, bodies, ...others } = createParts(needs, { ending: ending.signal, onBug });
  const { publisher, runs, mcp } = others;
  const spans = createRequestSpans(needs.beginSpan ?? passOn);
  const resume = createResume({ ...others, recovery });
  const context: RouteContext = {
    ...others,
    resume,
    configViews: needs.configViews,
    userName: credentials?.username ?? 'unknown',
    spanOf: spans.of,
    readBody: createReadBody(bodies),
  };
  const also = [others.turns.leaving.look, () => endAllExpiredCalls(context)];
  const pruning = createEventPruning(context, also);
  /** A server that stops would abort what it takes over, prompts that another server is just about to run included. */
  const takeOverWhileServing = async (): Promise<void> => {
    if (state === 'stopping') return;
    const runWaiting = await resume.takeOver();
    if (stateNow() !== 'stopping') runWaiting();
  };
  return {
    ...createAgentHandler(context, {
      bodies,
      spans,
      credentials,
      isForThisMachine: needs.isForThisMachine,
      storeTrouble: peers.storeTrouble,
      stateNow,
    }),
    async start() {
      peers.listen({
        onEvents: publisher.forward,
        onAbort: (sessionID, promptID) => void runs.abortHere(sessionID, promptID),
        onAbandoned: () => void takeOverWhileServing().catch(onBug),
      });
      const runWaiting = await resume.takeOver();
      // `stop` may have been called meanwhile.
      if (state !== 'starting') return;
      mcp.start();
      // It rejects only because the server stops.
      void logUnmatchedRules(context, mcp).catch(() => {});
      state = 'ready';
      runWaiting();
      pruning.start();
      retention.start();
    },
    async stop() {
      state = 'stopping';
      bodies.stop();
      pruning.stop();
      retention.stop();
      others.turns.leaving.stop();
      const { signal } = new AbortController();
      if (needs.drainMs > 0) await pauseUntil(clock, { ms: needs.drainMs, woken: runs.idle() }, signal);
      await pauseUntil(clock, { ms: RUNS_LIMIT_MS, woken: runs.stop() }, signal);
      ending.abort();
      await mcp.stop();
    },
  };
};

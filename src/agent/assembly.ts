import type { AgentNeeds } from './app.ts';
import type { RouteNeeds } from './context.ts';
import { createPublisher } from './events/publisher.ts';
import { createStreamCount } from './events/readers.ts';
import { createRetention, type Retention } from './retention-rounds.ts';
import { createAccept } from './session/prompt.ts';
import { createRecovery, type Recovery } from './session/recovery.ts';
import { createFamilyRemoval } from './session/retention.ts';
import { createRuns, type Runs } from './session/run-queue.ts';
import { createSessions } from './session/sessions.ts';
import type { Session, SessionStatus } from './session.ts';
import { statusFact } from './status-fact.ts';
import { createTaskFamilies } from './task-families.ts';
import { createApprovals } from './tools/approvals.ts';
import { createTaskTool, TASKS_OF_A_PROMPT } from './tools/task.ts';
import type { AgentTool } from './tools/tool.ts';
import { createAnswering } from './turn/prompt-run.ts';

/** How long a prompt waits for tool servers that are still being connected. */
const TOOLS_WAIT_MS = 5000;

/** The parts of the agent server, put together. `ending` aborts when the server stops. */
export const assemble = (
  needs: AgentNeeds,
  { ending, onBug }: { readonly ending: AbortSignal; readonly onBug: (error: unknown) => void },
): RouteNeeds & { readonly recovery: Recovery; readonly retention: Retention } => {
  const { clock, log, ids, store, peers, voices, version, directory, meter, permissionTimeoutMs: timeoutMs } = needs;
  const publisher = createPublisher(store);
  const { publish } = publisher;
  const sessions = createSessions({ store, publisher, ids, clock, version });
  const approvals = createApprovals({ board: peers.asks, ids, clock, timeoutMs, publish });
  const mcp = needs.mcp((draft) => void publish(directory, { drafts: [draft] }).catch(onBug));
  const isClosing = (id: string): boolean => runs.isClosing(id);
  const accept = createAccept({ store, sessions, voices, ids, clock, isClosing });
  const families = createTaskFamilies(TASKS_OF_A_PROMPT);
  const task = createTaskTool({ sessions, store, voices, accept, runs: (): Runs => runs, families });
  const tools = async (signal: AbortSignal, onWait: () => Promise<unknown>): Promise<readonly AgentTool[]> => {
    // A run that is aborted meanwhile ends by itself, with a message that says so.
    const settled = mcp.settled(TOOLS_WAIT_MS, signal)?.catch(() => {});
    if (settled !== undefined) await Promise.all([settled, onWait()]);
    return [...mcp.tools(), task];
  };
  const { instructions } = mcp;
  const onTrouble = (reason: string): void => log('warn', 'trouble', { reason });
  const own = { approvals, publisher, sessions, tools, instructions, families, onTrouble, onBug, ending };
  const answer = createAnswering({ ...needs, ...own });
  const tell = (session: Session, status: SessionStatus) => publish(session.directory, statusFact(session.id, status));
  const { leases } = peers;
  const recovery = createRecovery({ store, publisher, clock, leases });
  const runs = createRuns({ answer, leases, tidy: recovery.session, tell, onBug });
  const busy = async (sessionIDs: readonly string[]): Promise<readonly string[]> => {
    const statuses = await runs.statuses();
    return sessionIDs.filter((id) => statuses[id] !== undefined);
  };
  const removal = createFamilyRemoval({ store, publish, busy, clock });
  const retention = createRetention({ ...needs, removal, limits: needs.retention });
  const streams = createStreamCount();
  meter.watch(() => {
    const { running, waiting } = runs.counts();
    const [asksOpen, streamsOpen] = [approvals.count(), streams.open()];
    return { ...peers.counts(), runsRunning: running, runsWaiting: waiting, asksOpen, streamsOpen };
  });
  return { ...needs, publisher, sessions, approvals, runs, recovery, retention, mcp, streams, accept, ending, onBug };
};

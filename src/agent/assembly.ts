import type { RouteNeeds } from './agent-needs.ts';
import type { AgentTool } from './agent-tool.ts';
import { createAnswering } from './answer.ts';
import type { AgentNeeds } from './app.ts';
import { createApprovals } from './approvals.ts';
import type { EventDraft } from './event.ts';
import { createAccept } from './prompts.ts';
import { createPublisher } from './publisher.ts';
import { createRuns, type Runs } from './runs.ts';
import type { Session, SessionStatus } from './session.ts';
import { createSessions } from './sessions.ts';
import { createTaskTool } from './task-tool.ts';

/** How long a prompt waits for tool servers that are still being connected. */
const TOOLS_WAIT_MS = 5000;

const statusDrafts = (sessionID: string, status: SessionStatus): EventDraft[] => [
  { type: 'session.status', properties: { sessionID, status } },
  ...(status.type === 'idle' ? [{ type: 'session.idle' as const, properties: { sessionID } }] : []),
];

/** The parts of the agent server, put together. `ending` aborts when the server stops. */
export const assemble = (
  needs: AgentNeeds,
  { ending, onBug }: { readonly ending: AbortSignal; readonly onBug: (error: unknown) => void },
): RouteNeeds => {
  const { clock, log, ids, store, voices, version, directory, permissionTimeoutMs: timeoutMs } = needs;
  const publisher = createPublisher(store);
  const { publish } = publisher;
  const sessions = createSessions({ store, publisher, ids, clock, version });
  const approvals = createApprovals({ ids, clock, timeoutMs, publish });
  const mcp = needs.mcp((draft) => void publish(directory, { drafts: [draft] }).catch(onBug));
  const accept = createAccept({ store, sessions, voices, ids, clock });
  const task = createTaskTool({ sessions, store, voices, accept, runs: (): Runs => runs });
  const tools = async (signal: AbortSignal): Promise<readonly AgentTool[]> => {
    // A run that is aborted meanwhile ends by itself, with a message that says so.
    await mcp.settled(TOOLS_WAIT_MS, signal).catch(() => {});
    return [...mcp.tools(), task];
  };
  const { instructions } = mcp;
  const onTrouble = (reason: string): void => log('warn', 'trouble', { reason });
  const own = { approvals, publisher, sessions, tools, instructions, onTrouble, onBug, ending };
  const answer = createAnswering({ ...needs, ...own });
  const tell = (session: Session, status: SessionStatus) =>
    publish(session.directory, { drafts: statusDrafts(session.id, status) });
  const runs = createRuns({ answer, tell, onBug });
  return { ...needs, publisher, sessions, approvals, runs, mcp, accept, ending, onBug };
};

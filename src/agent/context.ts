import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { AgentCatalog } from './agents/catalog.ts';
import type { Publisher } from './events/publisher.ts';
import type { StreamCount } from './events/readers.ts';
import type { McpServers } from './mcp/servers.ts';
import type { Meter } from './metrics.ts';
import type { Ids } from './protocol/ids.ts';
import type { PromptIn } from './protocol/request-schemas.ts';
import type { Accepted } from './session/prompt.ts';
import type { Runs } from './session/run-queue.ts';
import type { Sessions } from './session/sessions.ts';
import type { Store } from './store/store.ts';
import type { Approvals } from './tools/approvals.ts';

/** What the routes of the agent server work with. */
export type RouteNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly version: string;
  /** Where sessions are unless a request says otherwise. */
  readonly directory: string;
  readonly store: Store;
  readonly publisher: Publisher;
  readonly sessions: Sessions;
  readonly catalog: AgentCatalog;
  readonly approvals: Approvals;
  readonly runs: Runs;
  readonly mcp: McpServers;
  readonly meter: Meter;
  readonly streams: StreamCount;
  readonly accept: (sessionID: string, prompt: PromptIn) => Promise<Accepted>;
  /** Bodies of the routes that show the configuration, without its secrets. */
  readonly shown: Shown;
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
  readonly onBug: (error: unknown) => void;
};

export type Shown = {
  readonly config: unknown;
  readonly provider: unknown;
  readonly configProviders: unknown;
  readonly agent: unknown;
};

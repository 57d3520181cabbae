import type { Clock } from '../core/clock.ts';
import type { RequestSpans } from '../core/http/tracing.ts';
import type { Log } from '../core/log.ts';
import type { RunInSlices } from '../core/time-slices.ts';
import type { AgentCatalog } from './agents/catalog.ts';
import type { Publisher } from './events/publisher.ts';
import type { OpenStreams } from './events/readers.ts';
import type { AgentMetrics } from './metrics.ts';
import type { Ids } from './protocol/ids.ts';
import type { ReadBody } from './protocol/request-schemas.ts';
import type { AcceptPrompt } from './session/prompt.ts';
import type { Resume } from './session/resume.ts';
import type { RunQueue } from './session/run-queue.ts';
import type { Sessions } from './session/sessions.ts';
import type { Store } from './store/store.ts';
import type { Approvals } from './tools/approvals.ts';
import type { createClientResults } from './tools/client-results.ts';
import type { McpServers } from './tools/mcp/servers.ts';
import type { Turns } from './turns/turns.ts';

/** Everything that routes of the agent server work with. Each group of routes names the part that it takes. */
export type RouteContext = {
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
  readonly runs: RunQueue;
  readonly resume: Resume;
  readonly mcp: McpServers;
  readonly metrics: AgentMetrics;
  readonly streams: OpenStreams;
  /** The name that clients log in with, if they do. */
  readonly userName: string | undefined;
  readonly spanOf: RequestSpans['of'];
  readonly readBody: ReadBody;
  readonly acceptPrompt: AcceptPrompt;
  /** The largest session that may grow further. */
  readonly sessionLimitBytes: number;
  /** Takes the results of client tools. */
  readonly takeClientResults: ReturnType<typeof createClientResults>;
  readonly turns: Turns;
  /** SHA-256 in hexadecimal. */
  readonly digest: (text: string) => string;
  readonly runInSlices: RunInSlices;
  /** Bodies of the routes that show the configuration, without its secrets. */
  readonly configViews: ConfigViews;
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
  readonly onBug: (error: unknown) => void;
};

/** The configuration in the shapes of `GET /config`, `/provider`, `/config/providers`, `/agent` and `/command`. */
export type ConfigViews = {
  readonly config: unknown;
  readonly provider: unknown;
  readonly configProviders: unknown;
  readonly agent: unknown;
  readonly command: unknown;
};

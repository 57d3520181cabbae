import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Approvals } from './approvals.ts';
import type { Ids } from './ids.ts';
import type { McpServers } from './mcp-servers.ts';
import type { Meter } from './meter.ts';
import type { Accepted } from './prompts.ts';
import type { Publisher } from './publisher.ts';
import type { Runs } from './runs.ts';
import type { Sessions } from './sessions.ts';
import type { Store } from './store.ts';
import type { StreamCount } from './stream-count.ts';
import type { Voices } from './voices.ts';
import type { PromptIn } from './wire-in.ts';

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
  readonly voices: Voices;
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

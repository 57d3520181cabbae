import type { Runtime } from '../../../core/runtime.ts';
import type { TracedPost } from '../agent/traced-post.ts';
import type { AgentFeed } from './feed.ts';
import type { SessionClient } from './session-client.ts';

/** What turns at an OpenCode server need. */
export type TurnsNeeds = Runtime & {
  readonly agent: SessionClient;
  readonly feed: AgentFeed;
  readonly traced: TracedPost;
  /** 0 to 1; shortens the wait before a call is repeated. */
  readonly chance: () => number;
  /** SHA-256 as a text. */
  readonly digest: (text: string) => string;
};

/** Never aborts: for calls that have to be made even if the client has left. */
export const NEVER = new AbortController().signal;

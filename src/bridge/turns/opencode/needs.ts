import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { RunInSlices } from '../../../core/time-slices.ts';
import type { CallAgent } from '../../agent/calls.ts';
import type { SessionClient } from '../../agent/session-client.ts';
import type { AgentEventStream } from '../../agent/types.ts';
import type { createTracedPost } from '../agent/traced-post.ts';

type TracedPost = ReturnType<typeof createTracedPost>;

/** What turns at an OpenCode server need. */
export type OpenCodeNeeds = {
  readonly callAgent: CallAgent;
  /** Of the agent, for traces. */
  readonly baseUrl: string;
  readonly feed: Pick<AgentEventStream, 'subscribe' | 'untilOpen'>;
  readonly clock: Clock;
  /** 0 to 1; shortens the wait before a call is repeated. */
  readonly chance: () => number;
  readonly log: Log;
  /** SHA-256 as a text. */
  readonly digest: (text: string) => string;
  /** 10 to 60 letters and digits that were not made before. */
  readonly newID: () => string;
  readonly runInSlices: RunInSlices;
};

/** The same with what is made of it. */
export type TurnsNeeds = OpenCodeNeeds & { readonly agent: SessionClient; readonly traced: TracedPost };

/** For calls that have to be made whoever has left. */
export const NEVER = new AbortController().signal;

import { untilAborted } from '../../../core/async.ts';
import type { Owner } from '../../conversation/types.ts';
import type { ClientAnswer } from '../../turn/answers.ts';

/** Streams an answer from its output that is here, to another request of its client, after an event's number. */
type StreamAgain = (request: Request, startingAfter: number) => Response;

/** The responses in the background that this bridge makes now. Their whole output is here, also what the agent has taken back. */
export type RunningStreams = {
  /**
   * Keeps it until it has ended: after that its request must not be held. Nor is that of a request that joins it, so that a client that
   * repeats itself takes no more memory, or that of a client that leaves before the answer has begun: then `signal` aborts.
   */
  readonly add: (
    answer: Pick<ClientAnswer, 'responseID' | 'ended'>,
    owner: Owner,
    streamAgain: StreamAgain,
    signal: AbortSignal,
  ) => void;
  readonly find: (responseID: string, owner: Owner) => StreamAgain | undefined;
};

export const createRunningStreams = (): RunningStreams => {
  const all = new Map<string, { readonly owner: Owner; readonly streamAgain: StreamAgain }>();
  return {
    add({ responseID, ended }, owner, streamAgain, signal) {
      const keep = async (): Promise<void> => {
        const id = await untilAborted(responseID(), signal);
        if (all.has(id)) return;
        all.set(id, { owner, streamAgain });
        await ended().finally(() => all.delete(id));
      };
      // The failure of one that cannot start is for its readers.
      keep().catch(() => {});
    },
    find(responseID, owner) {
      const running = all.get(responseID);
      return running?.owner === owner ? running.streamAgain : undefined;
    },
  };
};

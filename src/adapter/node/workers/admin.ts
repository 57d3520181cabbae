import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import { Fault } from '../../../core/fault.ts';
import type { SharedAdmin } from '../../../gateway/admin/admin.ts';
import type { FeedBatch, FeedEvent } from '../../../gateway/admin/feed-numbering.ts';
import { type ProcessState, ProcessStates } from '../../../gateway/admin/state.ts';
import type { Channel } from './channel.ts';

type WorkerAdminNeeds = { readonly channel: Pick<Channel, 'ask' | 'notify' | 'offer'>; readonly clock: Clock };

/** A worker's part of what the admin routes show of all workers. */
export type WorkerAdmin = SharedAdmin & {
  readonly onRead: () => void;
  readonly onBatch: (batch: FeedBatch) => void;
  /** The worker's own state, as the first process asks for it. */
  readonly ownState: () => ProcessState | undefined;
};

/** Events are sent together: a message costs more than what is in it. */
const SEND_EVERY_MS = 200;
/** Well within the time that the feed stays open. */
const KEEP_OPEN_EVERY_MS = 10_000;
const STATES_LIMIT_MS = 3000;

/** Creates a worker's end. Without the first process it sends nothing, and its state is refused: its own would not be the service's. */
export const createWorkerAdmin = ({ channel, clock }: WorkerAdminNeeds): WorkerAdmin => {
  let listener: Parameters<SharedAdmin['exchange']['connect']>[0] | undefined;
  let readOwn: (() => ProcessState) | undefined;
  let unsent: FeedEvent[] = [];
  let lost = 0;
  let keptOpenAt = Number.NEGATIVE_INFINITY;
  const sendLater = (): void => {
    if (unsent.length === 0 && lost === 0) clock.after(SEND_EVERY_MS, sendAll);
  };
  const sendAll = (): void => {
    channel.offer({ kind: 'feed', events: unsent, lost });
    unsent = [];
    lost = 0;
  };

  return {
    exchange: {
      keepOpen() {
        if (Math.abs(clock.now() - keptOpenAt) < KEEP_OPEN_EVERY_MS) return;
        keptOpenAt = clock.now();
        channel.notify({ kind: 'feed-read' });
      },
      send(event) {
        sendLater();
        unsent.push(event);
      },
      skip() {
        sendLater();
        lost += 1;
      },
      connect(given) {
        listener = given;
      },
    },
    states(own) {
      readOwn = own;
      return async () => {
        const answer = v.safeParse(ProcessStates, await channel.ask({ kind: 'states' }, STATES_LIMIT_MS));
        if (answer.success) return answer.output;
        throw new Fault({
          kind: 'unavailable',
          message: 'The states of the workers cannot be added up',
          retryAfterMs: 1000,
        });
      };
    },
    onRead: () => listener?.onRead(),
    onBatch: (batch) => listener?.onBatch(batch),
    ownState: () => readOwn?.(),
  };
};

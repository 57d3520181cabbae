import { Fault } from '../../core/fault.ts';
import { pushedSseResponse, type SseEvent } from '../../core/http/sse.ts';
import type { Runtime } from '../../core/runtime.ts';
import { bugLogger } from '../errors.ts';
import type { SecretFilter } from '../services/secret-filter.ts';
import type { FeedSink, VerdictFeed } from './verdict-feed.ts';

/** What changes and is sent whole: only the last state counts. */
export type Snapshot = 'approvals' | 'services';

/** Sends what happens to the browsers that follow. What is held for one that reads slowly is bounded. */
export type Followers = FeedSink & {
  /**
   * The response of `GET /api/events`. `isStillAllowed` is asked now and then: a session that has ended follows no longer. Where all
   * places are taken, one of an account that has more of them than `account` is given up, and else it faults with `overloaded`.
   */
  readonly follow: (account: string, isStillAllowed: () => Promise<boolean>) => Response;
  /** A snapshot has changed. */
  readonly mark: (snapshot: Snapshot) => void;
  readonly count: () => number;
  readonly stop: () => void;
};

type FollowersNeeds = Pick<Runtime, 'clock' | 'log'> & {
  /** The value of a snapshot as it is now. */
  readonly read: (snapshot: Snapshot) => unknown;
  readonly hide: SecretFilter;
  /** Read while there is a follower; undefined where no gateway is set. */
  readonly feed: VerdictFeed | undefined;
};

const FOLLOWERS_LIMIT = 64;
/** At most ten batches a second. */
const BATCH_EVERY_MS = 100;
const VERDICTS_LIMIT = 500;
const EVENTS_LIMIT = 200;
const CHECK_EVERY_MS = 10_000;
const FIRST: readonly Snapshot[] = ['services', 'approvals'];
const PING: SseEvent = { event: 'ping', data: '{}' };

/** What waits for one browser. */
type Follower = {
  readonly account: string;
  isGivenUp: boolean;
  readonly snapshots: Set<Snapshot>;
  events: SseEvent[];
  verdicts: unknown[];
  skipped: number;
  wake: () => void;
};

export const createFollowers = ({ clock, log, read, hide, feed }: FollowersNeeds): Followers => {
  const followers = new Set<Follower>();
  const stopping = new AbortController();
  const toEvent = (event: string, data: unknown): SseEvent => ({ event, data: hide(JSON.stringify(data)) });

  /** As it was last sent. It may be megabytes, and all followers get the same. */
  const encoded = new Map<Snapshot, SseEvent>();
  const snapshotEvent = (name: Snapshot): SseEvent => {
    const event = encoded.get(name) ?? toEvent(name, read(name));
    encoded.set(name, event);
    return event;
  };

  const taken = (follower: Follower): readonly SseEvent[] => {
    const snapshots = [...follower.snapshots].map(snapshotEvent);
    const { events, verdicts, skipped } = follower;
    follower.snapshots.clear();
    [follower.events, follower.verdicts, follower.skipped] = [[], [], 0];
    return [
      ...snapshots,
      ...events,
      ...(skipped === 0 ? [] : [toEvent('skipped', { count: skipped })]),
      ...(verdicts.length === 0 ? [] : [toEvent('verdict', verdicts)]),
    ];
  };
  const isEmpty = ({ snapshots, events, verdicts }: Follower): boolean =>
    snapshots.size === 0 && events.length === 0 && verdicts.length === 0;
  const waitUntilWoken = async (follower: Follower): Promise<void> => {
    if (!isEmpty(follower)) return;
    const woken = Promise.withResolvers<void>();
    const cancel = clock.after(CHECK_EVERY_MS, woken.resolve);
    follower.wake = woken.resolve;
    await woken.promise;
    cancel();
  };
  const pauseFor = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve));

  const toAll = (change: (follower: Follower) => void): void => {
    for (const follower of followers) {
      change(follower);
      follower.wake();
    }
  };
  /** The windows of one user may not keep out another, who may have to decide something. */
  const makeRoomFor = (account: string): void => {
    const placesOf = (name: string): number => [...followers].filter((one) => one.account === name).length;
    const own = placesOf(account);
    const oldest = [...followers].find((one) => placesOf(one.account) > own + 1);
    if (oldest === undefined) throw new Fault({ kind: 'overloaded', retryAfterMs: 10_000 });
    followers.delete(oldest);
    oldest.isGivenUp = true;
    oldest.wake();
  };
  const all: FeedSink = {
    send(event, data) {
      const made = toEvent(event, data);
      toAll(({ events }) => {
        events.push(made);
        if (events.length > EVENTS_LIMIT) events.shift();
      });
    },
    sendVerdict(verdict) {
      toAll((follower) => {
        follower.verdicts.push(verdict);
        if (follower.verdicts.length <= VERDICTS_LIMIT) return;
        follower.verdicts.shift();
        follower.skipped += 1;
      });
    },
  };
  return {
    ...all,
    follow(account, isStillAllowed) {
      if (stopping.signal.aborted)
        throw new Fault({ kind: 'unavailable', message: 'The console is stopping', retryAfterMs: 1000 });
      if (followers.size >= FOLLOWERS_LIMIT) makeRoomFor(account);
      const nothing = { events: [], verdicts: [], skipped: 0, isGivenUp: false };
      const follower: Follower = { account, snapshots: new Set(FIRST), ...nothing, wake: () => {} };
      followers.add(follower);
      feed?.start(all);
      const sendEvents = async (
        send: (event: SseEvent) => Promise<void> | undefined,
        left: AbortSignal,
      ): Promise<void> => {
        const isOver = (): boolean => left.aborted || stopping.signal.aborted || follower.isGivenUp;
        left.addEventListener('abort', () => follower.wake(), { once: true });
        try {
          for (let checkedAt = clock.now(); !isOver(); ) {
            for (const event of taken(follower)) await send(event);
            await waitUntilWoken(follower);
            // Those that come within a moment are one batch.
            if (!isOver()) await pauseFor(BATCH_EVERY_MS);
            if (Math.abs(clock.now() - checkedAt) < CHECK_EVERY_MS) continue;
            checkedAt = clock.now();
            if (!(await isStillAllowed())) return;
          }
        } finally {
          followers.delete(follower);
          if (followers.size === 0) {
            encoded.clear();
            feed?.stop();
          }
        }
      };
      const response = pushedSseResponse(sendEvents, { clock, heartbeat: () => PING, onBug: bugLogger(log) });
      response.headers.set('cache-control', 'no-store, no-transform');
      return response;
    },
    mark(snapshot) {
      encoded.delete(snapshot);
      toAll(({ snapshots }) => snapshots.add(snapshot));
    },
    count: () => followers.size,
    stop() {
      stopping.abort();
      feed?.stop();
      toAll(() => {});
    },
  };
};

import type { Ids } from '../../agent/protocol/ids.ts';
import type { PlacedEvent, Store } from '../../agent/store/store.ts';
import { createGrowing } from '../stored-rows.ts';
import { createCommitQueue } from './commit-queue.ts';
import type { PostgresLink } from './connection.ts';
import { type Seat, takeSeat } from './membership.ts';
import { createPostgresReads, prune } from './reads.ts';

const PAGE = { limit: 500, limitBytes: 4 * 1024 * 1024 };
const AGAIN_AFTER_MS = 200;

export type TailNeeds = {
  readonly reads: Pick<ReturnType<typeof createPostgresReads>, 'events'>;
  /** The newest event there was when this server came. */
  readonly from: string;
  readonly isClosing: () => boolean;
};

/**
 * Events as all servers on one store keep them. Own ones are told by who kept them; this tells those of others in between,
 * each before a later own one settles.
 */
export const createTail = ({ reads, from, isClosing }: TailNeeds) => {
  let last = from;
  let hear: ((placed: readonly PlacedEvent[]) => void) | undefined;
  /** Tells what was kept after the last one that was told, up to one, or all of it. */
  const readOn = async (upTo: string | undefined): Promise<void> => {
    for (;;) {
      const page = await reads.events({ afterID: last, ...PAGE });
      const events = upTo === undefined ? page : page.filter(({ event }) => event.id <= upTo);
      if (events.length > 0) hear?.(events);
      last = events.at(-1)?.event.id ?? last;
      if (events.length < page.length || page.length === 0) return;
    }
  };
  /** What is not told now would be told after what came later. */
  const readOnForSure = async (upTo: string | undefined): Promise<void> => {
    while (!isClosing()) {
      try {
        return await readOn(upTo);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
      }
    }
  };
  return {
    listen(listener: (placed: readonly PlacedEvent[]) => void): void {
      hear = listener;
    },
    async onKept({
      after,
      placed,
    }: {
      readonly after: string;
      readonly placed: readonly PlacedEvent[];
    }): Promise<void> {
      if (after > last) await readOnForSure(after);
      last = placed.at(-1)?.event.id ?? last;
    },
    onLook: () => readOnForSure(undefined),
  };
};

export type PostgresStoreNeeds = {
  readonly link: PostgresLink;
  readonly ids: Ids;
  readonly newServerID: () => string;
  /** A server that was not heard of for so long is dead. */
  readonly aliveMs: number;
  /** Of events no more than this is kept, looked at whenever they are pruned (256 MiB). */
  readonly eventLimitBytes?: number;
  /** How long a commit waits for a database that is away (20 s). Then it fails. */
  readonly awayLimitMs?: number;
};

/** A store that other servers share, and what this one needs to know of them. */
export type SharedStore = {
  readonly store: Store;
  readonly seat: Seat;
  readonly tail: Pick<ReturnType<typeof createTail>, 'listen'>;
  /** Another server has kept something, it may be. */
  readonly look: () => void;
};

const EVENT_LIMIT_BYTES = 256 * 1024 * 1024;
const AWAY_LIMIT_MS = 20_000;
/** A table that has grown for long takes its time. */
const PRUNE_LIMIT_MS = 600_000;
/** How old what the database has of a growing part may be: other servers see no more of it. */
const GROWING_EVERY_MS = 250;

/**
 * A store in PostgreSQL, for several servers. What is committed is on the database's disk. While the database is away
 * commits wait, and questions fail with a `StoreUnavailable`.
 */
export const openPostgresStore = async ({
  link,
  ids,
  newServerID,
  aliveMs,
  eventLimitBytes: limitBytes = EVENT_LIMIT_BYTES,
  awayLimitMs: limitMs = AWAY_LIMIT_MS,
}: PostgresStoreNeeds): Promise<SharedStore> => {
  const seat = await takeSeat(link, { newID: newServerID, aliveMs });
  const growing = createGrowing(() => performance.now(), GROWING_EVERY_MS);
  const reads = createPostgresReads(link, growing.newest);
  let isClosed = false;
  const tail = createTail({ reads, from: (await reads.eventSpan()).newest, isClosing: link.isClosed });
  const queue = createCommitQueue({ link, seat, ids, limitMs, onKept: tail.onKept, onLook: tail.onLook });
  const open = <Given extends readonly unknown[], T>(work: (...given: Given) => Promise<T>) => {
    return async (...given: Given): Promise<T> => {
      if (isClosed) throw new Error('Cannot use the store: it is closed');
      return work(...given);
    };
  };
  const store: Store = {
    commit: open(async (changes, events, under) => {
      const spared = new Set(changes.filter(growing.isSpared));
      const placed = await queue.add({ changes, spared, events, under });
      growing.keep(changes, spared);
      return placed;
    }),
    session: open(reads.session),
    sessions: open(reads.sessions),
    sessionOutlines: open(reads.sessionOutlines),
    messages: open((sessionID, asked = {}) => reads.messages(sessionID, asked)),
    outline: open((sessionID, asked = {}) => reads.outline(sessionID, asked)),
    message: open(reads.message),
    output: open(reads.output),
    unfinished: open(reads.unfinished),
    events: open(reads.events),
    eventSpan: open(reads.eventSpan),
    pruneEvents: open((keep) => link.ask((sql) => prune(sql, { keep, limitBytes }), PRUNE_LIMIT_MS)),
    async close() {
      if (isClosed) return;
      // What grew last is not in the database yet.
      for (const part of growing.parts()) {
        queue
          .add({ changes: [{ kind: 'part', part }], spared: new Set(), events: [], under: undefined })
          .catch(() => {});
      }
      await queue.finish();
      isClosed = true;
      await seat.leave().catch(() => {});
      await link.close();
    },
  };
  return { store, seat, tail, look: queue.look };
};

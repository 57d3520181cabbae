import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Publisher } from '../events/publisher.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { Session } from '../protocol/types.ts';
import { StaleSessionError } from '../store/errors.ts';
import type { SessionOutline, Store, StoreChange } from '../store/store.ts';

/** How long sessions are kept. A family goes when either limit says so; without limits none does. */
export type RetentionLimits = {
  /** Families that were not updated for longer go. */
  readonly ageMs?: number | undefined;
  /** Families beyond so many go, the longest untouched first. */
  readonly count?: number | undefined;
};

/** A session that has no parent, with all below it. */
export type SessionFamily = {
  readonly rootID: string;
  /** The root comes first, and each after its parent. */
  readonly members: readonly SessionOutline[];
  /** When the latest of them was updated. */
  readonly updatedMs: number;
};

/** Sessions as families. One whose parent is gone is a root; parents that stand in a circle make no family. */
export const groupFamilies = (outlines: readonly SessionOutline[]): readonly SessionFamily[] => {
  const known = new Set(outlines.map(({ id }) => id));
  const isBelow = ({ parentID }: SessionOutline): boolean => parentID !== undefined && known.has(parentID);
  const children = Map.groupBy(outlines.filter(isBelow), ({ parentID }) => parentID);
  return outlines
    .filter((outline) => !isBelow(outline))
    .map((root): SessionFamily => {
      const members = [root];
      let updatedMs = root.updatedMs;
      // What is added on the way is walked through as well.
      for (const { id } of members) {
        for (const child of children.get(id) ?? []) {
          members.push(child);
          updatedMs = Math.max(updatedMs, child.updatedMs);
        }
      }
      return { rootID: root.id, members, updatedMs };
    });
};

const latestFirst = (left: SessionFamily, right: SessionFamily): number =>
  right.updatedMs - left.updatedMs || (left.rootID < right.rootID ? -1 : 1);

/** The families that have to go, the longest untouched first. Whether one is at work is not known here. */
export const expiredFamilies = (
  outlines: readonly SessionOutline[],
  now: number,
  { ageMs = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: RetentionLimits,
): readonly SessionFamily[] =>
  [...groupFamilies(outlines)]
    .sort(latestFirst)
    .filter(({ updatedMs }, place) => place >= count || now - updatedMs > ageMs)
    .reverse();

export type FamilyRemovalNeeds = {
  readonly store: Pick<Store, 'session' | 'sessions' | 'unfinished'>;
  /** Of a server its publisher's, so that whoever listens hears of it. */
  readonly publish: Publisher['publish'];
  /** Those of some sessions in which something runs or waits. */
  readonly busy: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
  readonly clock: Clock;
};

export type FamilyRemoval = {
  /** Whether something goes on in a family, was left unfinished there, or may have begun this moment. */
  readonly isBusy: (family: SessionFamily) => Promise<boolean>;
  /**
   * Removes a family as it was found. It answers false and leaves all of it when it is at work or has changed: so nobody who
   * comes in between is cut off, and of two who remove the same family only one does.
   */
  readonly remove: (family: SessionFamily) => Promise<boolean>;
};

/** A prompt that was taken shows in the session at once, and in an answer when the tool servers had their chance. */
const PROMPT_START_MS = 15_000;

/** The session, or nothing when it is not any more as it was found. */
const unchanged = (found: SessionOutline, session: Session | undefined): Session | undefined =>
  session?.time.updated === found.updatedMs && session.parentID === found.parentID ? session : undefined;

const familyMemberRemoval = (session: Session): readonly StoreChange[] => [
  // Whoever prompts a session changes it: then nothing of this is done.
  { kind: 'session', session, before: session },
  { kind: 'session-removed', sessionID: session.id },
];

export const createFamilyRemoval = ({ store, publish, busy, clock }: FamilyRemovalNeeds): FamilyRemoval => {
  const isAtWork = async ({ members, updatedMs }: SessionFamily): Promise<boolean> => {
    if (clock.now() - updatedMs < PROMPT_START_MS) return true;
    const ids = members.map(({ id }) => id);
    const unfinished = await store.unfinished();
    return unfinished.some(({ info }) => ids.includes(info.sessionID)) || (await busy(ids)).length > 0;
  };
  const hasOthers = async (members: readonly SessionOutline[]): Promise<boolean> => {
    const ids = new Set(members.map(({ id }) => id));
    for (const parentID of ids) {
      const children = await store.sessions({ parentID });
      if (children.some(({ id }) => !ids.has(id))) return true;
    }
    return false;
  };
  const held = async (members: readonly SessionOutline[]): Promise<readonly Session[]> => {
    const sessions: Session[] = [];
    for (const outline of members) {
      const session = unchanged(outline, await store.session(outline.id));
      if (session === undefined) return [];
      sessions.push(session);
    }
    return sessions;
  };
  return {
    isBusy: isAtWork,
    async remove(family) {
      const sessions = await held(family.members);
      const [root] = sessions;
      if (root === undefined || (await isAtWork(family)) || (await hasOthers(family.members))) return false;
      // Those at the bottom come first, as when a client deletes a session.
      const upwards = [...sessions].reverse();
      try {
        await publish(root.directory, {
          changes: upwards.flatMap(familyMemberRemoval),
          drafts: upwards.map((info) => ({ type: 'session.deleted', properties: { sessionID: info.id, info } })),
        });
        return true;
      } catch (error) {
        if (error instanceof StaleSessionError) return false;
        throw error;
      }
    },
  };
};

export type RetentionNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly chance: () => number;
  readonly store: Pick<Store, 'sessionOutlines'>;
  readonly removal: Pick<FamilyRemoval, 'remove'>;
  readonly limits: RetentionLimits;
  readonly metrics: Pick<AgentMetrics, 'sessionsRetired'>;
};

export type Retention = { readonly start: () => void; readonly stop: () => void };

/** Servers that are started together do not all look at the same time. */
const FIRST_ROUND_MS = 180_000;
const SPREAD_MS = 120_000;
const ROUND_MS = 3_600_000;
/** Whoever prompts meanwhile comes in between. */
const PAUSE_MS = 50;

const errorName = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/**
 * Removes what is older, or more, than the limits allow: a few minutes after `start`, and every hour from then on. A family
 * at work is left for the next time. Without limits it does nothing.
 */
export const createRetention = ({ clock, log, chance, store, removal, limits, metrics }: RetentionNeeds): Retention => {
  const ending = new AbortController();
  let cancel = (): void => {};
  const round = async (onRemoved: (sessions: number) => void): Promise<void> => {
    for (const family of expiredFamilies(await store.sessionOutlines(), clock.now(), limits)) {
      if (await removal.remove(family)) onRemoved(family.members.length);
      await pause(clock, PAUSE_MS, ending.signal);
    }
  };
  const look = async (): Promise<void> => {
    let count = 0;
    try {
      await round((sessions) => {
        count += sessions;
        metrics.sessionsRetired(sessions);
      });
    } catch (error) {
      if (!ending.signal.aborted) log('warn', 'retention-failed', { reason: errorName(error) });
    }
    if (count > 0) log('info', 'sessions-retired', { count });
    wait(ROUND_MS);
  };
  const wait = (ms: number): void => {
    if (!ending.signal.aborted) cancel = clock.after(ms, () => void look());
  };
  return {
    start() {
      if (limits.ageMs !== undefined || limits.count !== undefined) wait(FIRST_ROUND_MS + chance() * SPREAD_MS);
    },
    stop() {
      cancel();
      ending.abort(new Error('The server stops'));
    },
  };
};

export type PruneNeeds = {
  readonly clock: Clock;
  readonly store: Pick<Store, 'sessionOutlines'>;
  readonly removal: FamilyRemoval;
  readonly limits: RetentionLimits;
  /** Nothing is removed: what would be is only told. */
  readonly isDryRun: boolean;
};

export type PrunedFamily = { readonly family: SessionFamily; readonly isRemoved: boolean };

/** Lets a server on the same file get its turn. */
const BATCH_PAUSE_MS = 10;

/** Removes what the limits do not allow, and tells of each family whether it is gone. Those that are not are at work. */
export async function* pruneSessions({
  clock,
  store,
  removal,
  limits,
  isDryRun,
}: PruneNeeds): AsyncGenerator<PrunedFamily> {
  const { signal } = new AbortController();
  for (const family of expiredFamilies(await store.sessionOutlines(), clock.now(), limits)) {
    if (isDryRun) yield { family, isRemoved: !(await removal.isBusy(family)) };
    else {
      yield { family, isRemoved: await removal.remove(family) };
      await pause(clock, BATCH_PAUSE_MS, signal);
    }
  }
}

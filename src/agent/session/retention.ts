import { pause } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { Publisher } from '../events/publisher.ts';
import type { Session } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { StaleSessionError } from '../store/errors.ts';
import type { SessionOutline, Store, StoreChange } from '../store/store.ts';

/** How long sessions are stored. A family is removed when it exceeds either limit; without limits none is. */
export type RetentionLimits = {
  /** Families that were not updated for longer are removed. */
  readonly ageMs?: number | undefined;
  /** Families beyond this number are removed, those with the oldest updates first. */
  readonly count?: number | undefined;
};

/** A session without a parent, with all sessions below it. */
export type SessionFamily = {
  readonly rootID: string;
  /** The root comes first, and each after its parent. */
  readonly members: readonly SessionOutline[];
  /** When the latest of them was updated. */
  readonly updatedMs: number;
};

/** Groups sessions into families. One whose parent does not exist is a root; sessions in a parent circle are left out. */
export const groupFamilies = (outlines: readonly SessionOutline[]): readonly SessionFamily[] => {
  const known = new Set(outlines.map(({ id }) => id));
  const isBelow = ({ parentID }: SessionOutline): boolean => parentID !== undefined && known.has(parentID);
  const children = Map.groupBy(outlines.filter(isBelow), ({ parentID }) => parentID);
  return outlines
    .filter((outline) => !isBelow(outline))
    .map((root): SessionFamily => {
      const members = [root];
      let updatedMs = root.updatedMs;
      // The loop also visits members that it adds itself.
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

/** The families that exceed a limit, oldest update first. Some may be busy: that is checked before the removal. */
export const expiredFamilies = (
  outlines: readonly SessionOutline[],
  now: number,
  { ageMs = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: RetentionLimits,
): readonly SessionFamily[] =>
  [...groupFamilies(outlines)]
    .sort(latestFirst)
    .filter(({ updatedMs }, place) => place >= count || now - updatedMs > ageMs)
    .reverse();

/** What `createFamilyRemoval` works with. */
type FamilyRemovalNeeds = {
  readonly store: Pick<Store, 'session' | 'sessions' | 'unfinished' | 'owed'>;
  /** In a server that of its publisher, so that clients receive the events. */
  readonly publish: Publisher['publish'];
  /** Those of the given sessions in which something runs or waits. */
  readonly busy: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
  readonly clock: Clock;
};

/** Removes whole families of sessions. */
type FamilyRemoval = {
  /** Whether a run of the family is under way, waits, was left unfinished, or may have begun this moment. */
  readonly isBusy: (family: SessionFamily) => Promise<boolean>;
  /**
   * Removes a family as it was read. Returns false and removes nothing when it is busy or has changed: so a prompt that
   * comes in between is safe, and of two servers that remove the same family one succeeds.
   */
  readonly remove: (family: SessionFamily) => Promise<boolean>;
};

/** From a prompt to the beginning of its answer, which waits for tool servers. Only the session's update shows it. */
const PROMPT_START_MS = 15_000;

/** The session; undefined when it has changed since it was read. */
const unchanged = (found: SessionOutline, session: Session | undefined): Session | undefined =>
  session?.time.updated === found.updatedMs && session.parentID === found.parentID ? session : undefined;

const familyMemberRemoval = (session: Session): readonly StoreChange[] => [
  // A prompt changes its session: then the commit fails, and nothing is removed.
  { kind: 'session', session, before: session },
  { kind: 'session-removed', sessionID: session.id },
];

/** The removal of families from one store. */
export const createFamilyRemoval = ({ store, publish, busy, clock }: FamilyRemovalNeeds): FamilyRemoval => {
  const isAtWork = async ({ members, updatedMs }: SessionFamily): Promise<boolean> => {
    if (clock.now() - updatedMs < PROMPT_START_MS) return true;
    const ids = members.map(({ id }) => id);
    const unfinished = (await store.unfinished()).map(({ info }) => info.sessionID);
    const owed = (await store.owed()).map(({ sessionID }) => sessionID);
    return [...unfinished, ...owed].some((id) => ids.includes(id)) || (await busy(ids)).length > 0;
  };
  const hasOthers = async (members: readonly SessionOutline[]): Promise<boolean> => {
    const ids = new Set(members.map(({ id }) => id));
    for (const parentID of ids) {
      const children = await store.sessions({ parentID });
      if (children.some(({ id }) => !ids.has(id))) return true;
    }
    return false;
  };
  const readUnchanged = async (members: readonly SessionOutline[]): Promise<readonly Session[]> => {
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
      const sessions = await readUnchanged(family.members);
      const [root] = sessions;
      if (root === undefined || (await isAtWork(family)) || (await hasOthers(family.members))) return false;
      // Children before parents, as when a client deletes a session.
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

/** What `createRetention` works with. */
type RetentionNeeds = AgentRuntime & {
  readonly removal: Pick<FamilyRemoval, 'remove'>;
  readonly limits: RetentionLimits;
};

/** Removes expired sessions between `start` and `stop`. */
type Retention = { readonly start: () => void; readonly stop: () => void };

/** Servers that are started together do not all begin at the same time. */
const FIRST_ROUND_MS = 180_000;
const SPREAD_MS = 120_000;
const ROUND_MS = 3_600_000;
/** A pause for prompts between two removals. */
const PAUSE_MS = 50;

const errorName = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/**
 * Removes families that exceed a limit: a few minutes after `start`, and every hour from then on. A busy family is left for
 * the next round. Without limits it does nothing.
 */
export const createRetention = ({ clock, log, chance, store, removal, limits, metrics }: RetentionNeeds): Retention => {
  const ending = new AbortController();
  let cancel = (): void => {};
  const removeExpired = async (onRemoved: (sessions: number) => void): Promise<void> => {
    for (const family of expiredFamilies(await store.sessionOutlines(), clock.now(), limits)) {
      if (await removal.remove(family)) onRemoved(family.members.length);
      await pause(clock, PAUSE_MS, ending.signal);
    }
  };
  const runRound = async (): Promise<void> => {
    let count = 0;
    try {
      await removeExpired((sessions) => {
        count += sessions;
        metrics.sessionsRetired(sessions);
      });
    } catch (error) {
      if (!ending.signal.aborted) log('warn', 'retention-failed', { reason: errorName(error) });
    }
    if (count > 0) log('info', 'sessions-retired', { count });
    schedule(ROUND_MS);
  };
  const schedule = (ms: number): void => {
    if (!ending.signal.aborted) cancel = clock.after(ms, () => void runRound());
  };
  return {
    start() {
      if (limits.ageMs !== undefined || limits.count !== undefined) schedule(FIRST_ROUND_MS + chance() * SPREAD_MS);
    },
    stop() {
      cancel();
      ending.abort(new Error('The server stops'));
    },
  };
};

/** What `pruneSessions` works with. */
export type PruneNeeds = {
  readonly clock: Clock;
  readonly store: Pick<Store, 'sessionOutlines'>;
  readonly removal: FamilyRemoval;
  readonly limits: RetentionLimits;
  /** Removes nothing, and returns what would be removed. */
  readonly isDryRun: boolean;
};

/** A family that exceeds a limit, and whether it was removed. */
type PrunedFamily = { readonly family: SessionFamily; readonly isRemoved: boolean };

/** A pause for a server that writes to the same SQLite file. */
const BATCH_PAUSE_MS = 10;

/** Removes families that exceed a limit, one after the other. Those that are not removed are busy. */
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

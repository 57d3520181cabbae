import type { Clock } from '../../core/clock.ts';
import type { Publisher } from '../events/publisher.ts';
import type { Family } from '../retention.ts';
import type { Session } from '../session.ts';
import { StaleError } from '../stale-error.ts';
import type { Change, SessionOutline, Store } from '../store/store.ts';

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
  readonly isAtWork: (family: Family) => Promise<boolean>;
  /**
   * Removes a family as it was found. It answers false and leaves all of it when it is at work or has changed: so nobody who
   * comes in between is cut off, and of two who remove the same family only one does.
   */
  readonly remove: (family: Family) => Promise<boolean>;
};

/** A prompt that was taken shows in the session at once, and in an answer when the tool servers had their chance. */
const BEGINNING_MS = 15_000;

/** The session, or nothing when it is not any more as it was found. */
const unchanged = (found: SessionOutline, session: Session | undefined): Session | undefined =>
  session?.time.updated === found.updatedMs && session.parentID === found.parentID ? session : undefined;

const removal = (session: Session): readonly Change[] => [
  // Whoever prompts a session changes it: then nothing of this is done.
  { kind: 'session', session, before: session },
  { kind: 'session-removed', sessionID: session.id },
];

export const createFamilyRemoval = ({ store, publish, busy, clock }: FamilyRemovalNeeds): FamilyRemoval => {
  const isAtWork = async ({ members, updatedMs }: Family): Promise<boolean> => {
    if (clock.now() - updatedMs < BEGINNING_MS) return true;
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
    isAtWork,
    async remove(family) {
      const sessions = await held(family.members);
      const [root] = sessions;
      if (root === undefined || (await isAtWork(family)) || (await hasOthers(family.members))) return false;
      // Those at the bottom come first, as when a client deletes a session.
      const upwards = [...sessions].reverse();
      try {
        await publish(root.directory, {
          changes: upwards.flatMap(removal),
          drafts: upwards.map((info) => ({ type: 'session.deleted', properties: { sessionID: info.id, info } })),
        });
        return true;
      } catch (error) {
        if (error instanceof StaleError) return false;
        throw error;
      }
    },
  };
};

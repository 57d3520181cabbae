import { isNotFound } from '../../core/fault.ts';
import type { Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import type { SessionParts } from './sessions.ts';

/** Aborts what runs in a session and its child sessions, and allows nothing to begin there. Returns their ids, children first. */
const closeFamily = async (parts: SessionParts, id: string): Promise<readonly string[]> => {
  await parts.runs.close(id);
  // Read after nothing in it can create further children.
  const children = await parts.store.sessions({ parentID: id });
  const below = await Promise.all(children.map((child) => closeFamily(parts, child.id)));
  return [...below.flat(), id];
};

/** Aborts what runs in a session and those below it, and removes them. */
export const deleteFamily = async (parts: SessionParts, id: string): Promise<void> => {
  const family = await closeFamily(parts, id);
  try {
    for (const one of family) {
      await parts.sessions.remove(one).catch((error: unknown) => {
        // Another client may have removed it meanwhile.
        if (!isNotFound(error)) throw error;
      });
    }
  } finally {
    // They are removed, or else an error kept them: then prompts may run again.
    for (const one of family) parts.runs.open(one);
  }
};

/** Sessions above one: tasks may have tasks of their own, and a parent circle in the store does not loop here. */
const LEVELS = 20;

/** The sessions of these ids and those above them, by id: one read for each level. */
export const readAncestors = async (
  { sessionsByID }: Pick<Store, 'sessionsByID'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Session>> => {
  const known = new Map<string, Session>();
  let wanted = new Set(ids);
  for (let level = 0; level <= LEVELS && wanted.size > 0; level++) {
    const found = await sessionsByID([...wanted]);
    for (const session of found) known.set(session.id, session);
    const above = found.flatMap(({ parentID }) => (parentID === undefined ? [] : [parentID]));
    wanted = new Set(above.filter((id) => !known.has(id)));
  }
  return known;
};

/** The highest one above a session. */
export const topSession = (session: Session, known: ReadonlyMap<string, Session>): Session => {
  let top = session;
  for (let level = 0; level < LEVELS; level++) {
    const above = top.parentID === undefined ? undefined : known.get(top.parentID);
    if (above === undefined) break;
    top = above;
  }
  return top;
};

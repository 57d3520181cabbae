import type { Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';

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

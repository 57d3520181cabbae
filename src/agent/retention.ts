import type { SessionOutline } from './store/store.ts';

/** How long sessions are kept. A family goes when either limit says so; without limits none does. */
export type RetentionLimits = {
  /** Families that were not updated for longer go. */
  readonly ageMs?: number | undefined;
  /** Families beyond so many go, the longest untouched first. */
  readonly count?: number | undefined;
};

/** A session that has no parent, with all below it. */
export type Family = {
  readonly rootID: string;
  /** The root comes first, and each after its parent. */
  readonly members: readonly SessionOutline[];
  /** When the latest of them was updated. */
  readonly updatedMs: number;
};

/** Sessions as families. One whose parent is gone is a root; parents that stand in a circle make no family. */
export const familiesOf = (outlines: readonly SessionOutline[]): readonly Family[] => {
  const known = new Set(outlines.map(({ id }) => id));
  const isBelow = ({ parentID }: SessionOutline): boolean => parentID !== undefined && known.has(parentID);
  const children = Map.groupBy(outlines.filter(isBelow), ({ parentID }) => parentID);
  return outlines
    .filter((outline) => !isBelow(outline))
    .map((root): Family => {
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

const latestFirst = (left: Family, right: Family): number =>
  right.updatedMs - left.updatedMs || (left.rootID < right.rootID ? -1 : 1);

/** The families that have to go, the longest untouched first. Whether one is at work is not known here. */
export const familiesToGo = (
  outlines: readonly SessionOutline[],
  now: number,
  { ageMs = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }: RetentionLimits,
): readonly Family[] =>
  [...familiesOf(outlines)]
    .sort(latestFirst)
    .filter(({ updatedMs }, place) => place >= count || now - updatedMs > ageMs)
    .reverse();

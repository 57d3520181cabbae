import type { Part } from '../agent/part.ts';
import type { Change } from '../agent/store.ts';

/** How old what the disk has of a growing part may be. */
const WRITE_EVERY_MS = 1000;

type Growing = { readonly part: Part; readonly writtenMs: number };

/**
 * Parts that still grow, each as it is now: a part is told in dozens of pieces a second, and the disk is spared most of
 * them. Asks for the time and holds no timer; the piece that ends a part writes it.
 */
export const createGrowing = (nowMs: () => number) => {
  const growing = new Map<string, Growing>();
  const forget = (sessionID: string): void => {
    for (const [id, { part }] of growing) if (part.sessionID === sessionID) growing.delete(id);
  };
  const isRested = ({ id }: Part): boolean => {
    const held = growing.get(id);
    return held !== undefined && nowMs() - held.writtenMs < WRITE_EVERY_MS;
  };
  return {
    /** Whether the disk is spared a change for now. */
    isSpared: (change: Change): boolean => change.kind === 'part' && change.isGrowing === true && isRested(change.part),
    /** Remembers what was committed, all but the spared ones on the disk. */
    keep(changes: readonly Change[], spared: ReadonlySet<Change>): void {
      for (const change of changes) {
        if (change.kind === 'session-removed') forget(change.sessionID);
        if (change.kind === 'session-begun') forget(change.session.id);
        if (change.kind !== 'part') continue;
        const { part, isGrowing } = change;
        const writtenMs = spared.has(change) ? growing.get(part.id)?.writtenMs : nowMs();
        if (isGrowing === true && writtenMs !== undefined) growing.set(part.id, { part, writtenMs });
        else growing.delete(part.id);
      }
    },
    /** The part as it is now, given what the disk has of it. */
    newest: (part: Part): Part => growing.get(part.id)?.part ?? part,
    /** All of them, as they are now. */
    parts: (): readonly Part[] => [...growing.values()].map(({ part }) => part),
  };
};

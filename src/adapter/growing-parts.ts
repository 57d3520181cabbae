import type { Part } from '../agent/protocol/types.ts';
import type { Change } from '../agent/store/store.ts';

type Growing = { readonly part: Part; readonly writtenMs: number };

/** The parts that a change takes away, if it takes any. */
const goneWith = (change: Change): ((part: Part) => boolean) | undefined => {
  switch (change.kind) {
    case 'session-removed':
      return (part) => part.sessionID === change.sessionID;
    case 'session-begun':
      return (part) => part.sessionID === change.session.id;
    case 'messages-removed':
      return (part) => part.sessionID === change.sessionID && change.messageIDs.includes(part.messageID);
    case 'parts-removed':
      return (part) => part.sessionID === change.sessionID && change.partIDs.includes(part.id);
    default:
      return undefined;
  }
};

/**
 * Parts that still grow, each as it is now: a part is told in dozens of pieces a second, and the disk is spared most of
 * them: what it has of one is at most `everyMs` old. Asks for the time and holds no timer; the piece that ends a part writes
 * it.
 */
export const createGrowing = (nowMs: () => number, everyMs: number) => {
  const growing = new Map<string, Growing>();
  const forget = (isGone: (part: Part) => boolean): void => {
    for (const [id, { part }] of growing) if (isGone(part)) growing.delete(id);
  };
  const isRested = ({ id }: Part): boolean => {
    const held = growing.get(id);
    return held !== undefined && nowMs() - held.writtenMs < everyMs;
  };
  return {
    /** Whether the disk is spared a change for now. */
    isSpared: (change: Change): boolean => change.kind === 'part' && change.isGrowing === true && isRested(change.part),
    /** Remembers what was committed, all but the spared ones on the disk. */
    keep(changes: readonly Change[], spared: ReadonlySet<Change>): void {
      for (const change of changes) {
        const isGone = goneWith(change);
        if (isGone !== undefined) forget(isGone);
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

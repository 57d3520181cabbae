import type { EventDraft } from '../agent/protocol/events.ts';
import type { Message, Part, Session } from '../agent/protocol/types.ts';
import type { Change } from '../agent/store/store.ts';

/** A row of a store, whatever database it is in. */
export type Row = Readonly<Record<string, unknown>>;

/** A text of a row. */
export const textIn = (row: Row | undefined, column: string): string => {
  const text = row?.[column];
  if (typeof text !== 'string') throw new Error(`Cannot read a row of the store: ${column} is no text`);
  return text;
};

/** What this store has written is believed; what cannot be read is named without being quoted. */
const parsed = (row: Row, column: string) => {
  try {
    return JSON.parse(textIn(row, column));
  } catch {
    throw new Error(`Cannot read a row of the store: ${column} is not what was written`);
  }
};

export const sessionIn = (row: Row): Session => parsed(row, 'data');
export const messageIn = (row: Row): Message => parsed(row, 'data');
/** A part under the name that a question gives it. */
export const partIn = (row: Row, column: string): Part => parsed(row, column);
export const outputIn = (row: Row): string => parsed(row, 'data');
export const draftIn = (row: Row): EventDraft => parsed(row, 'data');
export const directoryIn = (row: Row): string => parsed(row, 'directory');

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

import type { Message } from '../agent/message.ts';
import type { EventDraft } from '../agent/protocol/events.ts';
import type { Part } from '../agent/protocol/types.ts';
import type { Session } from '../agent/session.ts';

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

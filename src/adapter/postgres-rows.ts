import type { EventDraft } from '../agent/event.ts';
import type { Message } from '../agent/message.ts';
import type { Part } from '../agent/part.ts';
import type { Session } from '../agent/session.ts';
import type { PlacedEvent, SessionOutline } from '../agent/store.ts';

/** A row as the driver gives it: every column is a text here. */
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

export const sessionOutlineIn = (row: Row): SessionOutline => ({
  id: textIn(row, 'id'),
  ...(row.parent_id === null ? {} : { parentID: textIn(row, 'parent_id') }),
  updatedMs: Number(textIn(row, 'updated')),
});
export const sessionIn = (row: Row): Session => parsed(row, 'data');
export const messageIn = (row: Row): Message => parsed(row, 'data');
export const partIn = (row: Row): Part => parsed(row, 'part');
export const outputIn = (row: Row): string => parsed(row, 'data');
export const eventIn = (row: Row): PlacedEvent => {
  const draft: EventDraft = parsed(row, 'data');
  return { directory: parsed(row, 'directory'), event: { ...draft, id: textIn(row, 'id') } };
};

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { EventDraft } from '../agent/event.ts';
import type { Message } from '../agent/message.ts';
import type { Part } from '../agent/part.ts';
import type { Session } from '../agent/session.ts';
import type { SessionOutline } from '../agent/store.ts';

type Row = Readonly<Record<string, unknown>>;

/** Statements of one database, each prepared once. */
export type Statements = (sql: string) => StatementSync;

export const createStatements = (database: DatabaseSync): Statements => {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
};

/** A text of a row. */
export const textIn = (row: Row, column: string): string => {
  const text = row[column];
  if (typeof text !== 'string') throw new Error(`Cannot read a row of the store: ${column} is no text`);
  return text;
};

/** A number of a row. */
export const numberIn = (row: Row, column: string): number => {
  const number = row[column];
  if (typeof number !== 'number') throw new Error(`Cannot read a row of the store: ${column} is no number`);
  return number;
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
  updatedMs: numberIn(row, 'updated'),
});
export const sessionIn = (row: Row): Session => parsed(row, 'data');
export const messageIn = (row: Row): Message => parsed(row, 'data');
export const partIn = (row: Row): Part => parsed(row, 'data');
export const outputIn = (row: Row): string => parsed(row, 'data');
export const draftIn = (row: Row): EventDraft => parsed(row, 'data');
export const directoryIn = (row: Row): string => parsed(row, 'directory');

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { SessionOutline } from '../agent/store/store.ts';
import { type Row, textIn } from './stored-rows.ts';

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

/** A number of a row. */
export const numberIn = (row: Row, column: string): number => {
  const number = row[column];
  if (typeof number !== 'number') throw new Error(`Cannot read a row of the store: ${column} is no number`);
  return number;
};

export const sessionOutlineIn = (row: Row): SessionOutline => ({
  id: textIn(row, 'id'),
  ...(row.parent_id === null ? {} : { parentID: textIn(row, 'parent_id') }),
  updatedMs: numberIn(row, 'updated'),
});

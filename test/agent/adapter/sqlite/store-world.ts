import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import type { DirectoryEvent } from '../../../../src/agent/store/store.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { rejection } from '../../../check.ts';
import { idsFrom, reported, sessionOf } from '../../store/samples.ts';

export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'store-'));

/** Runs `body` with the path of a database in a directory of its own, which is gone afterwards. */
export const inDirectory = async (body: (file: string) => Promise<void>): Promise<void> => {
  const directory = newDirectory();
  try {
    await body(join(directory, 'agent.db'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

export const openAt = (file: string, start?: number) => openSqliteStore({ file, ids: idsFrom(start) });

export const inDatabase = <T>(file: string, body: (database: DatabaseSync) => T): T => {
  const database = new DatabaseSync(file);
  try {
    return body(database);
  } finally {
    database.close();
  }
};

export const makeStore = async (file: string): Promise<void> => {
  const store = await openAt(file);
  await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], [reported('first')]);
  await store.close();
};

/** The one problem that opening the file ends with. */
export const problemAt = async (file: string): Promise<string> => {
  const error = await rejection(openAt(file));
  assert.instance(error, ConfigError);
  const { problems } = error as ConfigError;
  assert.is(problems.length, 1);
  assert.not.match(problems.join(), /tmp|agent\.db/);
  return problems[0] ?? '';
};

export const deltasOf = (events: readonly DirectoryEvent[]): string[] =>
  events.map(({ event }) => (event.type === 'message.part.delta' ? event.properties.delta : ''));

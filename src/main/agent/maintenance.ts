import { resolve } from 'node:path';
import { systemClock } from '../../adapter/node/clock.ts';
import { openSqliteReader } from '../../agent/adapter/sqlite/reader.ts';
import { createPublisher } from '../../agent/events/publisher.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import { formatListRow, formatTime, LIST_HEADER, listSessions, type SessionReader } from '../../agent/session/list.ts';
import { createFamilyRemoval, type PruneNeeds, pruneSessions } from '../../agent/session/retention.ts';

import type { Database } from '../../agent/settings.ts';
import { openStoreForCommand } from './store.ts';
import type { AgentTask } from './task.ts';

type TaskOf<Kind extends AgentTask['kind']> = Extract<AgentTask, { readonly kind: Kind }>;
type Print = (line: string) => Promise<void>;

/** Opens a store read-only, next to the servers that use it. */
export const openReader = async (database: Database): Promise<SessionReader> => {
  if (database.kind === 'sqlite') return openSqliteReader(resolve(database.path));
  const { openPostgresReader } = await import('../../agent/adapter/postgres/reader.ts');
  return openPostgresReader({ url: database.url });
};

/** Prints the newest sessions of a store, one per line. */
export const runSessions = async (database: Database, { limit, isJson }: TaskOf<'sessions'>, print: Print) => {
  const reader = await openReader(database);
  try {
    if (!isJson) await print(LIST_HEADER);
    for await (const session of listSessions(reader, limit)) {
      await print(isJson ? JSON.stringify(session) : formatListRow(session));
    }
  } finally {
    await reader.close();
  }
};

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** The file of a store, or its address without user, password and parameters, which may be secrets. */
export const storeName = (database: Database): string =>
  database.kind === 'sqlite'
    ? resolve(database.path)
    : database.url.replace(/^(\w+:\/\/)(?:[^/]*@)?([^/]*\/[^?#]*).*$/s, '$1$2');

const printPruned = async (storeText: string, needs: PruneNeeds, print: Print): Promise<void> => {
  const word = needs.isDryRun ? 'would remove' : 'removed';
  let [families, sessions, left] = [0, 0, 0];
  for await (const { family, isRemoved } of pruneSessions(needs)) {
    const { rootID, members, updatedMs } = family;
    const about = `${rootID}  ${formatTime(updatedMs)}  ${counted(members.length, 'session', 'sessions')}`;
    await print(`${isRemoved ? word : 'kept, in use'}  ${about}`);
    if (!isRemoved) left += 1;
    else {
      families += 1;
      sessions += members.length;
    }
  }
  const sum = `${counted(sessions, 'session', 'sessions')} in ${counted(families, 'family', 'families')}`;
  await print(`${word} ${sum} from ${storeText}, kept ${left} that are in use`);
};

/** Removes sessions beyond the limits, and prints the outcome for each family. */
export const runPrune = async (
  database: Database,
  { task, ids, print }: { readonly task: TaskOf<'prune'>; readonly ids: Ids; readonly print: Print },
): Promise<void> => {
  const { limits, isDryRun } = task;
  const name = storeName(database);
  const clock = systemClock;
  // The reader refuses a database that no server has used, so a typing error in the address creates no database.
  const reader = await openReader(database);
  try {
    const { busy } = reader;
    const none = async () => [];
    if (isDryRun) {
      const removal = createFamilyRemoval({ store: reader, publish: none, busy, clock });
      return await printPruned(name, { clock, store: reader, removal, limits, isDryRun }, print);
    }
    const { store, close } = await openStoreForCommand(database, { ids });
    try {
      const removal = createFamilyRemoval({ store, publish: createPublisher(store).publish, busy, clock });
      await printPruned(name, { clock, store, removal, limits, isDryRun }, print);
    } finally {
      await close();
    }
  } finally {
    await reader.close();
  }
};

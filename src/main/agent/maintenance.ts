import { resolve } from 'node:path';
import { systemClock } from '../../adapter/node/clock.ts';
import { openSqliteReader } from '../../adapter/sqlite/reader.ts';
import { createPublisher } from '../../agent/events/publisher.ts';
import type { Ids } from '../../agent/protocol/ids.ts';
import { formatListRow, formatTime, LIST_HEADER, listSessions, type SessionReader } from '../../agent/session/list.ts';
import { createFamilyRemoval, type PruneNeeds, pruneSessions } from '../../agent/session/retention.ts';

import type { Database } from '../../agent/settings.ts';
import type { AgentTask } from './messages.ts';
import { openStoreBeside } from './store.ts';

type TaskOf<Kind extends AgentTask['kind']> = Extract<AgentTask, { readonly kind: Kind }>;
type Print = (line: string) => Promise<void>;

/** Opens a store for reading alone, beside the servers that work on it. */
export const openReader = async (place: Database): Promise<SessionReader> => {
  if (place.kind === 'sqlite') return openSqliteReader(resolve(place.path));
  const { openPostgresReader } = await import('../../adapter/postgres/reader.ts');
  return openPostgresReader({ url: place.url });
};

/** Prints the newest sessions of a store, a line for each. */
export const runSessions = async (place: Database, { limit, isJson }: TaskOf<'sessions'>, print: Print) => {
  const reader = await openReader(place);
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

const tellPruned = async (needs: PruneNeeds, print: Print): Promise<void> => {
  const word = needs.isDryRun ? 'would remove' : 'removed';
  let [families, sessions, left] = [0, 0, 0];
  for await (const { family, isRemoved } of pruneSessions(needs)) {
    const { rootID, members, updatedMs } = family;
    const about = `${rootID}  ${formatTime(updatedMs)}  ${counted(members.length, 'session', 'sessions')}`;
    await print(`${isRemoved ? word : 'left, at work'}  ${about}`);
    if (!isRemoved) left += 1;
    else {
      families += 1;
      sessions += members.length;
    }
  }
  const sum = `${counted(sessions, 'session', 'sessions')} in ${counted(families, 'family', 'families')}`;
  await print(`${word} ${sum}, left ${left} at work`);
};

/** Removes sessions that the limits do not allow, and prints what became of each family. */
export const runPrune = async (
  place: Database,
  { task, ids, print }: { readonly task: TaskOf<'prune'>; readonly ids: Ids; readonly print: Print },
): Promise<void> => {
  const { limits, isDryRun } = task;
  const clock = systemClock;
  // It also refuses what no server has used: a slip in the address makes no database.
  const reader = await openReader(place);
  try {
    const { busy } = reader;
    const none = async () => [];
    if (isDryRun) {
      const removal = createFamilyRemoval({ store: reader, publish: none, busy, clock });
      return await tellPruned({ clock, store: reader, removal, limits, isDryRun }, print);
    }
    const { store, close } = await openStoreBeside(place, { ids });
    try {
      const removal = createFamilyRemoval({ store, publish: createPublisher(store).publish, busy, clock });
      await tellPruned({ clock, store, removal, limits, isDryRun }, print);
    } finally {
      await close();
    }
  } finally {
    await reader.close();
  }
};

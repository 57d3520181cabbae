import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import type { Check } from '../../check.ts';
import { killAll, type LanePlace } from './kills.ts';
import { type AgentWorld, inAgentWorld } from './world.ts';

const LANES = 4;
/** The database as the dead process has left it, looked at in a copy: the next process is to find the original. */
const assertSound = (directory: string, name: string, when: string): void => {
  const copies = join(directory, `copy-${name}`);
  mkdirSync(copies, { recursive: true });
  for (const ending of ['', '-wal']) {
    const file = join(directory, `${name}.db${ending}`);
    if (existsSync(file)) copyFileSync(file, join(copies, `agent.db${ending}`));
  }
  const database = new DatabaseSync(join(copies, 'agent.db'));
  assert.equal({ ...database.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' }, when);
  assert.equal(database.prepare('PRAGMA foreign_key_check').all(), [], when);
  database.close();
  rmSync(copies, { recursive: true });
};

const placeOf = ({ directory }: AgentWorld, name: string): LanePlace => ({
  variables: { AGENT_DATABASE_URL: `sqlite:${join(directory, `${name}.db`)}` },
  assertSound: (when) => assertSound(directory, name, when),
  // A file has one server: what the dead one had is this one's at once.
  untilTakenOver: async () => {},
});

/** Kills the agent bundle over a SQLite file so many times, at any moment. */
export const checkKills = (check: Check, kills: number): void =>
  check(
    `${kills} times at any moment loses nothing that was acknowledged, and leaves nothing undone behind`,
    inAgentWorld((world) => killAll(world, { kills, lanes: Math.min(Math.ceil(kills / 4), LANES), placeOf })),
  );

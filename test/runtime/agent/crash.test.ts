import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { assertAnswers, CONFIG, killAll, type LanePlace, script } from './kills.ts';
import { type AgentWorld, inAgentWorld, messagesOf, newSession, questionsOf, textPrompt, until } from './world.ts';

const KILLS = 200;
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

describe('killing the agent bundle', (check) => {
  check(
    `${KILLS} times at any moment loses nothing that was acknowledged, and leaves nothing undone behind`,
    inAgentWorld((world) => killAll(world, { kills: KILLS, lanes: LANES, placeOf })),
  );

  check(
    'while a person is asked takes the question away, and says of the call that it was not made',
    inAgentWorld(async (world) => {
      script(world);
      const first = await world.start({ config: CONFIG });
      const { id } = await newSession(first);
      await first.ask('POST', `/session/${id}/prompt_async`, textPrompt('please ask'));
      await until('somebody is asked', async () => (await questionsOf(first)).length === 1);
      await first.kill();
      const second = await world.start({ config: CONFIG });
      assert.equal(await questionsOf(second), []);
      const [, { info, parts } = { info: undefined, parts: [] }] = await messagesOf(second, id);
      assert.equal(info?.role === 'assistant' && info.error?.name, 'MessageAbortedError');
      const call = parts.find((part) => part.type === 'tool');
      assert.match(JSON.stringify(call), 'stopped before this call was made, so it was not made');
      await assertAnswers(second, id, 'after it');
    }),
  );
});

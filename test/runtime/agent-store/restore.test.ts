import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as assert from 'uvu/assert';
import { answer } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { read } from '../../docs/pages.ts';
import type { AgentProcess } from '../agent/process.ts';
import {
  type AgentWorld,
  inAgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  textPrompt,
  until,
} from '../agent/world.ts';
import { ROOT, run } from '../processes.ts';

const STORE = { variables: { AGENT_DATABASE_URL: 'sqlite:./data/agent.db' } };

/** The one shell block of the page that holds these words, as somebody would paste it. */
const blockWith = (words: string): string => {
  const blocks = [...read('docs/agent-server.md').matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(
    ([, text = '']) => text,
  );
  const [block = '', ...others] = blocks.filter((text) => text.includes(words));
  if (block === '' || others.length > 0) throw new Error(`not one block with ${words}`);
  return block.replace(/^ +/gm, '');
};
/** Runs what the page says where the server runs. */
const pasted = async ({ directory }: AgentWorld, block: string): Promise<void> => {
  const { code, stderr } = await run('sh', ['-euc', block], { directory });
  assert.is(code, 0, stderr);
};
const backUp = (world: AgentWorld) => pasted(world, blockWith('VACUUM INTO'));
const restore = (world: AgentWorld) => pasted(world, blockWith('cp copy.db data/agent.db'));

const textIn = async (agent: AgentProcess, id: string): Promise<readonly string[]> =>
  (await messagesOf(agent, id)).map(({ parts }) => promptTexts(parts));
const lastErrorIn = async (agent: AgentProcess, id: string): Promise<string | undefined> => {
  const info = (await messagesOf(agent, id)).at(-1)?.info;
  return info?.role === 'assistant' ? info.error?.name : undefined;
};

/** Whether SQLite finds no fault in a file. */
const isIntact = (file: string): boolean => {
  const database = new DatabaseSync(file);
  try {
    return database.prepare('PRAGMA integrity_check').get()?.integrity_check === 'ok';
  } catch {
    return false;
  } finally {
    database.close();
  }
};

describe('a store that is restored', (check) => {
  check(
    'from a copy that was made beside a running server has the whole conversation until then',
    inAgentWorld(async (world) => {
      world.model.alwaysReply('A title');
      world.model.alwaysReply('I hear you', isNoTitle);
      const first = await world.start(STORE);
      const kept = await newSession(first);
      await prompt(first, kept.id, 'before the copy');
      await backUp(world);
      assert.is(statSync(join(world.directory, 'copy.db')).mode & 0o777, 0o600);
      await prompt(first, kept.id, 'after the copy');
      const lost = await newSession(first);
      const listener = await first.listen();
      await prompt(first, lost.id, 'in a session of its own');
      const last = listener.seen().findLast(({ id }) => id !== undefined)?.id ?? '';
      await first.kill();
      assert.ok(existsSync(join(world.directory, 'data/agent.db-wal')), 'a killed server leaves its log behind');

      await restore(world);
      assert.not.ok(existsSync(join(world.directory, 'data/agent.db-wal')));
      const second = await world.start(STORE);
      assert.equal(await textIn(second, kept.id), ['before the copy', 'I hear you']);
      assert.is((await second.ask('GET', `/session/${lost.id}`)).status, 404);
      assert.is(statSync(join(world.directory, 'data/agent.db')).mode & 0o777, 0o600);
      // Who comes back with what was told after the copy hears that something is gone.
      const again = await second.listen('/event', { 'last-event-id': last });
      await again.until('what was lost', ({ type }) => type === 'server.events.lost');
      again.leave();
      assert.is((await prompt(second, kept.id, 'and it goes on')).info.finish, 'stop');
      // One session more out of the copy, into the store of the server that goes on.
      await second.ask('DELETE', `/session/${kept.id}`);
      const block = blockWith('agent export $SESSION > session.jsonl').replaceAll('dist/', `${ROOT}/dist/`);
      const one = block.split('\n').filter((line) => line.includes('gatehouse.js agent'));
      await pasted(world, `SESSION=${kept.id}\n${one.join('\n')}`);
      assert.equal(await textIn(second, kept.id), ['before the copy', 'I hear you']);
      assert.is((await second.signal('SIGTERM')).code, 0);
    }),
  );

  check.thorough(
    'from a copy that was made in the middle of an answer ends that answer as aborted',
    inAgentWorld(async (world) => {
      world.model.addReply(answer([{ kind: 'text', text: 'I begin' }, { kind: 'hang' }]), isNoTitle);
      const first = await world.start(STORE);
      const { id } = await newSession(first);
      await first.ask('POST', `/session/${id}/prompt_async`, textPrompt('hello'));
      await until('the model speaks', async () => (await textIn(first, id)).includes('I begin'));
      await backUp(world);
      await first.kill();
      await restore(world);
      const second = await world.start(STORE);
      assert.is(await lastErrorIn(second, id), 'MessageAbortedError');
      await second.kill();
    }),
  );

  check.thorough(
    'from the files of a killed server needs the log beside the database',
    inAgentWorld(async (world) => {
      world.model.alwaysReply('I hear you');
      const first = await world.start(STORE);
      const data = join(world.directory, 'data');
      // On a slow disk a commit is followed by a checkpoint, which cannot go beyond what somebody reads.
      const reader = new DatabaseSync(join(data, 'agent.db'));
      reader.exec('BEGIN; SELECT count(*) FROM session');
      const { id } = await newSession(first);
      await prompt(first, id, 'the newest words');
      await first.kill();
      const other = join(world.directory, 'other');
      mkdirSync(other);
      for (const name of ['agent.db', 'agent.db-wal']) copyFileSync(join(data, name), join(other, name));
      const whole = await world.start({ variables: { AGENT_DATABASE_URL: 'sqlite:./other/agent.db' } });
      assert.equal(await textIn(whole, id), ['the newest words', 'I hear you']);
      await whole.kill();

      const half = join(world.directory, 'half.db');
      copyFileSync(join(data, 'agent.db'), half);
      reader.close();
      // A kill in the middle of a checkpoint leaves a file that is damaged without its log: no server gets ready on it.
      if (!isIntact(half)) return;
      const without = await world.start({ variables: { AGENT_DATABASE_URL: 'sqlite:./half.db' } });
      assert.is.not((await without.ask('GET', `/session/${id}`)).status, 200);
      await without.kill();
    }),
  );

  check.thorough(
    'from the one file of a server that was stopped is whole, as a stop leaves no log',
    inAgentWorld(async (world) => {
      world.model.alwaysReply('I hear you');
      const first = await world.start(STORE);
      const { id } = await newSession(first);
      await prompt(first, id, 'before the stop');
      assert.is((await first.signal('SIGTERM')).code, 0);
      assert.not.ok(existsSync(join(world.directory, 'data/agent.db-wal')));
      copyFileSync(join(world.directory, 'data/agent.db'), join(world.directory, 'copy.db'));
      rmSync(join(world.directory, 'data'), { recursive: true });
      mkdirSync(join(world.directory, 'data'));
      await restore(world);
      assert.equal(
        readFileSync(join(world.directory, 'data/agent.db')),
        readFileSync(join(world.directory, 'copy.db')),
      );
      const second = await world.start(STORE);
      assert.equal(await textIn(second, id), ['before the stop', 'I hear you']);
      await second.kill();
    }),
  );
});

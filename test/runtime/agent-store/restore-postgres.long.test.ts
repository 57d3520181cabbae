import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import * as assert from 'uvu/assert';
import { answer } from '../../../src/demo/model/reply.ts';
import { missingTools, startDumpable } from '../../agent/adapter/postgres/programs.ts';
import { describe } from '../../check.ts';
import { read } from '../../docs/pages.ts';
import type { AgentProcess } from '../agent/process.ts';
import {
  inAgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  promptTexts,
  textPrompt,
  until,
} from '../agent/world.ts';
import { run } from '../processes.ts';

const missing = missingTools();
const database = missing === undefined ? await startDumpable() : undefined;

/** The one shell block of the page that holds these words, as somebody would paste it. */
const blockWith = (words: string): string => {
  const blocks = [...read('docs/agent-server.md').matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(
    ([, text = '']) => text,
  );
  const [block = '', ...others] = blocks.filter((text) => text.includes(words));
  if (block === '' || others.length > 0) throw new Error(`not one block with ${words}`);
  return block.replace(/^ +/gm, '');
};
const withDirectory = (body: (directory: string) => Promise<void>) => async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-dump-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
/** Runs what the page says, with the programs of the database first. */
const pasted = async (directory: string, variables: Readonly<Record<string, string>>, block: string): Promise<void> => {
  const words = ['-euc', `PATH="${database?.bin}:$PATH"\n${block}`];
  const { code, stderr } = await run('sh', words, { directory, variables });
  assert.is(code, 0, stderr);
};
const dump = (directory: string, url: string, block = blockWith('pg_dump')) =>
  pasted(directory, { AGENT_DATABASE_URL: url }, block);
const restore = (directory: string, url: string) => pasted(directory, { RESTORED: url }, blockWith('pg_restore'));

const rowsIn = async (url: string, table: string): Promise<number> => {
  const sql = postgres(url, { max: 1 });
  try {
    return (await sql`SELECT 1 FROM ${sql(`gatehouse.${table}`)}`).length;
  } finally {
    await sql.end();
  }
};
const freshUrl = async (name: string): Promise<string> => (await database?.createDatabase(name)) ?? '';
const textIn = async (agent: AgentProcess, id: string): Promise<readonly string[]> =>
  (await messagesOf(agent, id)).map(({ parts }) => promptTexts(parts));
const lastErrorIn = async (agent: AgentProcess, id: string): Promise<string | undefined> => {
  const info = (await messagesOf(agent, id)).at(-1)?.info;
  return info?.role === 'assistant' ? info.error?.name : undefined;
};
const statusesAt = async (agent: AgentProcess) =>
  (await agent.ask<Readonly<Record<string, unknown>>>('GET', '/session/status')).json;
const LIVING = ['server', 'ticket', 'ask', 'standing_rule'];
const ALL_ROWS = "--exclude-table-data='gatehouse.(server|ticket|ask|standing_rule)'";

describe('a PostgreSQL store that is restored', (check) => {
  check.needing(
    missing,
    'from a dump that was made in the middle of an answer has the whole conversation until then, and no server in it',
    withDirectory((directory) =>
      inAgentWorld(async (world) => {
        const url = await freshUrl('first');
        const first = await world.start({ variables: { AGENT_DATABASE_URL: url } });
        world.model.alwaysReply('I hear you', isNoTitle);
        const kept = await newSession(first);
        await prompt(first, kept.id, 'before the dump');
        world.model.addReply(answer([{ kind: 'text', text: 'I begin' }, { kind: 'hang' }]), isNoTitle);
        const open = await newSession(first);
        await first.ask('POST', `/session/${open.id}/prompt_async`, textPrompt('hello'));
        await until('the model speaks', async () => (await textIn(first, open.id)).includes('I begin'));
        const atDump = await first.listen();
        await newSession(first);
        const known = await atDump.until('a session', ({ type }) => type === 'session.created');
        await dump(directory, url);
        assert.is(statSync(join(directory, 'agent.dump')).mode & 0o777, 0o600);
        await prompt(first, kept.id, 'after the dump');
        const lost = await newSession(first);
        const newest = atDump.seen().findLast(({ id }) => id !== undefined)?.id ?? '';
        assert.ok(newest > (known.id ?? ''));
        assert.ok((await rowsIn(url, 'ticket')) > 0);

        const restored = await freshUrl('second');
        await restore(directory, restored);
        for (const table of LIVING) assert.is(await rowsIn(restored, table), 0, table);
        const second = await world.start({ variables: { AGENT_DATABASE_URL: restored } });
        assert.equal(await textIn(second, kept.id), ['before the dump', 'I hear you']);
        assert.is((await second.ask('GET', `/session/${lost.id}`)).status, 404);
        assert.is(await lastErrorIn(second, open.id), 'MessageAbortedError');
        // Ids of events go on after those of the dump, and who knows later ones hears that they are lost.
        const listener = await second.listen('/event', { 'last-event-id': known.id ?? '' });
        const fresh = await newSession(second);
        const reported = await listener.until(
          'a new session',
          ({ type, ...event }) => type === 'session.created' && JSON.stringify(event).includes(fresh.id),
        );
        assert.ok((reported.id ?? '') > (known.id ?? ''));
        listener.leave();
        assert.is((await prompt(second, kept.id, 'and it goes on')).info.finish, 'stop');
        // The first one never noticed.
        assert.equal((await textIn(first, kept.id)).slice(2), ['after the dump', 'I hear you']);
        assert.equal((await second.signal('SIGTERM')).code, 0);
        await first.ask('POST', `/session/${open.id}/abort`);
        atDump.leave();
      })(),
    ),
  );

  check.needing(
    missing,
    'in the place of what was there informs clients with newer events that they are lost',
    withDirectory((directory) =>
      inAgentWorld(async (world) => {
        const url = await freshUrl('third');
        const variables = { AGENT_DATABASE_URL: url };
        const first = await world.start({ variables });
        const kept = await newSession(first);
        await dump(directory, url);
        const listener = await first.listen();
        const lost = await newSession(first);
        const last = await listener.until('a session', ({ type }) => type === 'session.created');
        assert.equal((await first.signal('SIGTERM')).code, 0);
        await pasted(directory, { RESTORED: url }, blockWith('DROP SCHEMA gatehouse CASCADE'));
        await restore(directory, url);
        const second = await world.start({ variables });
        assert.is((await second.ask('GET', `/session/${kept.id}`)).status, 200);
        assert.is((await second.ask('GET', `/session/${lost.id}`)).status, 404);
        const again = await second.listen('/event', { 'last-event-id': last.id ?? '' });
        await again.until('what was lost', ({ type }) => type === 'server.events.lost');
        again.leave();
      })(),
    ),
  );

  for (const [when, isFresh] of [
    ['long after the dump removes the servers in it at once', false],
    ['right after the dump removes the servers in it when they stay silent', true],
  ] as const) {
    check.needing(
      missing,
      `with all of its rows ${when}`,
      withDirectory((directory) =>
        inAgentWorld(async (world) => {
          const url = await freshUrl(`whole_${isFresh}`);
          const first = await world.start({ variables: { AGENT_DATABASE_URL: url } });
          world.model.addReply(answer([{ kind: 'text', text: 'I begin' }, { kind: 'hang' }]), isNoTitle);
          world.model.alwaysReply('Done.', isNoTitle);
          const open = await newSession(first);
          await first.ask('POST', `/session/${open.id}/prompt_async`, textPrompt('hello'));
          await until('the model speaks', async () => (await textIn(first, open.id)).includes('I begin'));
          const block = blockWith('pg_dump').replace(`\\\n${ALL_ROWS}`, '');
          assert.not.match(block, 'exclude');
          await dump(directory, url, block);
          const restored = await freshUrl(`whole_restored_${isFresh}`);
          await restore(directory, restored);
          const sql = postgres(restored, { max: 1 });
          const silentFor = isFresh ? '0 s' : '1 h';
          await sql`UPDATE gatehouse.server SET seen_at = clock_timestamp() - ${silentFor}::interval`;
          assert.is((await sql`SELECT 1 FROM gatehouse.ticket`).length, 1);
          await sql.end();
          const lease = { AGENT_DATABASE_URL: restored, AGENT_LEASE_SECONDS: '3' };
          const second = await world.start({ variables: lease });
          assert.equal(Object.keys(await statusesAt(second)), isFresh ? [open.id] : []);
          await until('nothing is at work', async () => Object.keys(await statusesAt(second)).length === 0);
          await until('the answer is ended', async () => (await lastErrorIn(second, open.id)) !== undefined);
          assert.is(await lastErrorIn(second, open.id), 'MessageAbortedError');
          assert.equal([await rowsIn(restored, 'server'), await rowsIn(restored, 'ticket')], [1, 0]);
          assert.is((await prompt(second, open.id, 'and it goes on')).info.finish, 'stop');
          await first.ask('POST', `/session/${open.id}/abort`);
        })(),
      ),
    );
  }

  check.needing(missing, 'ends the database that this was tried on', async () => {
    await database?.stop();
  });
});

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import type { Part, Session } from '../../../src/agent/protocol/types.ts';
import type { DocumentLine } from '../../../src/agent/session/document.ts';

import type { MessageWithParts } from '../../../src/agent/store/store.ts';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { type AgentProcess, addressOf, untilReady } from '../agent/process.ts';

import {
  type AgentWorld,
  CANARIES,
  inAgentWorld,
  isNoTitle,
  messagesOf,
  newSession,
  prompt,
  textPrompt,
  until,
} from '../agent/world.ts';
import { bundle, run, start } from '../processes.ts';

const LONG = 'a long word of a user '.repeat(20_000);
const HELPER = {
  permission: { task: 'allow' },
  agent: { helper: { mode: 'subagent', description: 'Helps with one thing' } },
};

type Asked = { readonly database: string; readonly input?: string; readonly directory?: string };

/** Runs the command to its end beside a database. */
const gatehouse = (words: readonly string[], { database, input = '', directory }: Asked) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bundle('gatehouse.js'), 'agent', ...words], {
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...(directory === undefined ? {} : { cwd: directory }),
    env: { PATH: process.env.PATH, AGENT_DATABASE_URL: `sqlite:${database}` },
  });
  return { code: status, stdout, stderr };
};
const withDirectory = async (body: (directory: string) => Promise<void> | void): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-command-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
/** The lines of a document, with the sessions and messages in it. */
const documentIn = (text: string) => {
  assert.ok(text.endsWith('{"kind":"end"}\n'), text.slice(-100));
  const [, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as DocumentLine);
  const sessions: { readonly info: Session; readonly messages: (MessageWithParts & { readonly parts: Part[] })[] }[] =
    [];
  for (const line of lines) {
    if (line.kind === 'session') sessions.push({ info: line.session, messages: [] });
    if (line.kind === 'message') sessions.at(-1)?.messages.push({ info: line.message, parts: [] });
    if (line.kind === 'part') sessions.at(-1)?.messages.at(-1)?.parts.push(line.part);
  }
  return { sessions };
};

/** A session with a long prompt and a session under it, to which its work was handed. */
const startChat = async (agent: AgentProcess, { model }: AgentWorld): Promise<Session> => {
  const given = { description: 'Do one thing', prompt: 'do it', subagent_type: 'helper' };
  model.addReply(answer(calls({ name: 'task', arguments: given })), isNoTitle);
  model.alwaysReply('Done.', isNoTitle);
  const session = await newSession(agent);
  await prompt(agent, session.id, LONG);
  return session;
};
/** All that a server shows of a session and of those under it. */
const shown = async (agent: AgentProcess, sessionID: string) => {
  const { json: children } = await agent.ask<readonly Session[]>('GET', `/session/${sessionID}/children`);
  const ids = [sessionID, ...children.map(({ id }) => id)];
  return Promise.all(
    ids.map(async (id) => ({
      info: (await agent.ask<Session>('GET', `/session/${id}`)).json,
      messages: await messagesOf(agent, id),
    })),
  );
};

describe('gatehouse agent', (check) => {
  check('explains itself', async () => {
    for (const words of [['--help'], ['-h'], ['export', '--help']]) {
      const { code, stdout, stderr } = gatehouse(words, { database: 'none' });
      assert.equal([code, stderr], [0, '']);
      assert.match(stdout, /gatehouse agent import <file/);
    }
    assert.match((await run(process.execPath, [bundle('gatehouse.js')])).stdout, /^ {2}agent {2}/m);
  });

  check(
    'is the agent server',
    inAgentWorld(async ({ variables }) => {
      const running = start(process.execPath, [bundle('gatehouse.js'), 'agent'], {
        variables: variables({ PORT: '0', HOST: '127.0.0.1' }),
      });
      try {
        await untilReady(running, await addressOf(running));
        running.signal('SIGTERM');
        assert.equal(await running.ended, { code: 0, signal: null });
      } finally {
        await running.kill();
      }
    }),
  );

  check('refuses what it does not know without repeating it, and touches nothing', () =>
    withDirectory((directory) => {
      const database = join(directory, 'agent.db');
      const id = 'ses_000000000000AAAAAAAAAAAAAA';
      for (const words of [
        ['exprot'],
        ['export'],
        ['export', id, id],
        ['export', '--all'],
        ['import'],
        ['import', 'a', '--force'],
      ]) {
        const { code, stdout, stderr } = gatehouse(words, { database });
        assert.equal([code, stdout], [1, ''], words.join(' '));
        assert.match(
          stderr,
          /^gatehouse agent: expected (?:one of [^\n]*export|export <session>|import <file)[^\n]*\n$/,
        );
      }
      const missing = gatehouse(['export', id], { database });
      assert.equal([missing.code, missing.stdout], [1, '']);
      assert.match(missing.stderr, /^gatehouse agent: AGENT_DATABASE_URL: no file \/[^\n]+: run this where [^\n]+\n$/);
      for (const [input, errorText] of [
        ['{', 'line 1: expected an object in JSON'],
        ['{"format":"gatehouse-session","version":7}', 'line 1: version: expected 1'],
      ] as const) {
        const refused = gatehouse(['import', '-'], { database, input });
        assert.equal([refused.code, refused.stdout], [1, '']);
        assert.is(refused.stderr, `gatehouse agent: ${errorText}\n`);
      }
      assert.match(gatehouse(['import', 'nowhere.json'], { database }).stderr, 'Cannot read the document: ENOENT');
      const latin = join(directory, 'latin.json');
      writeFileSync(latin, Buffer.from([0x22, 0xe9, 0x22]));
      assert.match(gatehouse(['import', latin], { database }).stderr, 'expected UTF-8');
      assert.not.ok(existsSync(database));
      const wrong = gatehouse(['export', id], { database: '//nowhere' });
      assert.match(wrong.stderr, 'AGENT_DATABASE_URL: expected sqlite:<path>');
    }),
  );
});

describe('a session', (check) => {
  check(
    'is exported beside the server that has it, whole and without secrets, and imported into another',
    inAgentWorld(async (world) => {
      const agent = await world.start({ config: HELPER });
      const session = await startChat(agent, world);
      const before = await shown(agent, session.id);
      const { code, stdout, stderr } = gatehouse(['export', session.id], world);
      assert.equal([code, stderr], [0, '']);
      assert.ok(stdout.length > LONG.length);
      const document = documentIn(stdout);
      assert.equal(document.sessions, before);
      assert.is(document.sessions.length, 2);
      for (const canary of Object.values(CANARIES)) assert.not.match(stdout, canary);
      assert.equal(gatehouse(['export', `${session.id}x`], world), {
        code: 1,
        stdout: '',
        stderr: 'gatehouse agent: Cannot export the session: the store holds none of this id\n',
      });
      assert.equal(await shown(agent, session.id), before);

      const file = join(world.directory, 'session.json');
      writeFileSync(file, stdout);
      const database = join(world.directory, 'other.db');
      const told = `gatehouse agent: AGENT_DATABASE_URL: a new store was made: there was no file ${database}\n`;
      assert.equal(gatehouse(['import', file], { database }), { code: 0, stdout: `${session.id}\n`, stderr: told });
      const other = await world.start({ config: HELPER, variables: { AGENT_DATABASE_URL: `sqlite:${database}` } });
      assert.equal(await shown(other, session.id), before);
      world.model.alwaysReply('Still here.', isNoTitle);
      assert.is((await prompt(other, session.id, 'are you there?')).info.finish, 'stop');
      assert.is(gatehouse(['export', session.id], world).stdout, stdout);
    }),
  );

  check.thorough(
    'is imported as a copy beside the server that has it, which goes on',
    inAgentWorld(async (world) => {
      const agent = await world.start({ config: HELPER });
      const session = await startChat(agent, world);
      const listener = await agent.listen();
      const { stdout: document } = gatehouse(['export', session.id], world);
      const refused = gatehouse(['import', '-'], { ...world, input: document });
      assert.equal([refused.code, refused.stdout], [1, '']);
      assert.match(refused.stderr, /^gatehouse agent: sessions\[0\]: its id is taken; .*--new-ids/);
      await newSession(agent);
      const last = await listener.until('another session', ({ type }) => type === 'session.created');
      const copied = gatehouse(['import', '--new-ids', '-'], { ...world, input: document });
      assert.equal([copied.code, copied.stderr], [0, '']);
      const id = copied.stdout.trim();
      assert.match(id, /^ses_[0-9a-f]{12}\w{14}$/);
      assert.is.not(id, session.id);
      const [first, child] = await shown(agent, id);
      assert.equal([first?.info.title, child?.info.parentID], [session.title, id]);
      assert.is(first?.messages.length, (await messagesOf(agent, session.id)).length);
      assert.is((await prompt(agent, id, 'and the copy?')).info.finish, 'stop');
      const again = await agent.listen('/event', { 'last-event-id': last.id ?? '' });
      await again.until(
        'the copy, for who comes back',
        (event) => event.type === 'session.created' && event.properties.sessionID === id,
      );
      again.leave();
      listener.leave();
    }),
  );

  check.thorough(
    'that is imported in the middle of an answer stays so until a server starts',
    inAgentWorld(async (world) => {
      const agent = await world.start();
      world.model.addReply(answer([{ kind: 'text', text: 'I begin' }, { kind: 'hang' }]), isNoTitle);
      const session = await newSession(agent);
      await agent.ask('POST', `/session/${session.id}/prompt_async`, textPrompt('hello'));
      await until('the model speaks', async () =>
        JSON.stringify(await messagesOf(agent, session.id)).includes('I begin'),
      );
      const { stdout } = gatehouse(['export', session.id], world);
      const database = join(world.directory, 'other.db');
      assert.is(gatehouse(['import', '-'], { database, input: stdout }).code, 0);
      assert.is(gatehouse(['export', session.id], { database }).stdout, stdout);
      const other = await world.start({ variables: { AGENT_DATABASE_URL: `sqlite:${database}` } });
      const [, outputText] = await messagesOf(other, session.id);
      assert.is(outputText?.info.role === 'assistant' && outputText.info.error?.name, 'MessageAbortedError');
      await agent.ask('POST', `/session/${session.id}/abort`);
    }),
  );

  check(
    'leaves nothing but the database where it is exported, and ends quietly when no one reads on',
    inAgentWorld(async (world) => {
      const agent = await world.start({ config: HELPER });
      const session = await startChat(agent, world);
      assert.equal((await agent.signal('SIGTERM')).code, 0);
      const before = readFileSync(world.database);
      assert.is(documentIn(gatehouse(['export', session.id], world).stdout).sessions.length, 2);
      assert.ok(before.equals(readFileSync(world.database)));
      const names = readdirSync(world.directory).filter((name) => !name.startsWith('agent.db'));
      assert.equal(names, []);
      const piped = await run(
        'sh',
        ['-c', '"$0" "$1" agent export "$2" | head -c 20', process.execPath, bundle('gatehouse.js'), session.id],
        { variables: { AGENT_DATABASE_URL: `sqlite:${world.database}` } },
      );
      assert.equal([piped.stdout, piped.stderr], ['{"format":"gatehouse', '']);
    }),
  );
});

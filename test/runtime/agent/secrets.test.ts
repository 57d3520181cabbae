import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { answer, calls, type ScriptedReply } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { describe } from '../../check.ts';
import { type AgentProcess, basic, type Listening, PASSWORD, USER } from './process.ts';
import {
  CANARIES,
  exampleSettings,
  inAgentWorld,
  inRelayWorld,
  isNoTitle,
  newSession,
  nextQuestion,
  prompt,
  type RelayWorld,
  textPrompt,
  until,
} from './world.ts';

type Doc = { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> };

/** Every form in which a secret could be read. */
const FORMS: readonly string[] = [
  ...Object.values(CANARIES),
  ...Object.values(CANARIES).map((secret) => Buffer.from(secret).toString('base64')),
  basic(USER, PASSWORD).slice('Basic '.length),
  CANARIES.adminKey.slice('admin-'.length),
];

const assertNoSecret = (text: string, where: string): void => {
  for (const form of FORMS) {
    const at = text.indexOf(form);
    assert.is(at, -1, `${where}: …${text.slice(Math.max(0, at - 80), at + form.length + 20)}`);
  }
};

/** Every answer to a GET that the server documents, with the ids that there are. */
const allAnswers = async (agent: AgentProcess, ids: Readonly<Record<string, string>>): Promise<readonly string[]> => {
  const { json } = await agent.ask<Doc>('GET', '/doc');
  const paths = Object.keys(json.paths).filter((path) => json.paths[path]?.get !== undefined && !/event$/.test(path));
  assert.ok(paths.length >= 15);
  return Promise.all(
    paths.map(async (path) => {
      const { headers, text } = await agent.ask(
        'GET',
        path.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? 'x'),
      );
      return `${path}\n${[...headers].join('\n')}\n${text}`;
    }),
  );
};

/** The raw bytes of everything that the server keeps, its write-ahead log among them. */
const keptIn = (directory: string): readonly (readonly [string, string])[] =>
  readdirSync(directory)
    .filter((name) => name.startsWith('agent.db'))
    .map((name) => [name, readFileSync(join(directory, name)).toString('latin1')]);

/** A backend that tells each secret that it was sent in its error, in every way there is. */
const echo =
  (status: number) =>
  ({ headers }: ReceivedRequest): ScriptedReply => {
    const words = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join(' ');
    const error = { message: `Wrong key ${words}`, type: words, code: words, param: words };
    return {
      kind: 'refusal',
      status,
      headers: { 'x-echo': headers.authorization ?? '' },
      body: { error, detail: words },
    };
  };

/** A tool server over HTTP that refuses, and tells what it was sent. */
const withEchoingTools = async (body: (url: string, seen: () => readonly string[]) => Promise<void>): Promise<void> => {
  const seen: string[] = [];
  const server = createServer((message, response) => {
    const words = message.rawHeaders.join(' ');
    seen.push(words);
    response.writeHead(403, { 'content-type': 'application/json', 'x-echo': message.headers['x-tool-key'] ?? '' });
    message.resume().on('end', () => response.end(JSON.stringify({ error: words })));
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  try {
    await body(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, () => seen);
  } finally {
    server.closeAllConnections();
    await new Promise((settle) => server.close(settle));
  }
};

const startSecret = (world: RelayWorld, url: string): Promise<AgentProcess> => {
  const example = exampleSettings(world, world.relay);
  const over = JSON.parse(example.AGENT_CONFIG_CONTENT ?? '') as {
    provider: { cloud: { options: object } };
    mcp: { 'relay-admin': { environment: object } };
  };
  const config = {
    ...over,
    username: 'somebody',
    provider: {
      cloud: { options: { ...over.provider.cloud.options, headers: { 'x-team-key': '{env:MODEL_HEADER}' } } },
    },
    mcp: {
      'relay-admin': {
        ...over.mcp['relay-admin'],
        environment: {
          ...over.mcp['relay-admin'].environment,
          EXTRA: '{env:MCP_VARIABLE}',
          PLAIN: CANARIES.mcpVariable,
        },
      },
      echoing: { type: 'remote', url, oauth: false, headers: { 'x-tool-key': CANARIES.mcpHeader }, timeout: 2000 },
    },
  };
  return world.start({
    variables: {
      ...example,
      AGENT_CONFIG_CONTENT: JSON.stringify(config),
      MODEL_HEADER: CANARIES.modelHeader,
      MCP_VARIABLE: CANARIES.mcpVariable,
      LOG_LEVEL: 'debug',
    },
  });
};

const isUp = async ({ ask }: AgentProcess): Promise<boolean> => {
  const { json } = await ask<Readonly<Record<string, { status: string; error?: string }>>>('GET', '/mcp');
  return json['relay-admin']?.status === 'connected' && /403/.test(json.echoing?.error ?? '');
};

describe('the secrets that the agent bundle holds', (check) => {
  check(
    'are in no answer, no event, no line of the log and no byte of the database',
    inRelayWorld((world) =>
      withEchoingTools(async (url, seen) => {
        const { model, relay, directory } = world;
        const agent = await startSecret(world, url);
        const streams: Listening[] = [await agent.listen(), await agent.listen('/global/event')];
        await until('the tool servers are connected, or not', () => isUp(agent));
        const { id } = await newSession(agent, { agent: 'maintainer' });
        const answered = prompt(agent, id, 'recharge alice@example.com 5');
        const question = await nextQuestion(agent);
        const during = await allAnswers(agent, { id });
        await agent.ask('POST', `/permission/${question.id}/reply`, { reply: 'once' });
        const reported = [JSON.stringify(await answered), JSON.stringify(question)];
        relay.control.useRouteFault('echo-key-400', 3);
        model.addReply(answer(calls({ name: 'relay-admin_read', arguments: { path: 'users' } })), isNoTitle);
        reported.push(JSON.stringify(await prompt(agent, id, 'look')));
        for (const status of [400, 401, 403, 404, 422, 500, 503]) {
          let left = 3;
          // The server tries some of them again; the last one is to end it.
          while (left > 0) {
            left -= 1;
            const asked = model.requests().findLast(isNoTitle);
            if (asked !== undefined) model.addReply(echo(left === 0 ? 400 : status)(asked), isNoTitle);
          }
          const path = `/session/${id}/message`;
          const { text } = await agent.ask('POST', path, textPrompt(`fail with ${status}`, { agent: 'plan' }));
          reported.push(text);
          model.clear();
        }
        // What is looked for was really there: the model and the tool servers were given all of it.
        assert.is(relay.control.credits().length, 1);
        assert.match(seen().join('\n'), CANARIES.mcpHeader);
        const after = await allAnswers(agent, { id, messageID: question.tool?.messageID ?? '' });
        for (const text of [...during, ...after, ...reported]) assertNoSecret(text, text.slice(0, 60));
        for (const [name, bytes] of keptIn(directory)) assertNoSecret(bytes, name);
        const { code } = await agent.signal('SIGTERM');
        assert.is(code, 0);
        for (const stream of streams) {
          assert.is(await stream.ended, 'ended');
          assert.ok(stream.seen().length > 50);
          assertNoSecret(stream.text(), 'events');
        }
        assertNoSecret(agent.running.stdout() + agent.running.stderr(), 'log');
        for (const [name, bytes] of keptIn(directory)) assertNoSecret(bytes, name);
        assert.ok(keptIn(directory).some(([, bytes]) => bytes.includes('recharge alice@example.com 5')));
      }),
    ),
  );

  check(
    'were really used',
    inRelayWorld((world) =>
      withEchoingTools(async (url) => {
        const agent = await startSecret(world, url);
        world.model.alwaysReply('Good day.');
        await prompt(agent, (await newSession(agent)).id, 'hello');
        const headers = world.model.requests().find(isNoTitle)?.headers ?? {};
        assert.is(headers.authorization, `Bearer ${CANARIES.modelKey}`);
        assert.is(headers['x-team-key'], CANARIES.modelHeader);
        await agent.signal('SIGTERM');
      }),
    ),
  );

  check(
    'and the words of users are in no line of the log',
    inAgentWorld(async ({ start, model }) => {
      model.alwaysReply('canary-words-of-a-model');
      const agent = await start({ variables: { LOG_LEVEL: 'debug' } });
      const { id } = await newSession(agent, { title: 'canary-title', metadata: { x: 'canary-metadata' } });
      await prompt(agent, id, 'canary-words-of-a-user');
      await agent.ask('POST', `/session/${id}/message`, '{"parts":[{"type":"text","text":"canary-broken');
      await agent.ask('POST', `/session/${id}/message`, { parts: [{ type: 'canary-type' }], model: 'canary/model' });
      await agent.ask('GET', `/session/canary-id?search=canary-search`);
      await agent.ask('GET', `/canary-path`, undefined, {
        headers: { 'x-request-id': 'fine-1', 'x-y': 'canary-header' },
      });
      await agent.signal('SIGTERM');
      assert.not.match(agent.running.stderr() + agent.running.stdout(), 'canary');
      assert.match(agent.running.stderr(), 'fine-1');
    }),
  );
});

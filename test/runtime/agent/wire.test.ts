import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { answer, refusal, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { type AgentProcess, basic, PASSWORD, USER } from './process.ts';
import { type AgentWorld, inAgentWorld, inRelayWorld, isNoTitle, newSession, textPrompt, until } from './world.ts';

const id = (prefix: string) => v.pipe(v.string(), v.regex(new RegExp(`^${prefix}_[0-9a-f]{12}[0-9A-Za-z]{14}$`)));
const Whole = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Milliseconds since the epoch, of this year or a later one. */
const Time = v.pipe(v.number(), v.integer(), v.minValue(1_767_225_600_000));
const Word = v.pipe(v.string(), v.minLength(1));

const SessionRecord = v.object({
  id: id('ses'),
  slug: Word,
  version: v.pipe(v.string(), v.regex(/^\d+\.\d+\.\d+/)),
  projectID: Word,
  directory: v.pipe(v.string(), v.regex(/^\//)),
  title: v.pipe(v.string(), v.regex(/\d{4}-\d\d-\d\dT\d\d:\d\d/)),
  time: v.object({ created: Time, updated: Time }),
});

const Tokens = v.object({
  total: Whole,
  input: Whole,
  output: Whole,
  reasoning: Whole,
  cache: v.object({ read: Whole, write: Whole }),
});
const Placed = { id: id('prt'), sessionID: id('ses'), messageID: id('msg') };
const PartRecord = v.variant('type', [
  v.object({ type: v.literal('step-start'), ...Placed }),
  v.object({
    type: v.literal('text'),
    ...Placed,
    text: v.string(),
    time: v.object({ start: Time, end: Time }),
  }),
  v.object({ type: v.literal('step-finish'), ...Placed, reason: Word, cost: v.number(), tokens: Tokens }),
]);
const MessageReply = v.object({
  info: v.object({
    id: id('msg'),
    sessionID: id('ses'),
    parentID: id('msg'),
    role: v.literal('assistant'),
    mode: Word,
    agent: Word,
    modelID: Word,
    providerID: Word,
    path: v.object({ cwd: v.string(), root: v.string() }),
    time: v.object({ created: Time, completed: Time }),
    cost: v.number(),
    tokens: Tokens,
    finish: Word,
  }),
  parts: v.array(PartRecord),
});
const Providers = v.object({
  connected: v.array(v.string()),
  all: v.array(v.object({ id: v.string(), models: v.record(v.string(), v.looseObject({ id: v.string() })) })),
});

const read = <Schema extends v.GenericSchema>(schema: Schema, given: unknown): v.InferOutput<Schema> => {
  const result = v.safeParse(schema, given);
  if (result.success) return result.output;
  const reported = result.issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`);
  throw new Error(`${reported.join('; ')} in ${JSON.stringify(given)}`);
};

const inWireWorld = (body: (agent: AgentProcess, world: AgentWorld) => Promise<void>) =>
  inAgentWorld(async (world) => body(await world.start(), world));

const OWNED = { 'x-gatehouse-owner': 'reader' };

describe('the records of the agent server', (check) => {
  check(
    'are those of the tables: a session that is made with the name of a model, and a message',
    inWireWorld(async ({ ask }, { model, directory }) => {
      const usage = { prompt: 100, completion: 20, cached: 30, reasoning: 5 };
      model.addReply(answer(text('<think>so it is</think>', 'Good day.'), { usage }), isNoTitle);
      const made = await ask('POST', '/session', { model: 'demo/main' });
      assert.is(made.status, 200);
      const session = read(SessionRecord, made.json);
      assert.is(session.directory, directory);
      const outputText = await ask('POST', `/session/${session.id}/message`, textPrompt('hello'));
      assert.equal([outputText.status, outputText.headers.get('content-type')], [200, 'application/json']);
      const { info, parts } = read(MessageReply, outputText.json);
      assert.equal(
        [info.sessionID, info.mode, info.agent, info.modelID, info.providerID, info.finish, info.path],
        [session.id, 'build', 'build', 'main', 'demo', 'stop', { cwd: directory, root: directory }],
      );
      assert.ok(info.time.completed >= info.time.created);
      assert.equal(info.tokens, { total: 120, input: 70, output: 15, reasoning: 5, cache: { read: 30, write: 0 } });
      assert.equal(
        parts.map(({ type }) => type),
        ['step-start', 'text', 'step-finish'],
      );
      assert.ok(parts.every(({ messageID, sessionID }) => messageID === info.id && sessionID === session.id));
      const [, withText, finished] = parts;
      assert.is(withText?.type === 'text' && withText.text, '<think>so it is</think>Good day.');
      assert.ok(withText?.type === 'text' && withText.time.end >= withText.time.start);
      assert.equal(finished?.type === 'step-finish' && [finished.reason, finished.tokens], ['stop', info.tokens]);
      const again = read(MessageReply, (await ask('POST', `/session/${session.id}/message`, textPrompt('more'))).json);
      assert.is.not(again.info.parentID, info.parentID);
    }),
  );

  check(
    'hold the failure of a provider, which is no failure of the request',
    inWireWorld(async ({ ask }, { model }) => {
      model.addReply(refusal(400, 'bad_request', { message: 'canary-words-of-a-backend' }), isNoTitle);
      const session = read(SessionRecord, (await ask('POST', '/session', { model: 'demo/main' })).json);
      const outputText = await ask<{ info: { error?: { name: string; data: object } } }>(
        'POST',
        `/session/${session.id}/message`,
        textPrompt('hello'),
      );
      assert.is(outputText.status, 200);
      assert.is(outputText.json.info.error?.name, 'APIError');
      assert.match(JSON.stringify(outputText.json.info.error?.data), '"statusCode":400');
      assert.not.match(outputText.text, 'canary-words');
    }),
  );

  check(
    'are refused before anything is stored when they name what is not there',
    inWireWorld(async ({ ask }) => {
      const bodies = [
        { model: 'demo/none' },
        { model: 'none/main' },
        { model: 'main' },
        { model: 7 },
        { agent: 'none' },
        { parentID: 'ses_000000000000AAAAAAAAAAAAAA' },
        '{"model":',
        '[]',
      ];
      for (const body of bodies) {
        const { status, json } = await ask<{ name: string; data: { message: string } }>('POST', '/session', body);
        assert.equal([status, json.name], [400, 'BadRequest'], JSON.stringify(body));
        assert.ok(json.data.message.length > 10);
      }
      assert.equal((await ask('GET', '/session')).json, []);
      const noBody = await ask('POST', '/session');
      assert.is(noBody.status, 200);
    }),
  );
});

describe('the routes of the agent server', (check) => {
  check(
    'are those of the tables, beside the example configuration',
    inRelayWorld(async ({ startExample }) => {
      const { ask } = await startExample();
      const health = await ask('GET', '/global/health');
      assert.is(read(v.object({ healthy: v.boolean() }), health.json).healthy, true);
      const mcp = read(v.record(v.string(), v.looseObject({ status: v.string() })), (await ask('GET', '/mcp')).json);
      assert.equal(mcp, { 'relay-admin': { status: 'connected' }, 'example-remote': { status: 'disabled' } });
      const Config = v.looseObject({
        model: Word,
        small_model: Word,
        mcp: v.object({
          // Directory and environment stay here: whatever stands there may be a secret.
          'relay-admin': v.strictObject({
            type: v.literal('local'),
            command: v.tuple([v.string(), v.literal('[redacted]')]),
            enabled: v.literal(true),
            timeout: v.literal(40_000),
          }),
          'example-remote': v.strictObject({
            type: v.literal('remote'),
            url: v.literal('https://mcp.example.com/[redacted]'),
            enabled: v.literal(false),
            oauth: v.literal(false),
            timeout: v.literal(15_000),
          }),
        }),
        permission: v.object({ 'relay-admin_*': v.literal('deny') }),
        agent: v.looseObject({ maintainer: v.looseObject({ permission: v.record(v.string(), v.string()) }) }),
      });
      read(Config, (await ask('GET', '/config')).json);
      const { connected, all } = read(Providers, (await ask('GET', '/provider')).json);
      assert.equal([connected, all.map((provider) => provider.id)], [['cloud'], ['cloud']]);
      assert.equal(Object.keys(all[0]?.models ?? {}), ['gpt-oss-120b', 'gpt-oss-20b']);
    }),
  );

  check(
    'answer with 404, and with 405 and what they allow',
    inWireWorld(async (agent) => {
      const { ask } = agent;
      const { id: sessionID } = await newSession(agent);
      const lost = 'ses_000000000000AAAAAAAAAAAAAA';
      const missing: readonly (readonly [string, string, unknown?])[] = [
        ['GET', '/nowhere'],
        ['GET', `/session/${lost}`],
        ['GET', '/session/nope'],
        ['PATCH', `/session/${lost}`, { title: 'x' }],
        ['DELETE', `/session/${lost}`],
        ['GET', `/session/${lost}/children`],
        ['GET', `/session/${lost}/message`],
        ['POST', `/session/${lost}/message`, textPrompt('x')],
        ['POST', `/session/${lost}/prompt_async`, textPrompt('x')],
        ['GET', `/session/${sessionID}/message/msg_000000000000AAAAAAAAAAAAAA`],
        ['POST', '/permission/per_000000000000AAAAAAAAAAAAAA/reply', { reply: 'once' }],
        ['POST', '/mcp/none/connect'],
      ];
      for (const [method, path, body] of missing) {
        const { status, json } = await ask<{ name: string; data: { message: string } }>(method, path, body);
        assert.equal([status, json?.name], [404, 'NotFoundError'], `${method} ${path}`);
        assert.type(json.data.message, 'string');
      }
      const { status, headers } = await ask('DELETE', '/config');
      assert.equal([status, headers.get('allow')], [405, 'GET, HEAD']);
      const head = await ask('HEAD', '/global/health');
      assert.equal([head.status, head.text], [200, '']);
      assert.match(head.headers.get('x-request-id') ?? '', /^req-/);
    }),
  );

  check(
    'need no body where it may be left out, in whatever way a client leaves it out',
    inWireWorld(async (agent) => {
      const { id: sessionID } = await newSession(agent);
      for (const framing of [{}, { 'content-length': '0' }, { 'transfer-encoding': 'chunked' }]) {
        for (const path of ['/session', `/session/${sessionID}/abort`]) {
          const headers = { authorization: basic(USER, PASSWORD), 'content-type': 'application/json', ...framing };
          const call = request(agent.address + path, { method: 'POST', headers });
          if (!('transfer-encoding' in framing)) call.useChunkedEncodingByDefault = false;
          const [reply] = (await once(call.end(), 'response')) as [IncomingMessage];
          reply.resume();
          assert.is(reply.statusCode, 200, `${path} ${JSON.stringify(framing)}`);
        }
      }
    }),
  );

  check(
    'send the headers of a message at once',
    inWireWorld(async (agent, { model }) => {
      model.addReply(answer([{ kind: 'hang' }]), isNoTitle);
      const { id: sessionID } = await newSession(agent);
      const signal = AbortSignal.timeout(5000);
      const response = await agent.send('POST', `/session/${sessionID}/message`, textPrompt('hello'), { signal });
      assert.is(response.status, 200);
      await agent.ask('POST', `/session/${sessionID}/abort`);
      assert.match(await response.text(), 'MessageAbortedError');
    }),
  );

  check(
    'that write a document name all of it, and the document names them',
    inWireWorld(async ({ ask }) => {
      type Doc = {
        readonly openapi: string;
        readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
      };
      assert.is((await ask('POST', '/gatehouse/conversations', { name: 'desk' }, { headers: OWNED })).status, 200);
      const { json } = await ask<Doc>('GET', '/doc');
      assert.match(json.openapi, /^3\.1/);
      for (const path of ['/session', '/session/{id}/message', '/global/health', '/mcp', '/config', '/provider'])
        assert.ok(json.paths[path] !== undefined, path);
      for (const [path, methods] of Object.entries(json.paths)) {
        if (methods.get === undefined || path.endsWith('/event') || path.includes('{')) continue;
        // Turns and conversations have owners.
        const isOwned = path.startsWith('/gatehouse/');
        const asked = isOwned ? `${path}?name=desk` : path;
        const more = isOwned ? { headers: OWNED } : {};
        await until(`GET ${path} is answered`, async () => (await ask('GET', asked, undefined, more)).status === 200);
      }
    }),
  );
});

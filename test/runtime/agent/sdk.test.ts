import { createOpencodeClient as createFirst } from '@opencode-ai/sdk/client';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2/client';
import * as assert from 'uvu/assert';
import type { PermissionRequest } from '../../../src/agent/protocol/permissions.ts';
import { answer, calls, refusal, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { sharedWorld } from '../bridge/world.ts';
import { type AgentProcess, basic, PASSWORD, USER } from './process.ts';
import {
  type AgentWorld,
  isNoTitle,
  isTitle,
  messagesOf,
  newSession,
  nextQuestion,
  promptTexts,
  questionsOf,
  until,
  withAgentWorld,
} from './world.ts';

const CONFIG = {
  permission: { task: 'ask' },
  agent: { helper: { mode: 'subagent', description: 'Helps with one thing' } },
  command: { weigh: { template: 'Weigh $ARGUMENTS.', description: 'Weighs', model: 'demo/small' } },
};

const clientsOf = ({ address }: AgentProcess, password = PASSWORD) => {
  const settings = { baseUrl: address, headers: { authorization: basic(USER, password) } };
  return { first: createFirst(settings), second: createSecond(settings) };
};

type SdkWorld = AgentWorld & ReturnType<typeof clientsOf> & { readonly agent: AgentProcess };
const shared = sharedWorld<SdkWorld>((body) =>
  withAgentWorld(async (world) => {
    const agent = await world.start({ config: CONFIG });
    await body({ ...world, ...clientsOf(agent), agent });
  }),
);
/** Both clients beside one server, which has no session when a check begins. */
const inSdkWorld = (body: (world: SdkWorld) => Promise<void>) =>
  shared(async (world) => {
    const { json } = await world.agent.ask<readonly { readonly id: string }[]>('GET', '/session');
    for (const { id } of json) await world.agent.ask('DELETE', `/session/${id}`);
    await body(world);
  });

/** What a call of the client brought; fails when it brought an error. */
const dataOf = async <Data>(calling: Promise<{ data?: Data; error?: unknown }>): Promise<NonNullable<Data>> => {
  const { data, error } = await calling;
  if (data === undefined || data === null) throw new Error(`the client says ${JSON.stringify(error)}`);
  return data as NonNullable<Data>;
};

/** What the next turn does: hands work to the helper, which needs leave, then says that it is done. */
const scriptTask = ({ model }: AgentWorld): void => {
  const given = { description: 'Do one thing', prompt: 'do it', subagent_type: 'helper' };
  model.addReply(answer(calls({ name: 'task', arguments: given })), isNoTitle);
  model.alwaysReply('Done.', (asked) => isNoTitle(asked));
};

const MODEL = { providerID: 'demo', modelID: 'main' };
const PARTS = [{ type: 'text' as const, text: 'hello there' }];

describe('the first client of the SDK', (check) => {
  check(
    'makes, lists, reads, changes and deletes sessions',
    inSdkWorld(async ({ first }) => {
      const parent = await dataOf(first.session.create({ body: { title: 'a parent' } }));
      assert.match(parent.id, /^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
      const child = await dataOf(first.session.create({ body: { parentID: parent.id } }));
      assert.is(child.parentID, parent.id);
      const listed = await dataOf(first.session.list());
      assert.equal(listed.map(({ id }) => id).sort(), [parent.id, child.id].sort());
      assert.equal(await dataOf(first.session.get({ path: { id: parent.id } })), parent);
      const children = await dataOf(first.session.children({ path: { id: parent.id } }));
      assert.equal(children, [child]);
      const changed = await dataOf(first.session.update({ path: { id: parent.id }, body: { title: 'another title' } }));
      assert.is(changed.title, 'another title');
      assert.equal(await dataOf(first.session.messages({ path: { id: parent.id } })), []);
      assert.is(await dataOf(first.session.delete({ path: { id: parent.id } })), true);
      const { error, response } = await first.session.get({ path: { id: parent.id } });
      assert.is(response?.status, 404);
      assert.equal(error, { name: 'NotFoundError', data: { message: `session "${parent.id}" was not found` } });
    }),
  );

  check(
    'prompts, and reads the conversation',
    inSdkWorld(async ({ first, model }) => {
      model.addReply(answer(text('Good ', 'day.')), isNoTitle);
      const { id } = await dataOf(first.session.create({ body: { title: 'a talk' } }));
      const { info, parts } = await dataOf(
        first.session.prompt({ path: { id }, body: { model: MODEL, parts: PARTS } }),
      );
      assert.equal([info.role, info.finish, info.modelID, info.providerID], ['assistant', 'stop', 'main', 'demo']);
      assert.equal(
        parts.map(({ type }) => type),
        ['step-start', 'text', 'step-finish'],
      );
      assert.match(JSON.stringify(parts), '"text":"Good day."');
      const messages = await dataOf(first.session.messages({ path: { id } }));
      assert.equal(
        messages.map((message) => message.info.role),
        ['user', 'assistant'],
      );
      assert.equal(messages[1], { info, parts });
      const one = await dataOf(first.session.message({ path: { id, messageID: info.id } }));
      assert.equal(one, { info, parts });
      const newest = await dataOf(first.session.messages({ path: { id }, query: { limit: 1 } }));
      assert.equal(newest, [{ info, parts }]);
      const unanswered = await first.session.prompt({ path: { id }, body: { noReply: true, parts: PARTS } });
      assert.is(unanswered.response?.status, 200);
      assert.is((await dataOf(first.session.messages({ path: { id } }))).length, 3);
    }),
  );

  check(
    'prompts without waiting, and learns of it in the order of the wire',
    inSdkWorld(async ({ first, model }) => {
      model.addReply(answer(text('one ', 'two ', 'three')), isNoTitle);
      model.alwaysReply('A fine title', isTitle);
      const leaving = new AbortController();
      const { stream } = await first.event.subscribe({ signal: leaving.signal });
      // The stream is opened by whoever first asks for an event.
      const greeting = await stream.next();
      assert.equal(greeting.value, { type: 'server.connected', properties: {} });
      const { id } = await dataOf(first.session.create({}));
      const { response } = await first.session.promptAsync({ path: { id }, body: { parts: PARTS } });
      assert.is(response?.status, 204);
      const types: string[] = [];
      const deltas: string[] = [];
      for await (const event of stream) {
        const { type, properties } = event as unknown as { type: string; properties: Record<string, unknown> };
        const status = properties.status as { type: string } | undefined;
        const part = properties.part as { type: string } | undefined;
        const info = properties.info as { role?: string } | undefined;
        types.push([type, status?.type ?? part?.type ?? info?.role].filter((word) => word !== undefined).join(' '));
        if (type === 'message.part.delta') deltas.push(String(properties.delta));
        if (type === 'session.idle') break;
      }
      leaving.abort();
      assert.is(deltas.join(''), 'one two three');
      // The title comes beside the answer, at any moment.
      const inOrder = types.filter((type, at) => type !== types[at - 1] && type !== 'session.updated');
      assert.equal(inOrder, [
        'session.created',
        'message.updated user',
        'message.part.updated text',
        'session.status busy',
        'message.updated assistant',
        'message.part.updated step-start',
        'message.part.updated text',
        'message.part.delta',
        'message.part.updated text',
        'message.part.updated step-finish',
        'message.updated assistant',
        'session.status idle',
        'session.idle',
      ]);
      await until('there is a title', async () => {
        const { title } = await dataOf(first.session.get({ path: { id } }));
        return title === 'A fine title';
      });
    }),
  );

  check(
    'answers a question on the older path',
    inSdkWorld(async (world) => {
      const { first, agent } = world;
      scriptTask(world);
      const { id } = await dataOf(first.session.create({ body: { title: 'a question' } }));
      await first.session.promptAsync({ path: { id }, body: { parts: PARTS } });
      const { id: permissionID } = await nextQuestion(agent);
      const other = await newSession(agent);
      const strange = await first.postSessionIdPermissionsPermissionId({
        path: { id: other.id, permissionID },
        body: { response: 'once' },
      });
      assert.is(strange.response?.status, 404, 'a question of another session');
      const path = { id, permissionID };
      assert.is(await dataOf(first.postSessionIdPermissionsPermissionId({ path, body: { response: 'once' } })), true);
      await until('it is done', async () =>
        (await messagesOf(agent, id)).some(({ parts }) => promptTexts(parts) === 'Done.'),
      );
      const again = await first.postSessionIdPermissionsPermissionId({ path, body: { response: 'once' } });
      assert.is(again.response?.status, 404);
    }),
  );

  check(
    'aborts, and the prompt that waits is informed',
    inSdkWorld(async ({ first, model, agent }) => {
      model.addReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
      const { id } = await dataOf(first.session.create({ body: { title: 'an abort' } }));
      const waiting = dataOf(first.session.prompt({ path: { id }, body: { parts: PARTS } }));
      await until('it has begun', async () => (await messagesOf(agent, id)).length === 2);
      assert.equal(await dataOf(first.session.status({})), { [id]: { type: 'busy' } });
      assert.is(await dataOf(first.session.abort({ path: { id } })), true);
      const { info } = await waiting;
      assert.equal(info.error, { name: 'MessageAbortedError', data: { message: 'Aborted' } });
      assert.equal(await dataOf(first.session.status({})), {});
    }),
  );

  check(
    'reads configuration, providers, agents and tool servers',
    inSdkWorld(async ({ first }) => {
      const config = await dataOf(first.config.get());
      assert.is(config.model, 'demo/main');
      const { providers, default: firstModels } = await dataOf(first.config.providers());
      assert.equal([providers.map(({ id }) => id), firstModels], [['demo'], { demo: 'main' }]);
      const { all, connected } = await dataOf(first.provider.list());
      assert.equal([all.map(({ id }) => id), connected], [['demo'], ['demo']]);
      const agents = await dataOf(first.app.agents());
      assert.is(agents[0]?.name, 'build');
      assert.ok(agents.some(({ name, mode }) => name === 'helper' && mode === 'subagent'));
      assert.equal(await dataOf(first.mcp.status()), {});
      const { directory } = await dataOf(first.path.get());
      assert.type(directory, 'string');
    }),
  );

  check(
    'gets errors in the shapes that it knows',
    inSdkWorld(async ({ first, agent, model }) => {
      const { id } = await newSession(agent);
      const empty = await first.session.prompt({ path: { id }, body: { parts: [] } });
      assert.is(empty.response?.status, 400);
      assert.is((empty.error as { name: string }).name, 'BadRequest');
      assert.match((empty.error as { data: { message: string } }).data.message, /^parts: expected/);
      const model400 = { providerID: 'demo', modelID: 'no-such' };
      const unknown = await first.session.prompt({ path: { id }, body: { model: model400, parts: PARTS } });
      assert.is(unknown.response?.status, 400);
      const nobody = await first.session.prompt({ path: { id }, body: { agent: 'nobody', parts: PARTS } });
      assert.is(nobody.response?.status, 400);
      assert.equal(await messagesOf(agent, id), [], 'nothing was stored');
      const missing = 'ses_000000000000AAAAAAAAAAAAAA';
      const thrown = await rejection(first.session.get({ path: { id: missing }, throwOnError: true }));
      assert.ok(thrown instanceof Error && thrown.message === `session "${missing}" was not found`, String(thrown));
      const { response } = await clientsOf(agent, 'wrong').first.session.list();
      assert.is(response?.status, 401);
      model.addReply(refusal(401, 'invalid_api_key'), isNoTitle);
      const { info } = await dataOf(first.session.prompt({ path: { id }, body: { parts: PARTS } }));
      assert.is(info.error?.name, 'ProviderAuthError');
    }),
  );
});

describe('the second client of the SDK', (check) => {
  check(
    'goes through the life of a session',
    inSdkWorld(async ({ second, model }) => {
      model.addReply('Good day.', isNoTitle);
      const chosen = { providerID: 'demo', id: 'main', variant: 'high' };
      const session = await dataOf(
        second.session.create({ title: 'a talk', agent: 'build', model: chosen, metadata: { ours: 1 } }),
      );
      assert.equal([session.model, session.agent, session.metadata], [chosen, 'build', { ours: 1 }]);
      const sessionID = session.id;
      const { info, parts } = await dataOf(second.session.prompt({ sessionID, parts: PARTS }));
      assert.equal([info.role, info.finish], ['assistant', 'stop']);
      assert.match(JSON.stringify(parts), '"text":"Good day."');
      const asked = model.requests().find(isNoTitle);
      assert.equal([asked?.model, asked?.body.store, asked?.body.reasoning_effort], ['demo-main', false, 'high']);
      assert.equal(await dataOf(second.session.message({ sessionID, messageID: info.id })), { info, parts });
      assert.is((await dataOf(second.session.messages({ sessionID, limit: 10 }))).length, 2);
      const child = await dataOf(second.session.create({ parentID: sessionID }));
      assert.equal(await dataOf(second.session.children({ sessionID })), [child]);
      const roots = await dataOf(second.session.list({ roots: true }));
      assert.equal(
        roots.map(({ id }) => id),
        [sessionID],
      );
      assert.equal(
        (await dataOf(second.session.list({ search: 'TALK' }))).map(({ id }) => id),
        [sessionID],
      );
      const archived = await dataOf(second.session.update({ sessionID, time: { archived: 12 } }));
      assert.is(archived.time.archived, 12);
      assert.is(await dataOf(second.session.delete({ sessionID })), true);
      const { error, response } = await second.session.get({ sessionID });
      assert.is(response?.status, 404);
      assert.is((error as { name?: string }).name, 'NotFoundError');
    }),
  );

  check(
    'lists the commands, sends one, and changes what it said',
    inSdkWorld(async ({ second, model }) => {
      model.addReply('About the same.', isNoTitle);
      const commands = await dataOf(second.command.list());
      assert.equal(
        commands.map(({ name, description, hints }) => [name, description, hints]),
        [['weigh', 'Weighs', ['$ARGUMENTS']]],
      );
      const { id: sessionID } = await dataOf(second.session.create({ title: 'a command' }));
      const sent = { sessionID, command: 'weigh', arguments: 'gold', model: 'demo/main' };
      const { info, parts } = await dataOf(second.session.command(sent));
      assert.equal([info.role, info.modelID], ['assistant', 'small']);
      assert.match(JSON.stringify(parts), 'About the same.');
      const [asked] = await dataOf(second.session.messages({ sessionID }));
      const [part] = asked?.parts ?? [];
      assert.ok(part?.type === 'text' && part.text === 'Weigh gold.');
      const { id: partID, messageID } = part;
      const changed = { ...part, text: 'Weigh silver.' };
      assert.equal(await dataOf(second.part.update({ sessionID, messageID, partID, part: changed })), changed);
      assert.is(await dataOf(second.part.delete({ sessionID, messageID, partID })), true);
      assert.equal((await dataOf(second.session.message({ sessionID, messageID }))).parts, []);
      const { error, response } = await second.session.command({ sessionID, command: 'none', arguments: '' });
      assert.equal([response?.status, (error as { name?: string }).name], [400, 'BadRequest']);
    }),
  );

  for (const reply of ['once', 'always', 'reject'] as const) {
    check(
      `lists a question and answers it with ${reply}`,
      inSdkWorld(async (world) => {
        const { second, agent } = world;
        scriptTask(world);
        const { id: sessionID } = await dataOf(second.session.create({ title: 'a question' }));
        const events = await agent.listen();
        const { response } = await second.session.promptAsync({ sessionID, parts: PARTS });
        assert.is(response?.status, 204);
        const { id: requestID } = await nextQuestion(agent);
        const [question] = await dataOf(second.permission.list());
        assert.equal([question?.id, question?.permission, question?.patterns], [requestID, 'task', ['helper']]);
        assert.is(question?.sessionID, sessionID);
        assert.is(await dataOf(second.permission.reply({ requestID, reply })), true);
        await events.until('the session to be idle', ({ type }) => type === 'session.idle');
        const reported = events.seen().flatMap((event) => (event.type.startsWith('permission.') ? [event] : []));
        assert.equal(
          reported.map(({ type }) => type),
          ['permission.asked', 'permission.replied'],
        );
        assert.is((reported[0] as { properties: PermissionRequest } | undefined)?.properties.id, requestID);
        assert.equal((reported[1] as { properties: object } | undefined)?.properties, { sessionID, requestID, reply });
        assert.equal(await questionsOf(agent), []);
        const children = await dataOf(second.session.children({ sessionID }));
        assert.is(children.length, reply === 'reject' ? 0 : 1);
        const gone = await second.permission.reply({ requestID, reply });
        assert.is(gone.response?.status, 404);
        events.leave();
      }),
    );
  }

  check(
    'gives the model the words of anyone who rejects',
    inSdkWorld(async (world) => {
      const { second, agent, model } = world;
      scriptTask(world);
      const { id: sessionID } = await dataOf(second.session.create({ title: 'a question' }));
      const waiting = dataOf(second.session.prompt({ sessionID, parts: PARTS }));
      const { id: requestID } = await nextQuestion(agent);
      await dataOf(second.permission.reply({ requestID, reply: 'reject', message: 'ask Bob first' }));
      const { parts } = await waiting;
      assert.match(JSON.stringify(parts), 'Done.');
      const results = model.requests().flatMap(({ turns }) => turns.filter(({ role }) => role === 'tool'));
      assert.match(JSON.stringify(results), 'ask Bob first');
    }),
  );

  check(
    'receives events in envelopes, and comes back to those that it missed',
    inSdkWorld(async ({ second, model, agent, directory }) => {
      model.alwaysReply('Good day.');
      const leaving = new AbortController();
      const { stream } = await second.global.event({ signal: leaving.signal });
      assert.equal((await stream.next()).value, { payload: { type: 'server.connected', properties: {} } });
      const { id } = await newSession(agent);
      const { value } = await stream.next();
      const placed = value as unknown as { directory: string; payload: { id: string; type: string } };
      assert.equal([placed.directory, placed.payload.type], [directory, 'session.created']);
      leaving.abort();
      await dataOf(second.session.prompt({ sessionID: id, parts: PARTS }));
      const missed = await agent.listen('/event', { 'last-event-id': placed.payload.id });
      await missed.until('the session to have been idle', ({ type }) => type === 'session.idle');
      assert.is(missed.seen().filter(({ type }) => type === 'session.created').length, 0);
      const ids = missed.seen().flatMap((event) => (event.id === undefined ? [] : [event.id]));
      assert.equal(ids, [...new Set(ids)].sort());
      missed.leave();
    }),
  );

  check(
    'reads health, configuration, providers, agents and tool servers',
    inSdkWorld(async ({ second }) => {
      const health = await dataOf(second.global.health());
      assert.is(health.healthy, true);
      assert.is((await dataOf(second.config.get())).model, 'demo/main');
      assert.is((await dataOf(second.config.providers())).providers.length, 1);
      const { all } = await dataOf(second.provider.list());
      const main = all[0]?.models.main;
      assert.equal([main?.id, main?.api.id, main?.limit.context], ['main', 'demo-main', 100_000]);
      assert.ok((await dataOf(second.app.agents())).some(({ name }) => name === 'helper'));
      assert.equal(await dataOf(second.mcp.status()), {});
    }),
  );
});

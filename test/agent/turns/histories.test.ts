import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { describe } from '../../check.ts';
import { clientTools } from '../harness/client-tools.ts';
import { type AgentWorld, calling, createAgentWorld, outcome, replying, toolNamed } from '../harness/world.ts';
import { assistant, type Begun, begin, ended, linesOf, refusedOf, result, send, user } from './world.ts';

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const image = {
  role: 'user',
  parts: [
    { type: 'file', mime: 'image/png', url: PIXEL },
    { type: 'text', text: 'what?' },
  ],
};

const ask = async (world: AgentWorld, body: object): Promise<Begun> => {
  const begun = await begin(world, body);
  await ended(world, begun.turn.id);
  return begun;
};
const lastAsked = (world: AgentWorld) => linesOf(world.asked.at(-1)?.messages ?? []);

/** Each request has as its beginning what the one before had: a backend finds it in its cache. */
const assertPrefixes = (world: AgentWorld): void => {
  for (const [index, { messages }] of world.asked.entries()) {
    const before = linesOf(world.asked[index - 1]?.messages ?? []);
    assert.equal(linesOf(messages).slice(0, before.length), before);
  }
};

describe('a conversation that comes as a history', (check) => {
  check('goes on in its session while it is the same', async () => {
    const world = await createAgentWorld({ scripts: [replying('one'), replying('two'), replying('three')] });
    const first = await ask(world, { input: [user('a')] });
    const second = await ask(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    const third = await ask(world, {
      history: [user('a'), assistant('one'), user(' b '), assistant('<think>so</think>two')],
      input: [user('c')],
    });
    assert.is(new Set([first, second, third].map(({ turn }) => turn.sessionID)).size, 1);
    assert.is(new Set([first, second, third].map(({ turn }) => turn.conversationID)).size, 1);
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: b', 'assistant: two', 'user: c']);
    assertPrefixes(world);
  });

  check('is a branch when an earlier message was edited, with the outputs of tools until there', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('look', async () => outcome('found it'))],
      scripts: [calling({ name: 'look', input: {} }), replying('one'), replying('two'), replying('three')],
    });
    const first = await ask(world, { input: [user('a')] });
    await ask(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    const edited = await ask(world, { history: [user('a'), assistant('one')], input: [user('B')] });
    assert.is.not(edited.turn.sessionID, first.turn.sessionID);
    const [question, call, found, ...rest] = lastAsked(world);
    assert.equal([question, rest], ['user: a', ['assistant: one', 'user: B']]);
    assert.match(call ?? '', /^assistant: look#/);
    assert.match(found ?? '', /=found it$/);
  });

  check('is answered again from the same place', async () => {
    const world = await createAgentWorld({ scripts: [replying('one'), replying('two'), replying('2nd')] });
    await ask(world, { input: [user('a')] });
    await ask(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    await ask(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: b']);
    await ask(world, {
      history: [user('a'), assistant('one'), user('b'), assistant('2nd')],
      input: [user('c')],
    });
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: b', 'assistant: 2nd', 'user: c']);
  });

  check('is stored with its roles when nothing of it is known', async () => {
    const world = await createAgentWorld();
    const history = [
      image,
      assistant('a pixel'),
      user('sure?'),
      assistant('', [call('c1', 'weather', { city: 'Oslo' })]),
    ];
    const { turn } = await ask(world, {
      history: [...history, result('c1', 'rain'), assistant('It rains.')],
      input: [user('thanks')],
    });
    assert.equal(lastAsked(world), [
      ...['user: image/png + what?', 'assistant: a pixel', 'user: sure?', 'assistant: weather#c1{"city":"Oslo"}'],
      ...['tool: c1=rain', 'assistant: It rains.', 'user: thanks'],
    ]);
    const messages = (await world.get(`/session/${turn.sessionID}/message`)) as { info: { role: string } }[];
    assert.equal(
      messages.map(({ info }) => info.role),
      ['user', 'assistant', 'user', 'assistant', 'assistant', 'user', 'assistant'],
    );
  });

  check('goes on where it was stored, and gets its results where it ended with calls', async () => {
    const world = await createAgentWorld({ scripts: [replying('sunny then'), replying('bye')] });
    const history = [user('weather?'), assistant('let me see', [call('c1', 'weather', { city: 'Oslo' })])];
    const { turn } = await ask(world, { history, input: [result('c1', 'rain')], ...clientTools() });
    assert.equal(lastAsked(world), [
      'user: weather?',
      'assistant: let me see weather#c1{"city":"Oslo"}',
      'tool: c1=rain',
    ]);
    const next = await ask(world, {
      history: [...history, result('c1', 'rain'), assistant('sunny then')],
      input: [user('bye')],
    });
    assert.is(next.turn.sessionID, turn.sessionID);
    assertPrefixes(world);
  });

  check('is the same after a restart', async () => {
    const first = await createAgentWorld({ scripts: [replying('one')] });
    const { turn } = await ask(first, { input: [user('a')] });
    await first.server.stop();
    const world = await createAgentWorld({
      store: first.store,
      changes: { clock: first.clock, ids: createIds(first.clock, randomBytes) },
    });
    const again = await begin(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    await ended({ ...world, clock: first.clock }, again.turn.id);
    assert.is(again.turn.sessionID, turn.sessionID);
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: b']);
  });

  check('of two equal ones is neither, and of another owner it is not found', async () => {
    const world = await createAgentWorld({ scripts: [replying('one')] });
    const begun = [await ask(world, { input: [user('a')] }), await ask(world, { input: [user('a')] })];
    const third = await ask(world, { history: [user('a'), assistant('one')], input: [user('b')] });
    assert.not.ok(begun.some(({ turn }) => turn.sessionID === third.turn.sessionID));
    const alone = await ask(world, { input: [user('mine')] });
    const other = await begin(
      world,
      { history: [user('mine'), assistant('one')], input: [user('b')] },
      {
        'x-gatehouse-owner': 'key-2',
      },
    );
    assert.is.not(other.turn.sessionID, alone.turn.sessionID);
  });

  check('is compared with a conversation that is named: it goes on, is forked there, or is stored there', async () => {
    const world = await createAgentWorld({ scripts: [replying('one')] });
    const conversation = { name: 'n' };
    const first = await ask(world, { conversation, input: [user('a')] });
    const same = await ask(world, { conversation, history: [user('a'), assistant('one')], input: [user('b')] });
    assert.is(same.turn.sessionID, first.turn.sessionID);
    const edited = await ask(world, { conversation, history: [user('a'), assistant('one')], input: [user('B')] });
    assert.is.not(edited.turn.sessionID, first.turn.sessionID);
    assert.is(edited.turn.conversationID, first.turn.conversationID);
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: B']);
    const other = await ask(world, { conversation, history: [user('x'), assistant('y')], input: [user('z')] });
    assert.is(other.turn.conversationID, first.turn.conversationID);
    assert.equal(lastAsked(world), ['user: x', 'assistant: y', 'user: z']);
    const plain = await ask(world, { conversation, input: [user('and')] });
    assert.is(plain.turn.sessionID, other.turn.sessionID);
  });

  check('is added to a conversation where it is new to that', async () => {
    const world = await createAgentWorld({ scripts: [replying('one')] });
    const { turn } = await ask(world, { input: [user('a')] });
    const added = { isAppended: true, history: [user('b'), assistant('said')], input: [user('c'), user('d')] };
    const next = await ask(world, { conversation: { after: turn.id }, ...added });
    assert.equal(lastAsked(world), ['user: a', 'assistant: one', 'user: b', 'assistant: said', 'user: c', 'user: d']);
    assert.is(next.turn.sessionID, turn.sessionID);
    await ask(world, {
      history: [user('a'), assistant('one'), user('b'), assistant('said'), user('c'), user('d'), assistant('one')],
      input: [user('e')],
    });
    assert.is(world.asked.length, 3);
    assertPrefixes(world);
  });

  check('has the new instructions, and no calls of the old ones', async () => {
    const world = await createAgentWorld();
    await ask(world, { system: 'Be kind.', input: [user('a')] });
    await ask(world, { system: 'Be brief.', history: [user('a'), assistant('hello')], input: [user('b')] });
    const [first, second] = world.asked;
    assert.ok(first?.system.includes('Be kind.'));
    assert.ok(second?.system.includes('Be brief.') && !second.system.includes('Be kind.'));
    assert.equal(lastAsked(world), ['user: a', 'assistant: hello', 'user: b']);
  });

  check('is found again after an answer that is a value', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const world = await createAgentWorld({
      scripts: [calling({ name: 'StructuredOutput', input: { n: 1 } }), replying('x')],
    });
    const { turn } = await ask(world, { input: [user('a')], format: { type: 'json_schema', schema } });
    const next = await ask(world, { history: [user('a'), assistant('{"n":1}')], input: [user('b')] });
    assert.is(next.turn.sessionID, turn.sessionID);
  });

  check('may be long, and is stored in several commits', async () => {
    const world = await createAgentWorld();
    const long = 'lorem ipsum '.repeat(20_000);
    const history = Array.from({ length: 12 }, (_, index) => [user(`${index} ${long}`), assistant(`${index}`)]).flat();
    const { turn } = await ask(world, { history, input: [user('so?')] });
    assert.is(lastAsked(world).length, 25);
    const next = await ask(world, {
      history: [...history, user('so?'), assistant('hello')],
      input: [user('and?')],
    });
    assert.is(next.turn.sessionID, turn.sessionID);
  });

  check('with a result of no call is refused, and leaves nothing behind', async () => {
    const world = await createAgentWorld();
    const unknown = { history: [user('a'), assistant('b')], input: [result('c9', 'x')] };
    assert.is(await refusedOf(send(world, 'POST', '/turns', unknown)), '400 unknown_call');
    assert.equal(await world.get('/session'), []);
  });
});

const call = (id: string, name: string, input: object) => ({ id, name, arguments: JSON.stringify(input) });

import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { clientTools, clockCall, weatherCall } from '../harness/client-tools.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  failing,
  hanging,
  outcome,
  replying,
  type Script,
  toolNamed,
} from '../harness/world.ts';
import {
  assistant,
  type Begun,
  begin,
  beginStream,
  ended,
  leave,
  linesOf,
  OWNER,
  outputOf,
  readEvents,
  refusedOf,
  result,
  send,
  textOf,
  user,
  viewOf,
} from './world.ts';

const ASK = { permission: '*', pattern: '*', action: 'ask' } as const;

const lastAsked = (world: AgentWorld) => linesOf(world.asked.at(-1)?.messages ?? []);

const paused = async (world: AgentWorld, more: object = {}): Promise<Begun & { readonly calls: readonly string[] }> => {
  const begun = await begin(world, { input: [user('weather?')], ...clientTools(), ...more });
  const view = await ended(world, begun.turn.id);
  assert.is(view.status, 'calls');
  return { ...begun, calls: view.calls.map(({ id }) => id) };
};

describe('a turn that ended with calls of the client', (check) => {
  check('is continued by the one that brings the results', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('It rains.')] });
    const first = await paused(world);
    const [id = ''] = first.calls;
    const entries = await outputOf(world, first.turn.id);
    const call = entries.find((entry) => entry.type === 'call');
    assert.is(call?.type === 'call' && call.isForClient && call.arguments, '{"city":"Oslo"}');
    const second = await begin(world, { conversation: { after: first.turn.id }, input: [result(id, 'rain')] });
    const view = await ended(world, second.turn.id);
    assert.is(view.status, 'completed');
    assert.equal(view.callIDs, [id]);
    assert.is(textOf(await outputOf(world, second.turn.id)), 'It rains.');
    const before = await viewOf(world, first.turn.id);
    assert.equal([before.status, before.continuedBy], ['continued', second.turn.id]);
    assert.equal(await outputOf(world, first.turn.id), entries);
    assert.is(before.usage.output + view.usage.output, 10);
  });

  check('is found by its history', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('It rains.'), replying('bye')] });
    const { turn, calls } = await paused(world);
    const history = [
      user('weather?'),
      assistant('', [{ id: calls[0], name: 'weather', arguments: '{"city":"Oslo"}' }]),
    ];
    const given = result(calls[0] ?? '', 'rain');
    const second = await begin(world, { history, input: [given] });
    await ended(world, second.turn.id);
    assert.is(second.turn.sessionID, turn.sessionID);
    const third = await begin(world, { history: [...history, given, assistant('It rains.')], input: [user('bye')] });
    await ended(world, third.turn.id);
    assert.is(third.turn.sessionID, turn.sessionID);
    assert.equal(lastAsked(world).at(-2), 'assistant: It rains.');
  });

  check('is not answered twice when results come again after its history, whatever they are', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('It rains.'), replying('bye')] });
    const { turn, calls } = await paused(world);
    const [id = ''] = calls;
    const history = [user('weather?'), assistant('', [{ id, name: 'weather', arguments: '{"city":"Oslo"}' }])];
    const first = await begin(world, { history, input: [result(id, 'rain')] });
    const during = await begin(world, { history, input: [result(id, 'sun')] });
    await ended(world, first.turn.id);
    const later = await begin(world, { conversation: { after: turn.id }, input: [result(id, 'snow')] });
    const next = [...history, result(id, 'rain'), assistant('It rains.')];
    await ended(world, (await begin(world, { history: next, input: [user('bye')] })).turn.id);
    const last = await begin(world, { history, input: [result(id, 'rain')] });
    for (const again of [during, later, last]) assert.equal([again.outcome, again.turn.id], ['joined', first.turn.id]);
    assert.is(world.asked.length, 3);
  });

  check('takes results again in a branch where the turn with them was aborted', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), hanging, replying('Sun!')] });
    const { turn, calls } = await paused(world);
    const [id = ''] = calls;
    const history = [user('weather?'), assistant('', [{ id, name: 'weather', arguments: '{"city":"Oslo"}' }])];
    const first = await begin(world, { history, input: [result(id, 'rain')] });
    for (let tries = 0; world.asked.length < 2 && tries < 50; tries++) await world.clock.advance(20);
    await send(world, 'POST', `/turns/${first.turn.id}/cancel`);
    await ended(world, first.turn.id);
    const branch = await begin(world, { history, input: [result(id, 'rain')] });
    await ended(world, branch.turn.id);
    assert.is.not(branch.turn.sessionID, turn.sessionID);
    assert.equal(lastAsked(world), ['user: weather?', `assistant: weather#${id}{"city":"Oslo"}`, `tool: ${id}=rain`]);
  });

  check('waits for all results, and keeps those that came', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall, clockCall), replying('Both.')] });
    const { turn, calls } = await paused(world);
    const [one = '', two = ''] = calls;
    const conversation = { id: turn.conversationID };
    const some = await send(world, 'POST', '/turns', { conversation, input: [result(one, 'rain')] });
    assert.equal(
      [some.status, (some.body as { data: object }).data],
      [
        400,
        {
          message: 'input: other calls of the same answer have no result yet',
          code: 'missing_results',
          callIDs: [two],
        },
      ],
    );
    const rest = await begin(world, { conversation, input: [result(two, 'noon')] });
    await ended(world, rest.turn.id);
    assert.is(lastAsked(world).at(-1), `tool: ${one}=rain, ${two}=noon`);
    assert.is(
      await refusedOf(send(world, 'POST', '/turns', { conversation, input: [result('nocall', 'x')] })),
      '400 unknown_call',
    );
  });

  check('is not answered twice when its results come again', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('It rains.')] });
    const { turn, calls } = await paused(world);
    const given = { conversation: { id: turn.conversationID }, input: [result(calls[0] ?? '', 'rain')] };
    const second = await begin(world, given);
    const again = await begin(world, given);
    assert.equal([again.outcome, again.turn.id], ['joined', second.turn.id]);
    await ended(world, second.turn.id);
    assert.is(world.asked.length, 2);
  });

  check('is read whole when its answer begins while its reader reads what there was before', async () => {
    const answering = Promise.withResolvers<void>();
    const rains: Script = async function* (request, signal) {
      await answering.promise;
      yield* replying('It rains.')(request, signal);
    };
    const world = await createAgentWorld({ scripts: [calling(weatherCall), rains] });
    const { turn, calls } = await paused(world);
    const { messages, commit } = world.store;
    const [read, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isHeld = false;
    Object.assign(world.store, {
      async messages(...asked: Parameters<typeof messages>) {
        const found = await messages(...asked);
        const [first] = found;
        const isOfReader = first?.info.role === 'assistant' && asked[1]?.fromID === first.info.id;
        if (isHeld || !isOfReader) return found;
        isHeld = true;
        read.resolve();
        await slow.promise;
        return found;
      },
      // The next step is stored after that was read.
      async commit(...given: Parameters<typeof commit>) {
        if (given[0].some((change) => change.kind === 'message' && change.message.role === 'assistant'))
          await read.promise;
        return commit(...given);
      },
    });
    const conversation = { id: turn.conversationID };
    const stream = await beginStream(world, { conversation, input: [result(calls[0] ?? '', 'rain')] });
    for (let tries = 0; world.asked.length < 2 && tries < 50; tries++) await world.clock.advance(20);
    assert.ok(isHeld);
    slow.resolve();
    await world.clock.advance(20);
    answering.resolve();
    await ended(world, stream.begun().turn.id);
    await stream.over;
    assert.is(textOf(stream.entries()), 'It rains.');
  });

  check('takes a new question after its results', async () => {
    const world = await createAgentWorld({ scripts: [calling(weatherCall), replying('Sure.')] });
    const { turn, calls } = await paused(world);
    const [id = ''] = calls;
    const conversation = { id: turn.conversationID };
    const next = await begin(world, { conversation, input: [result(id, 'rain'), user('and tomorrow?')] });
    await ended(world, next.turn.id);
    assert.equal(lastAsked(world).slice(-2), [`tool: ${id}=rain`, 'user: and tomorrow?']);
  });
});

describe('a turn that waits for a person', (check) => {
  const waiting = async () => {
    const world = await createAgentWorld({
      rules: [ASK],
      tools: [toolNamed('pay', async () => outcome('paid'))],
      scripts: [calling({ name: 'pay', input: { amount: 1 } }), replying('Done.')],
    });
    const begun = await begin(world, { input: [user('pay')] });
    for (let tries = 0; (await viewOf(world, begun.turn.id)).status !== 'waiting' && tries < 50; tries++)
      await world.clock.advance(20);
    const view = await viewOf(world, begun.turn.id);
    return { world, begun, view, requestID: view.waiting[0]?.id ?? '' };
  };

  check('is continued by the turn that decides', async () => {
    const { world, begun, view, requestID } = await waiting();
    await leave(world, begun, view.position);
    const second = await begin(world, { decisions: [{ requestID, reply: 'once' }], by: 'ann' });
    const end = await ended(world, second.turn.id);
    assert.is(end.status, 'completed');
    assert.is(textOf(await outputOf(world, second.turn.id)), 'Done.');
    assert.is((await viewOf(world, begun.turn.id)).status, 'continued');
    assert.is(
      await refusedOf(send(world, 'POST', '/turns', { decisions: [{ requestID, reply: 'once' }] })),
      '404 no_such_request',
    );
  });

  check('ends the stream of its reader when another one goes on', async () => {
    const { world, begun, requestID } = await waiting();
    const path = `/gatehouse/turns/${begun.turn.id}/output?stream=true&reader=${begun.reader}`;
    const stream = readEvents(await world.call('GET', path, undefined, OWNER));
    await world.clock.advance(20);
    const second = await begin(world, { decisions: [{ requestID, reply: 'once' }] });
    await ended(world, second.turn.id);
    await stream.over;
    assert.equal([stream.events.at(-1)?.event, stream.end().status], ['end', 'continued']);
    const other = await outputOf(world, second.turn.id);
    assert.is(textOf([...stream.entries(), ...other]), 'Done.');
  });

  check('goes on by itself where it is decided without a turn, and no other owner decides', async () => {
    const { world, begun, requestID } = await waiting();
    const decision = { decisions: [{ requestID, reply: 'once' }] };
    const path = `/turns/${begun.turn.id}/decisions`;
    const other = { 'x-gatehouse-owner': 'key-2' };
    assert.is((await send(world, 'POST', path, decision, other)).status, 404);
    assert.is(await refusedOf(send(world, 'POST', '/turns', decision, other)), '404 no_such_request');
    await send(world, 'POST', path, decision);
    assert.is((await ended(world, begun.turn.id)).status, 'completed');
  });

  check('is aborted by a new question', async () => {
    const { world, begun } = await waiting();
    const next = await begin(world, { conversation: { id: begun.turn.conversationID }, input: [user('no, this')] });
    await ended(world, next.turn.id);
    assert.is((await viewOf(world, begun.turn.id)).status, 'aborted');
    assert.is((await viewOf(world, next.turn.id)).status, 'completed');
  });
});

describe('equal requests', (check) => {
  const request = { input: [user('hi')], digest: 'd1' };

  check('with one key are one turn, also at the same moment, and another request with it is refused', async () => {
    const world = await createAgentWorld();
    const keyed = { ...request, key: 'k1' };
    const all = await Promise.all([begin(world, keyed), begin(world, keyed), begin(world, keyed)]);
    assert.is(new Set(all.map(({ turn }) => turn.id)).size, 1);
    assert.equal(all.map(({ outcome: how }) => how).sort(), ['begun', 'joined', 'joined']);
    await ended(world, all[0].turn.id);
    assert.is(world.asked.length, 1);
    const sessions = (await world.get('/session')) as unknown[];
    assert.is(sessions.length, 1);
    assert.is(await refusedOf(send(world, 'POST', '/turns', { ...keyed, digest: 'd2' })), '400 key_reused');
    await world.clock.advance(86_400_000);
    assert.is((await begin(world, { ...keyed, digest: 'd2' })).outcome, 'begun');
  });

  check('with the key of a failure get it for 5 s, and begin again later unless it has called a tool', async () => {
    const bad = failing(new ModelError('api', 'down', { isRetryable: false }));
    const world = await createAgentWorld({
      tools: [toolNamed('look')],
      scripts: [bad, calling({ name: 'look', input: {} }), bad],
    });
    const ask = async () => {
      const { outcome: how, turn } = await begin(world, { ...request, key: 'k' });
      return [how, turn.id, (await ended(world, turn.id)).status];
    };
    const first = await ask();
    assert.equal([first[0], first[2]], ['begun', 'failed']);
    await world.clock.advance(4500);
    assert.equal(await ask(), ['joined', ...first.slice(1)]);
    await world.clock.advance(600);
    const second = await ask();
    assert.equal([second[0], second[1] === first[1], second[2]], ['begun', false, 'failed']);
    await world.clock.advance(60_000);
    assert.equal(await ask(), ['joined', ...second.slice(1)]);
    assert.is(world.asked.length, 3);
  });

  check('without a key are two turns, unless one is marked as a retry or its reader has left', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const first = await begin(world, request);
    const second = await begin(world, request);
    assert.is.not(second.turn.id, first.turn.id);
    const retry = await begin(world, { ...request, isRetry: true });
    assert.equal([retry.outcome, retry.turn.id], ['joined', second.turn.id]);
    await leave(world, first);
    const again = await begin(world, request);
    assert.equal([again.outcome, again.turn.id], ['joined', first.turn.id]);
    await world.clock.advance(12_000);
    assert.is((await viewOf(world, first.turn.id)).status, 'running');
  });

  check('are not begun again after calls of tools, once aborted', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay')],
      scripts: [calling({ name: 'pay', input: {} }), hanging],
    });
    const first = await begin(world, { ...request, key: 'k', abortAfterMs: 0 });
    await world.clock.advance(100);
    await leave(world, first);
    await world.clock.advance(2000);
    assert.is((await viewOf(world, first.turn.id)).status, 'aborted');
    const again = await send(world, 'POST', '/turns', { ...request, key: 'k' });
    assert.equal([again.status, (again.body as { data: { tools: string[] } }).data.tools], [409, ['pay']]);
  });

  check('read the whole answer, whoever came first', async () => {
    const world = await createAgentWorld({ scripts: [replying('one ', 'two')] });
    const first = await beginStream(world, { ...request, key: 'k' });
    await world.clock.advance(20);
    const second = await beginStream(world, { ...request, key: 'k' });
    await world.clock.advance(200);
    await Promise.all([first.over, second.over]);
    assert.equal([textOf(first.entries()), textOf(second.entries())], ['one two', 'one two']);
  });
});

describe('a turn that is not stored', (check) => {
  check('goes with its session once it was read, and what is stored goes when it is deleted', async () => {
    const world = await createAgentWorld();
    const begun = await begin(world, { input: [user('hi')], isStored: false });
    const view = await ended(world, begun.turn.id);
    await leave(world, begun, view.position);
    await world.clock.advance(15_000);
    assert.equal(await world.get('/session'), []);
    assert.is(await refusedOf(send(world, 'GET', `/turns/${begun.turn.id}`)), '404 turn_not_found');
    const kept = await begin(world, { input: [user('hi')] });
    assert.is(await refusedOf(send(world, 'DELETE', `/turns/${kept.turn.id}`)), '409 turn_running');
    await ended(world, kept.turn.id);
    await send(world, 'DELETE', `/turns/${kept.turn.id}`);
    assert.equal(await world.get('/session'), []);
  });
});

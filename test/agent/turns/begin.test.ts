import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { clientTools } from '../harness/client-tools.ts';
import { createAgentWorld, hanging, replying, type Script } from '../harness/world.ts';
import {
  assistant,
  begin,
  beginStream,
  ended,
  leave,
  linesOf,
  OWNER,
  outputOf,
  readEvents,
  refusedOf,
  send,
  textOf,
  user,
  viewOf,
} from './world.ts';

describe('a turn', (check) => {
  check('is begun with one request, and its output is read', async () => {
    const world = await createAgentWorld({ scripts: [replying('hel', 'lo')] });
    const { outcome, turn } = await begin(world, { input: [user('hi')] });
    assert.is(outcome, 'begun');
    assert.is(turn.status, 'queued');
    const view = await ended(world, turn.id);
    assert.is(view.status, 'completed');
    assert.equal(view.usage, { input: 10, output: 5, reasoning: 0, cacheRead: 0, cacheWrite: 0 });
    const entries = await outputOf(world, turn.id);
    assert.is(textOf(entries), 'hello');
    assert.equal(
      entries.map(({ type }) => type),
      ['text', 'text-ended', 'step'],
    );
    assert.is(view.position, entries.at(-1)?.position);
    assert.equal(linesOf(world.asked[0]?.messages ?? []), ['user: hi']);
  });

  check('is stored with its prompt and its conversation in one commit', async () => {
    const world = await createAgentWorld();
    const commits: string[][] = [];
    const { commit } = world.store;
    Object.assign(world.store, {
      commit: async (...given: Parameters<typeof commit>) => {
        commits.push(given[0].map(({ kind }) => kind));
        return commit(...given);
      },
    });
    await begin(world, { input: [user('hi')] });
    const [first] = commits;
    for (const kind of ['session', 'message', 'part', 'answer', 'conversation', 'turn'])
      assert.ok(first?.includes(kind as never), kind);
  });

  check('streams its output from the beginning to the end', async () => {
    const world = await createAgentWorld({ scripts: [replying('hel', 'lo')] });
    const stream = await beginStream(world, { input: [user('hi')] });
    await world.clock.advance(100);
    await stream.over;
    assert.is(textOf(stream.entries()), 'hello');
    assert.equal(stream.events[0]?.event, 'turn');
    assert.is(stream.begun().outcome, 'begun');
    assert.equal(stream.events.at(-1)?.event, 'end');
    assert.is(stream.end().status, 'completed');
  });

  check('shows every reader the same entries, live, later, and from any position on', async () => {
    const world = await createAgentWorld({ scripts: [replying('one ', 'two ', 'three')] });
    const live = await beginStream(world, { input: [user('hi')] });
    await world.clock.advance(100);
    await live.over;
    const { id } = live.begun().turn;
    const stored = await outputOf(world, id);
    assert.is(textOf(stored), textOf(live.entries()));
    for (const { position } of live.entries()) {
      const before = live.entries().filter((entry) => entry.position <= position);
      const after = await outputOf(world, id, position);
      assert.is(textOf(before) + textOf(after), 'one two three');
    }
  });

  check('goes on in its conversation by its id, its name, and after a turn', async () => {
    const world = await createAgentWorld();
    const first = await begin(world, { conversation: { name: 'work' }, input: [user('one')] });
    await ended(world, first.turn.id);
    const named = await begin(world, { conversation: { name: 'work' }, input: [user('two')] });
    await ended(world, named.turn.id);
    const byID = await begin(world, { conversation: { id: first.turn.conversationID }, input: [user('three')] });
    await ended(world, byID.turn.id);
    const after = await begin(world, { conversation: { after: byID.turn.id }, input: [user('four')] });
    await ended(world, after.turn.id);
    assert.is(new Set([first, named, byID, after].map(({ turn }) => turn.sessionID)).size, 1);
    assert.equal(linesOf(world.asked.at(-1)?.messages ?? []), [
      ...['user: one', 'assistant: hello', 'user: two', 'assistant: hello'],
      ...['user: three', 'assistant: hello', 'user: four'],
    ]);
  });

  check('after one that was continued already is a branch', async () => {
    const world = await createAgentWorld();
    const first = await begin(world, { input: [user('one')] });
    await ended(world, first.turn.id);
    const second = await begin(world, { conversation: { after: first.turn.id }, input: [user('two')] });
    await ended(world, second.turn.id);
    const branch = await begin(world, { conversation: { after: first.turn.id }, input: [user('other')] });
    await ended(world, branch.turn.id);
    assert.is.not(branch.turn.sessionID, first.turn.sessionID);
    assert.is.not(branch.turn.conversationID, first.turn.conversationID);
    assert.equal(linesOf(world.asked.at(-1)?.messages ?? []), ['user: one', 'assistant: hello', 'user: other']);
  });

  check('is begun at the first try when many begin at once, in one conversation or under one key', async () => {
    const world = await createAgentWorld();
    const tries: string[] = [];
    const { commit } = world.store;
    Object.assign(world.store, {
      commit: async (...given: Parameters<typeof commit>) => {
        if (given[0].some(({ kind }) => kind === 'conversation')) tries.push('begin');
        return commit(...given);
      },
    });
    const many = (body: (index: number) => object) =>
      Promise.all(Array.from({ length: 16 }, (_, index) => begin(world, body(index))));
    const named = await many((index) => ({ conversation: { name: 'n' }, input: [user(`${index}`)] }));
    assert.equal([new Set(named.map(({ turn }) => turn.sessionID)).size, tries.length], [1, 16]);
    const equal = await many(() => ({ key: 'k', input: [user('hi')] }));
    assert.equal([new Set(equal.map(({ turn }) => turn.id)).size, tries.length], [1, 17]);
  });

  check('keeps every member of its metadata, and is refused where that is no object', async () => {
    const world = await createAgentWorld();
    const metadata: unknown = JSON.parse('{"__proto__":"a","constructor":{"prototype":1},"prototype":null}');
    const { turn } = await begin(world, { input: [user('hi')], metadata });
    const shown = (await viewOf(world, turn.id)).metadata;
    assert.is(JSON.stringify(shown), JSON.stringify(metadata));
    for (const wrong of [[], 'text', null])
      assert.is(
        await refusedOf(send(world, 'POST', '/turns', { input: [user('hi')], metadata: wrong })),
        '400 invalid_body',
      );
  });

  check('is not found by another owner', async () => {
    const world = await createAgentWorld();
    const { turn } = await begin(world, { conversation: { name: 'mine' }, input: [user('one')] });
    const other = { 'x-gatehouse-owner': 'key-2' };
    for (const [method, path] of [
      ['GET', `/turns/${turn.id}`],
      ['GET', `/turns/${turn.id}/output`],
      ['POST', `/turns/${turn.id}/cancel`],
      ['DELETE', `/turns/${turn.id}`],
    ] as const)
      assert.is(
        await refusedOf(send(world, method, path, undefined, other)),
        '404 turn_not_found',
        `${method} ${path}`,
      );
    for (const conversation of [{ id: turn.conversationID }, { after: turn.id }])
      assert.is((await send(world, 'POST', '/turns', { conversation, input: [user('x')] }, other)).status, 404);
    const named = await begin(world, { conversation: { name: 'mine' }, input: [user('x')] }, other);
    assert.is.not(named.turn.sessionID, turn.sessionID);
    assert.is(await refusedOf(send(world, 'POST', '/turns', { input: [user('x')] }, {})), '400 invalid_owner');
  });

  check('is aborted when it is cancelled', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const { turn } = await begin(world, { input: [user('hi')] });
    await world.clock.advance(50);
    assert.is((await viewOf(world, turn.id)).status, 'running');
    const cancelled = (await send(world, 'POST', `/turns/${turn.id}/cancel`)).body as { status: string };
    assert.is(cancelled.status, 'aborted');
    assert.is(textOf(await outputOf(world, turn.id)), 'thinking');
  });

  check('is begun again by a retry where a call of the client was cut off, which has done nothing', async () => {
    const cutOff: Script = async function* (_request, signal) {
      yield { kind: 'call-begun', id: 'c1', name: 'weather' };
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const world = await createAgentWorld({ scripts: [cutOff, replying('done')] });
    const asked = { input: [user('weather?')], key: 'k', digest: 'd', ...clientTools() };
    const { turn } = await begin(world, asked);
    await world.clock.advance(50);
    await send(world, 'POST', `/turns/${turn.id}/cancel`);
    assert.is((await viewOf(world, turn.id)).status, 'aborted');
    const again = await begin(world, asked);
    assert.is(again.outcome, 'begun');
    assert.is((await ended(world, again.turn.id)).status, 'completed');
  });

  check('is aborted when its readers have left it for too long, and goes on where none has to be there', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const left = await begin(world, { input: [user('hi')] });
    const background = await begin(world, { input: [user('hi')], abortAfterMs: null });
    await world.clock.advance(50);
    for (const { turn, reader } of [left, background]) await send(world, 'POST', `/turns/${turn.id}/leave`, { reader });
    await world.clock.advance(9000);
    assert.is((await viewOf(world, left.turn.id)).status, 'running');
    await world.clock.advance(2000);
    assert.is((await viewOf(world, left.turn.id)).status, 'aborted');
    assert.is((await viewOf(world, background.turn.id)).status, 'running');
  });

  for (const [how, path] of [
    ['left', 'leave'],
    ['cancelled', 'cancel'],
  ])
    check(`leaves nothing for a model to read when it was ${how} before it began`, async () => {
      const held = Promise.withResolvers<void>();
      const slow: Script = async function* (...given) {
        await held.promise;
        yield* replying('Good day.')(...given);
      };
      const world = await createAgentWorld({ scripts: [slow, replying('And you?')] });
      const conversation = { name: 'n' };
      const first = await begin(world, { conversation, input: [user('one')] });
      await world.clock.advance(50);
      const added = { isAppended: true, history: [user('before'), assistant('said')] };
      const second = await begin(world, { conversation, ...added, input: [user('two')], abortAfterMs: 0 });
      const third = await begin(world, { conversation, input: [user('three')] });
      // The answer to a cancel comes when the prompt's place in the queue has.
      void send(world, 'POST', `/turns/${second.turn.id}/${path}`, { reader: second.reader });
      await world.clock.advance(50);
      assert.is((await viewOf(world, first.turn.id)).status, 'running');
      held.resolve();
      assert.is((await ended(world, third.turn.id)).status, 'completed');
      assert.equal(world.asked.length, 2);
      assert.equal(linesOf(world.asked.at(-1)?.messages ?? []), [
        ...['user: one', 'assistant: Good day.', 'user: three'],
      ]);
      assert.is((await viewOf(world, second.turn.id)).status, 'aborted');
    });

  check('is joined by an equal request at once when the stream of its only reader has broken', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const stream = await beginStream(world, { input: [user('hi')], digest: 'd' });
    await world.clock.advance(50);
    await stream.cancel();
    await world.clock.advance(10);
    const again = await begin(world, { input: [user('hi')], digest: 'd' });
    assert.equal([again.outcome, again.turn.id], ['joined', stream.begun().turn.id]);
    await world.clock.advance(60_000);
    assert.is((await viewOf(world, again.turn.id)).status, 'running');
    assert.is(world.asked.length, 1);
  });

  check('is aborted without delay when a reader whose stream broke says that it has left', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const stream = await beginStream(world, { input: [user('hi')], abortAfterMs: 0 });
    await world.clock.advance(50);
    await stream.cancel();
    await world.clock.advance(10);
    await leave(world, stream.begun());
    await world.clock.advance(10);
    assert.is((await viewOf(world, stream.begun().turn.id)).status, 'aborted');
  });

  check('goes on when a reader whose stream broke comes back in a moment', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const stream = await beginStream(world, { input: [user('hi')], abortAfterMs: 0 });
    await world.clock.advance(50);
    await stream.cancel();
    await world.clock.advance(500);
    const { reader, turn } = stream.begun();
    const back = readEvents(
      await world.call('GET', `/gatehouse/turns/${turn.id}/output?stream=true&reader=${reader}`, undefined, OWNER),
    );
    await world.clock.advance(5000);
    assert.is((await viewOf(world, turn.id)).status, 'running');
    await back.cancel();
  });

  check(
    'is aborted for the next message of its conversation once its reader has left, and not in that moment',
    async () => {
      const world = await createAgentWorld({ scripts: [hanging] });
      const conversation = { name: 'n' };
      const stream = await beginStream(world, { conversation, input: [user('one')], key: 'k' });
      await world.clock.advance(50);
      const { id } = stream.begun().turn;
      await stream.cancel();
      await world.clock.advance(10);
      await begin(world, { conversation, input: [user('two')] });
      await world.clock.advance(10);
      assert.is((await viewOf(world, id)).status, 'running');
      await leave(world, stream.begun());
      await begin(world, { conversation, input: [user('three')] });
      assert.is((await viewOf(world, id)).status, 'aborted');
    },
  );

  check('is aborted a moment later when the stream of its only reader breaks off', async () => {
    const world = await createAgentWorld({ scripts: [hanging] });
    const stream = await beginStream(world, { input: [user('hi')], abortAfterMs: 0 });
    await world.clock.advance(50);
    const { id } = stream.begun().turn;
    await stream.cancel();
    await world.clock.advance(500);
    assert.is((await viewOf(world, id)).status, 'running');
    await world.clock.advance(600);
    assert.is((await viewOf(world, id)).status, 'aborted');
  });
});

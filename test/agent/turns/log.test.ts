import * as assert from 'uvu/assert';
import { ModelError, type ModelEvent } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { calling, createAgentWorld, outcome, replying, type Script, toolNamed } from '../harness/world.ts';
import { begin, beginStream, ended, outputOf, textOf, user } from './world.ts';

/** Says something, and breaks off. */
const breakingOff = (...events: readonly ModelEvent[]): Script =>
  async function* () {
    yield* events;
    await new Promise((resolve) => setImmediate(resolve));
    throw new ModelError('network', 'cut', { isRetryable: true });
  };

describe('the log of a turn', (check) => {
  check('has the steps with their calls and the ends of those, in an order that is always the same', async () => {
    const results = { one: 'first', two: 'second' };
    const world = await createAgentWorld({
      tools: Object.entries(results).map(([name, output]) =>
        toolNamed(name, async () => {
          if (name === 'one') await new Promise((resolve) => setImmediate(resolve));
          return outcome(output);
        }),
      ),
      scripts: [calling({ name: 'one', input: { a: 1 } }, { name: 'two', input: {} }), replying('done')],
    });
    const stream = await beginStream(world, { input: [user('hi')] });
    await world.clock.advance(300);
    await stream.over;
    const { id } = stream.begun().turn;
    const stored = await outputOf(world, id);
    assert.equal(
      stream.entries().filter(({ type }) => type !== 'text'),
      stored.filter(({ type }) => type !== 'text'),
    );
    assert.equal(
      stored.map((entry) => [entry.type, 'name' in entry ? entry.name : '', 'output' in entry ? entry.output : '']),
      [
        ['call', 'one', ''],
        ['call', 'two', ''],
        ['call-ended', 'one', 'first'],
        ['call-ended', 'two', 'second'],
        ['step', '', ''],
        ['text', '', ''],
        ['text-ended', '', ''],
        ['step', '', ''],
      ],
    );
    const positions = stream.entries().map(({ position }) => position);
    assert.equal(
      positions,
      [...new Set(positions)].sort((left, right) => left - right),
    );
  });

  check('takes back what an attempt of the model has said before it failed', async () => {
    const world = await createAgentWorld({
      scripts: [breakingOff({ kind: 'reasoning', delta: 'hm' }, { kind: 'text', delta: 'wrong' }), replying('right')],
    });
    const stream = await beginStream(world, { input: [user('hi')] });
    await world.clock.advance(20_000);
    await stream.over;
    assert.is(textOf(stream.entries()), 'right');
    const taken = stream.entries().filter(({ type }) => type === 'withdrawn');
    assert.is(taken.length, 2);
    const { id } = stream.begun().turn;
    // Whoever has seen any of it learns from any position on that it does not count.
    for (const seen of stream.entries().filter(({ type }) => type === 'text' || type === 'reasoning')) {
      const before = stream.entries().filter(({ position }) => position <= seen.position);
      assert.is(textOf([...before, ...(await outputOf(world, id, seen.position))]), 'right');
    }
  });

  check('has no entry of another prompt in the session', async () => {
    const world = await createAgentWorld({ scripts: [replying('one'), replying('two')] });
    const first = await begin(world, { conversation: { name: 'n' }, input: [user('a')] });
    const second = await begin(world, { conversation: { name: 'n' }, input: [user('b')] });
    await ended(world, second.turn.id);
    assert.is(textOf(await outputOf(world, first.turn.id)), 'one');
    assert.is(textOf(await outputOf(world, second.turn.id)), 'two');
  });
});

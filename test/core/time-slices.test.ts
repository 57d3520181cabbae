import * as assert from 'uvu/assert';
import type { Clock } from '../../src/core/clock.ts';
import { beginAtOnce, createTimeSlices, type Steps } from '../../src/core/time-slices.ts';
import { describe, rejection } from '../check.ts';

const SLICE_MS = 10;
const never = new AbortController().signal;

/** A clock that work moves on, an event loop that turns when it is told to, and a trace of who worked when. */
const createWorld = () => {
  let time = 0;
  const turns: (() => void)[] = [];
  const trace: string[] = [];
  const clock: Clock = {
    now: () => time,
    after(_, task) {
      turns.push(task);
      return () => {};
    },
  };
  function* steps(name: string, count: number, stepMs: number): Steps<string> {
    for (let step = 0; step < count; step++) {
      time += stepMs;
      trace.push(name);
      yield;
    }
    return name;
  }
  const turn = async (times = 1): Promise<void> => {
    for (let count = 0; count < times; count++) {
      turns.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { run: createTimeSlices(clock, SLICE_MS), steps, trace, turns, turn };
};

describe('time slices', (check) => {
  check('run short work at once, without a timer', async () => {
    const { run, steps, turns } = createWorld();
    assert.is(await run(steps('a', 3, 1), never), 'a');
    assert.equal(turns, []);
  });
  check('give the event loop a turn after each slice of work', async () => {
    const { run, steps, trace, turns, turn } = createWorld();
    const done = run(steps('a', 8, 5), never);
    for (const worked of [2, 4, 6, 8]) {
      assert.is(trace.length, worked);
      await turn();
    }
    assert.is(await done, 'a');
    assert.equal(turns, []);
  });
  check('count the work of all callers, also of short ones', async () => {
    const { run, steps, trace, turn } = createWorld();
    const all = ['a', 'b', 'c', 'd'].map((name) => run(steps(name, 1, 5), never));
    assert.equal(trace, ['a', 'b']);
    await turn(4);
    assert.equal(await Promise.all(all), ['a', 'b', 'c', 'd']);
  });
  check('let callers take turns: a short text does not wait for the end of a long one', async () => {
    const { run, steps, trace, turn } = createWorld();
    const long = run(steps('long', 10, 10), never);
    const short = run(steps('short', 1, 10), never);
    await turn(4);
    assert.is(await short, 'short');
    assert.ok(trace.length < 8, trace.join());
    await turn(10);
    assert.is(await long, 'long');
  });
  check('end with the reason of an abort, and the others go on', async () => {
    const { run, steps, trace, turns, turn } = createWorld();
    const controller = new AbortController();
    const left = run(steps('left', 10, 10), controller.signal);
    const stays = run(steps('stays', 2, 10), never);
    controller.abort(new Error('the caller left'));
    assert.is(((await rejection(left)) as Error).message, 'the caller left');
    await turn(5);
    assert.is(await stays, 'stays');
    assert.is(trace.filter((name) => name === 'left').length, 1);
    assert.equal(turns, []);
  });
  check('do nothing for a caller that left before', async () => {
    const { run, steps, trace } = createWorld();
    await rejection(run(steps('a', 1, 1), AbortSignal.abort(new Error('gone'))));
    assert.equal(trace, []);
  });
  check('pass on what the work throws, and the others go on', async () => {
    const { run, steps, turn } = createWorld();
    function* failing(): Steps<never> {
      yield;
      throw new TypeError('a bug');
    }
    const first = run(steps('a', 3, 10), never);
    const failed = rejection(run(failing(), never));
    const last = run(steps('b', 3, 10), never);
    await turn(12);
    assert.instance(await failed, TypeError);
    assert.equal([await first, await last], ['a', 'b']);
  });
  check('give each owner the same time, however many callers it has', async () => {
    const { run, steps, trace, turn } = createWorld();
    const many = Array.from({ length: 8 }, () => run(steps('many', 20, 10), never, 'a'));
    await turn(5);
    const before = trace.length;
    const one = run(steps('one', 20, 10), never, 'b');
    await turn(30);
    const since = trace.slice(before);
    const ones = since.filter((name) => name === 'one').length;
    assert.ok(Math.abs(ones - since.length / 2) <= 2, since.join());
    await turn(200);
    assert.equal(await Promise.all([one, ...many]), ['one', ...many.map(() => 'many')]);
  });
  check('count what an owner used, not how often it came', async () => {
    const { run, steps, trace, turn } = createWorld();
    const dear = run(steps('dear', 40, 40), never, 'a');
    const cheap = run(steps('cheap', 200, 10), never, 'b');
    await turn(50);
    const [dearMs, cheapMs] = [40, 10].map(
      (ms, index) => ms * trace.filter((name) => name === ['dear', 'cheap'][index]).length,
    );
    assert.ok(Math.abs((dearMs ?? 0) - (cheapMs ?? 0)) <= 80, `${dearMs} and ${cheapMs} ms`);
    await turn(300);
    assert.equal(await Promise.all([dear, cheap]), ['dear', 'cheap']);
  });
  check(
    'save up no time for an owner that was idle, and hold no work of before against one that is alone',
    async () => {
      const { run, steps, trace, turn } = createWorld();
      const alone = run(steps('a', 100, 10), never, 'a');
      await turn(101);
      await alone;
      const before = trace.length;
      const again = run(steps('a', 20, 10), never, 'a');
      const idle = run(steps('b', 20, 10), never, 'b');
      await turn(20);
      const since = trace.slice(before);
      assert.ok(Math.abs(since.filter((name) => name === 'a').length - since.length / 2) <= 2, since.join());
      await turn(60);
      assert.equal(await Promise.all([again, idle]), ['a', 'b']);
    },
  );
  check('do not let new work of an owner pass what waits of one that used less', async () => {
    const { run, steps, trace, turn } = createWorld();
    const many = [run(steps('many', 5, 10), never, 'a'), run(steps('many', 5, 10), never, 'a')];
    await turn(3);
    const few = [run(steps('few', 1, 1), never, 'b'), run(steps('few', 1, 1), never, 'b')];
    while (!trace.includes('few')) await turn();
    const late = run(steps('late', 1, 1), never, 'a');
    await turn(40);
    assert.ok(trace.lastIndexOf('few') < trace.indexOf('late'), trace.join());
    assert.equal(await Promise.all([late, ...few, ...many]), ['late', 'few', 'few', 'many', 'many']);
  });

  check('begun at once never keep work of one step waiting, so that short requests stay in order', async () => {
    const { run, steps, trace, turns, turn } = createWorld();
    const begin = beginAtOnce(run);
    function* oneStep(name: string): Steps<string> {
      trace.push(name);
      yield* [];
      return name;
    }
    const long = begin(steps('long', 4, 10), never);
    assert.equal(await Promise.all(['b', 'c'].map((name) => begin(oneStep(name), never))), ['b', 'c']);
    assert.equal(trace.slice(-2), ['b', 'c']);
    assert.ok(turns.length > 0);
    await turn(8);
    assert.is(await long, 'long');
  });
});

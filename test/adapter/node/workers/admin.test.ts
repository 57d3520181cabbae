import * as assert from 'uvu/assert';
import { createFeed } from '../../../../src/gateway/admin/feed.ts';
import { mergeStates, type ProcessState } from '../../../../src/gateway/admin/state.ts';
import { describe } from '../../../check.ts';
import { readEvents } from '../../../gateway/admin/world.ts';
import { createWorld, type FakeWorker, settle } from './world.ts';

const stateWith = (given: Partial<ProcessState> = {}): ProcessState => ({
  keys: [{ fingerprint: 'f1', state: 'active', rests_ms: 0, strikes: 0 }],
  breaker: { state: 'closed', rests_ms: 0, not_closed: 0 },
  calls: { running: 1, waiting: 2, limit: 32 },
  cache: { verdicts: 10, limit: 100 },
  usage: {
    tokens: [{ model: 'gpt-oss:20b', prompt: 100, completion: 10, cached: 0 }],
    unusable: [{ model: 'gpt-oss:20b', reason: 'no JSON', count: 1 }],
  },
  ...given,
});

describe('the state of several workers', (check) => {
  const statesOf = (workers: readonly FakeWorker[], own: readonly ProcessState[]) =>
    workers.map(({ state }, index) => state.admin.states(() => own[index] ?? stateWith()));

  check('is added up, whichever is asked; of what differs the worst is reported', async () => {
    const { join } = createWorld();
    const cooling = { fingerprint: 'f1', state: 'cooling', reason: 'auth', rests_ms: 500, strikes: 2 } as const;
    const own = [stateWith(), stateWith({ keys: [cooling], breaker: { state: 'open', rests_ms: 70, not_closed: 1 } })];
    for (const find of statesOf([join(), join()], own)) {
      const found = await find();
      assert.equal([found.running, found.states.length], [2, 2]);
      assert.equal(mergeStates(found), {
        keys: [{ ...cooling, differs: true }],
        breaker: { state: 'open', rests_ms: 70, not_closed: 1 },
        calls: { running: 2, waiting: 4, limit: 64 },
        cache: { verdicts: 20, limit: 200 },
        usage: {
          tokens: [{ model: 'gpt-oss:20b', prompt: 200, completion: 20, cached: 0 }],
          unusable: [{ model: 'gpt-oss:20b', reason: 'no JSON', count: 2 }],
        },
      });
    }
  });

  check('says that one is missing which does not answer, and never counts less tokens than before', async () => {
    const { join, clock } = createWorld();
    const [first, second] = [join(), join()];
    const [find] = statesOf([first, second], []);
    const promptsOf = async () => {
      const asked = find?.();
      await settle();
      await clock.advance(1000);
      const found = await asked;
      if (found === undefined) throw new Error('No states');
      return [found.running, found.states.length, mergeStates(found).usage.tokens[0]?.prompt];
    };
    assert.equal(await promptsOf(), [2, 2, 200]);
    second.cut();
    assert.equal(await promptsOf(), [2, 1, 200]);
    second.registration.leave();
    assert.equal(await promptsOf(), [1, 1, 200]);
  });

  check('is refused, and is not that of one worker, when the first process does not answer', async () => {
    const { join, clock } = createWorld();
    const worker = join();
    const [find] = statesOf([worker], []);
    worker.cut();
    const refused = find?.().catch((error: { detail: { kind: string } }) => error.detail.kind);
    await settle();
    await clock.advance(3000);
    assert.is(await refused, 'unavailable');
  });
});

describe('the feed of several workers', (check) => {
  const createFeeds = () => {
    const world = createWorld();
    const { clock } = world;
    const join = () => {
      const worker = world.join();
      const feed = createFeed({
        clock,
        isStopping: () => false,
        onBug(error) {
          throw error;
        },
        exchange: worker.state.admin.exchange,
      });
      const open = (lastId?: string) =>
        readEvents(
          feed.stream(
            new Request('http://gateway.test/admin/events', {
              headers: lastId === undefined ? {} : { 'last-event-id': lastId },
            }),
          ),
        );
      return { ...worker, feed, open };
    };
    /** Long enough for a worker to send, and for a reader to look. */
    const pass = async (ms = 600) => {
      await settle();
      for (let left = ms; left > 0; left -= 100) {
        await clock.advance(100);
        await settle();
      }
    };
    return { clock, join, pass };
  };
  const numbersOf = (reader: ReturnType<typeof readEvents>): unknown[] =>
    reader.next().map(({ event, data }) => {
      const { number, count } = data as { number?: number; count?: number };
      return event === 'skipped' ? `skipped ${count}` : number;
    });

  check('has the events of all in one order, for the readers of each', async () => {
    const { join, pass } = createFeeds();
    const workers = [join(), join()] as const;
    const readers = workers.map(({ open }) => open());
    await pass();
    for (const [index, { feed }] of workers.entries()) {
      assert.is(feed.isOpen(), true);
      feed.publish('verdict', { number: index });
    }
    await pass();
    const [here, there] = readers.map(numbersOf);
    assert.equal(here?.toSorted(), [0, 1]);
    assert.equal(here, there);
  });

  check('opens in all workers when somebody reads at one, and in one that starts later', async () => {
    const { join, pass, clock } = createFeeds();
    const [first, second] = [join(), join()];
    assert.is(second.feed.isOpen(), false);
    const reader = first.open();
    await pass();
    const late = join();
    await pass();
    assert.equal([second.feed.isOpen(), late.feed.isOpen()], [true, true]);
    late.feed.publish('verdict', { number: 1 });
    await pass();
    assert.equal(numbersOf(reader), [1]);
    await reader.leave();
    await clock.advance(61_000);
    assert.equal([first.feed.isOpen(), second.feed.isOpen(), late.feed.isOpen()], [false, false, false]);
  });

  check('goes on at another worker after the last event that was seen at one', async () => {
    const { join, pass } = createFeeds();
    const [first, second] = [join(), join()];
    const before = first.open();
    await pass();
    for (const number of [1, 2, 3]) second.feed.publish('verdict', { number });
    await pass();
    const seen = before.next();
    await before.leave();
    const after = second.open(seen[0]?.id);
    await pass();
    assert.equal(numbersOf(after), [2, 3]);
  });

  check('says how many events a worker has left out', async () => {
    const { join, pass } = createFeeds();
    const [first, second] = [join(), join()];
    const reader = first.open();
    await pass();
    second.feed.publish('verdict', { number: 1 });
    for (let left = 0; left < 150; left++) second.feed.skip();
    await pass();
    second.feed.publish('verdict', { number: 2 });
    await pass();
    assert.equal(numbersOf(reader), [1, 'skipped 150', 2]);
  });

  check('costs no message while nobody reads', async () => {
    const { join, pass } = createFeeds();
    const { messages, feed } = join();
    const before = messages.length;
    await pass(5000);
    assert.is(feed.isOpen(), false);
    assert.is(messages.length, before);
  });
});

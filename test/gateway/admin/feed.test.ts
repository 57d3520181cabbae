import * as assert from 'uvu/assert';
import { createFeed } from '../../../src/gateway/admin/feed.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { readEvents, type SentEvent } from './world.ts';

const LOOK_MS = 200;

const createWorld = () => {
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  let isStopping = false;
  const feed = createFeed({
    clock,
    isStopping: () => isStopping,
    onBug: (error) => bugs.push(error),
  });
  const open = (lastId?: string) =>
    feed.stream(
      new Request('http://gateway.test/admin/events', {
        headers: lastId === undefined ? {} : { 'last-event-id': lastId },
      }),
    );
  const publish = (...numbers: readonly number[]) => {
    for (const number of numbers) feed.publish('verdict', { number });
  };
  const stop = (): void => {
    isStopping = true;
  };
  return { clock, feed, bugs, open, publish, stop };
};

const shortOf = (events: readonly SentEvent[]): unknown[] =>
  events.map(({ event, data }) => {
    const { number, count } = data as { number?: number; count?: number | null };
    return event === 'verdict' ? number : `${event} ${count}`;
  });

describe('the feed', (check) => {
  check('is closed until somebody reads, and for a minute after', async () => {
    const { clock, feed, open } = createWorld();
    assert.is(feed.isOpen(), false);
    const reader = readEvents(open());
    await clock.advance(120_000);
    assert.is(feed.isOpen(), true);
    await reader.leave();
    await clock.advance(59_000);
    assert.is(feed.isOpen(), true);
    await clock.advance(2000);
    assert.is(feed.isOpen(), false);
    assert.is(clock.pending(), 0);
  });

  check('sends each event once to each reader, from when it came', async () => {
    const { clock, open, publish } = createWorld();
    const first = readEvents(open());
    publish(1, 2);
    await clock.advance(LOOK_MS);
    const second = readEvents(open());
    publish(3);
    await clock.advance(LOOK_MS);
    assert.equal([shortOf(first.next()), shortOf(second.next())], [[1, 2, 3], [3]]);
    await clock.advance(LOOK_MS);
    assert.equal([first.next(), second.next()], [[], []]);
  });

  check('goes on after the last event that a reader has seen', async () => {
    const { clock, open, publish } = createWorld();
    const before = readEvents(open());
    publish(1, 2, 3);
    await clock.advance(LOOK_MS);
    const seen = before.next();
    await before.leave();
    publish(4);
    await clock.advance(30_000);
    const after = readEvents(open(seen[1]?.id));
    await clock.advance(LOOK_MS);
    publish(5);
    await clock.advance(LOOK_MS);
    assert.equal(shortOf(after.next()), [3, 4, 5]);
  });

  check('says that events were skipped which nobody kept: of an earlier time, or without an id of ours', async () => {
    const { clock, open, publish } = createWorld();
    const before = readEvents(open());
    publish(1);
    await clock.advance(LOOK_MS);
    const [seen] = before.next();
    await before.leave();
    await clock.advance(61_000);
    const readers = [seen?.id ?? '', 'canary', '1-7'].map((id) => readEvents(open(id)));
    publish(2);
    await clock.advance(LOOK_MS);
    const lost = ['skipped null', 1, 'skipped null', 2];
    assert.equal(
      readers.map((reader) => shortOf(reader.next())),
      [lost.slice(2), lost, lost],
    );
  });

  check(
    'goes on for a reader whose last event is of another process, or of before the clock was set back',
    async () => {
      const { clock, open, publish } = createWorld();
      const before = readEvents(open());
      publish(1);
      await clock.advance(LOOK_MS);
      const [period] = before.next()[0]?.id?.split('-') ?? [];
      const reader = readEvents(open(`${Number(period) + 60_000}-7`));
      await clock.advance(LOOK_MS);
      publish(2);
      await clock.advance(LOOK_MS);
      assert.equal(shortOf(reader.next()), ['skipped null', 2]);
    },
  );

  check('skips what a slow reader has not taken in time, and says how much, in bounded memory', async () => {
    const { clock, open, publish } = createWorld();
    const response = open();
    for (let round = 0; round < 50; round++) {
      publish(...Array.from({ length: 100 }, (_, index) => round * 100 + index));
      await clock.advance(LOOK_MS);
    }
    const reader = readEvents(response);
    await clock.advance(LOOK_MS * 2);
    const found = shortOf(reader.next());
    const skipped = Number(/skipped (\d+)/.exec(found.join())?.[1]);
    const numbers = found.filter((one) => typeof one === 'number');
    assert.is(numbers.length + skipped, 5000);
    assert.is(numbers.at(-1), 4999);
    assert.ok(numbers.length >= 1000 && numbers.length <= 2200, String(numbers.length));
  });

  check('cuts off a reader that takes nothing at all, and makes room for another', async () => {
    const { clock, open, publish } = createWorld();
    for (let reader = 0; reader < 8; reader++) open();
    assert.throws(open, (error: { detail: { kind: string } }) => error.detail.kind === 'unavailable');
    publish(1);
    await clock.advance(31_000);
    const reader = readEvents(open());
    publish(2);
    await clock.advance(LOOK_MS);
    assert.equal(shortOf(reader.next()), [2]);
  });

  check('has room again when readers leave', async () => {
    const { clock, open, bugs } = createWorld();
    const readers = Array.from({ length: 8 }, () => readEvents(open()));
    assert.throws(open);
    await Promise.all(readers.map(({ leave }) => leave()));
    await clock.advance(LOOK_MS);
    readEvents(open());
    assert.equal(bugs, []);
  });

  check('sends a sign of life where nothing happens', async () => {
    const { clock, open } = createWorld();
    const reader = readEvents(open());
    await clock.advance(25_000);
    assert.is(reader.text().split(': heartbeat').length, 3);
    assert.equal(reader.next(), []);
  });

  check('ends with an event when the service stops', async () => {
    const { clock, open, publish, stop } = createWorld();
    const reader = readEvents(open());
    await clock.advance(LOOK_MS);
    publish(1);
    stop();
    await clock.advance(LOOK_MS);
    assert.equal(
      reader.next().map(({ event }) => event),
      ['verdict', 'stopping'],
    );
    assert.is(reader.isOver(), true);
    assert.is(clock.pending(), 0);
  });
});

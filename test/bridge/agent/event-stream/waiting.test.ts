import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import { feedOver, idle, idleEvent, never, turn, withFeed } from './world.ts';

describe('a caller that waits for the event stream', (check) => {
  check(
    'waits ten seconds, and learns why it does not come',
    withFeed(async ({ feed, line, clock }) => {
      line().fail('ECONNREFUSED');
      await turn();
      const outcome = rejection(feed.untilOpen(never));
      await clock.advance(10_000);
      const error = await outcome;
      assert.equal(error instanceof Fault && error.detail, {
        kind: 'backend-error',
        reason: 'The agent server sends no events (ECONNREFUSED)',
      });
    }),
  );

  check(
    'is let go with its own reason',
    withFeed(async ({ feed }) => {
      const leaving = new AbortController();
      const outcome = rejection(feed.untilOpen(leaving.signal));
      const reason = new Fault({ kind: 'client-left' });
      leaving.abort(reason);
      assert.is(await outcome, reason);
    }),
  );

  check(
    'makes it hurry after a long time without success',
    withFeed(async ({ feed, line, lines, clock, connect }) => {
      for (let time = 0; time < 8; time++) {
        line().fail('ECONNREFUSED');
        await turn();
        await clock.advance(15_000);
      }
      line().fail('ECONNREFUSED');
      await turn();
      await clock.advance(1000);
      const { length } = lines;
      const opened = feed.untilOpen(never);
      await turn();
      assert.is(lines.length, length + 1);
      line().fail('ECONNREFUSED');
      await turn();
      void feed.untilOpen(never).catch(() => {});
      await turn();
      assert.is(lines.length, length + 1, 'not more often than four times a second');
      await clock.advance(250);
      assert.is(lines.length, length + 2);
      await connect();
      await opened;
    }),
  );

  check(
    'waits again after a loss',
    withFeed(async ({ feed, connect, lose }) => {
      await connect();
      await lose();
      let isOpened = false;
      const opened = feed.untilOpen(never).then(() => (isOpened = true));
      await turn();
      assert.not.ok(isOpened);
      await connect();
      await opened;
    }),
  );

  check('waits for nothing once the feed has been stopped', async () => {
    for (const isConnected of [true, false]) {
      const { feed, connect, collected, line, clock, lines } = feedOver();
      if (isConnected) await connect();
      const outcome = isConnected ? undefined : rejection(feed.untilOpen(never));
      feed.stop();
      feed.stop();
      assert.not.ok(feed.isOpen());
      const expected = { kind: 'unavailable', message: 'The bridge is stopping', retryAfterMs: 1000 };
      for (const error of [await outcome, await rejection(feed.untilOpen(never))]) {
        if (error !== undefined) assert.equal(error instanceof Fault && error.detail, expected);
      }
      line().send(idle('1'));
      await clock.advance(100_000);
      assert.equal([collected, lines.length, clock.pending()], [[], 1, 0]);
      assert.ok(line().signal.aborted);
    }
  });

  check('receives nothing more from the moment on in which it stops the feed', async () => {
    const { feed, connect, collected, clock } = feedOver();
    feed.subscribe(() => feed.stop());
    await connect(`${idle('1')}${idle('2')}data: no event\n\n`);
    assert.equal(collected, [idleEvent('1')]);
    assert.is(clock.pending(), 0);
  });

  check('stops a feed that rests', async () => {
    const { feed, line, clock, lines } = feedOver();
    line().fail('ECONNREFUSED');
    await turn();
    assert.is(clock.pending(), 1);
    feed.stop();
    assert.is(clock.pending(), 0);
    await clock.advance(100_000);
    assert.is(lines.length, 1);
  });
});

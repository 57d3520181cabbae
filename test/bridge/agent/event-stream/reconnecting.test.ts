import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { idle, idleEvent, sse, turn, withFeed } from './world.ts';

describe('a feed whose connection is lost', (check) => {
  check(
    'tries again after a quarter of a second, doubling to fifteen',
    withFeed(async ({ feed, line, lines, clock, logged }) => {
      for (const delayMs of [250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]) {
        const { length } = lines;
        line().fail('ECONNREFUSED');
        await turn();
        await clock.advance(delayMs - 1);
        assert.is(lines.length, length, `${delayMs}`);
        await clock.advance(1);
        assert.is(lines.length, length + 1, `${delayMs}`);
      }
      assert.equal(logged, [{ level: 'warn', event: 'agent-lost', reason: 'ECONNREFUSED', restMs: 250 }]);
      assert.is(feed.lossReason(), 'ECONNREFUSED');
    }),
  );

  check(
    'is as patient with an agent that was there before',
    withFeed(async ({ connect, lose, line, lines, clock }) => {
      await connect();
      await clock.advance(20_000);
      await lose();
      for (const delayMs of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
        const { length } = lines;
        line().fail('ECONNREFUSED');
        await turn();
        await clock.advance(delayMs - 1);
        assert.is(lines.length, length, `${delayMs}`);
        await clock.advance(1);
        assert.is(lines.length, length + 1, `${delayMs}`);
      }
    }),
  );

  check(
    'waits half as long where chance wants it',
    withFeed(
      async ({ line, lines, clock }) => {
        line().fail('ECONNREFUSED');
        await turn();
        await clock.advance(124);
        assert.is(lines.length, 1);
        await clock.advance(1);
        assert.is(lines.length, 2);
      },
      { chance: () => 1 },
    ),
  );

  check(
    'is patient with an agent that breaks off again and again, and quick after a good time',
    withFeed(async ({ connect, lose, line, lines, clock }) => {
      for (const delayMs of [250, 500, 1000]) {
        await connect();
        await lose(delayMs);
      }
      await connect();
      await clock.advance(9_999);
      await lose(2000);
      await connect();
      await clock.advance(10_000);
      const { length } = lines;
      line().end();
      await turn();
      await clock.advance(250);
      assert.is(lines.length, length + 1);
    }),
  );

  check(
    'stays away for as long as the agent wants, within reason',
    withFeed(async ({ connect, send, line, lines, clock }) => {
      for (const [asked, delayMs] of [
        [3000, 3000],
        [999_999, 15_000],
      ] as const) {
        await connect();
        await send(`retry: ${asked}\n\n`);
        const { length } = lines;
        line().end();
        await turn();
        await clock.advance(delayMs - 1);
        assert.is(lines.length, length);
        await clock.advance(1);
        assert.is(lines.length, length + 1);
      }
    }),
  );

  check(
    'is taken for lost after 35 seconds without a byte',
    withFeed(async ({ connect, send, line, lines, clock, feed, logged }) => {
      await connect();
      for (let time = 0; time < 5; time++) {
        await clock.advance(34_999);
        await send(time % 2 === 0 ? ':' : sse('server.heartbeat'));
      }
      assert.ok(feed.isOpen());
      const { signal } = line();
      await clock.advance(34_999);
      assert.ok(feed.isOpen());
      await clock.advance(1);
      assert.not.ok(feed.isOpen());
      assert.ok(signal.aborted);
      await clock.advance(250);
      assert.is(lines.length, 2);
      assert.equal(logged.at(-1), { level: 'warn', event: 'agent-lost', reason: 'silent', restMs: 250 });
    }),
  );

  check(
    'is not waited for longer than ten seconds until it says that it listens',
    withFeed(async ({ line, lines, clock, logged }) => {
      await clock.advance(9_999);
      assert.is(lines.length, 1);
      await clock.advance(251);
      assert.is(lines.length, 2);
      line().accept();
      line().send(': only a remark\n\n');
      await clock.advance(5000);
      line().send(': and one more\n\n');
      await clock.advance(5000 + 500);
      assert.is(lines.length, 3);
      assert.equal(logged, [{ level: 'warn', event: 'agent-lost', reason: 'not opened in time', restMs: 250 }]);
    }),
  );

  check(
    'goes when the agent says goodbye, and comes back',
    withFeed(async ({ connect, send, line, lines, clock, feed, collected, logged }) => {
      await connect(idle('1', 'evt_1'));
      const { signal } = line();
      await send(sse('server.instance.disposed', { directory: '/srv' }));
      assert.not.ok(feed.isOpen());
      assert.ok(signal.aborted);
      await clock.advance(250);
      assert.is(lines.length, 2);
      await connect();
      assert.equal(collected, [idleEvent('1')]);
      assert.equal(
        logged.map(({ event, reason }) => [event, reason]),
        [
          ['agent-connected', undefined],
          ['agent-lost', 'disposed'],
          ['agent-connected', undefined],
        ],
      );
    }),
  );

  check(
    'says why, in words or codes of our own, and not twice',
    withFeed(async ({ line, lines, clock, logged, connect }) => {
      const reasons = () => logged.filter(({ event }) => event === 'agent-lost').map(({ reason }) => reason);
      const next = async () => {
        const { length } = lines;
        await turn();
        while (lines.length === length) await clock.advance(250);
      };
      for (const status of [401, 401, 503, 302]) {
        line().accept(status, 'text/html; canary');
        await next();
      }
      line().accept(200, 'text/html; canary');
      await next();
      await connect('data: canary\n\n');
      line().fail('ECONNRESET');
      await next();
      assert.equal(reasons(), ['status 401', 'status 503', 'status 302', 'no event stream', 'ECONNRESET']);
      await connect();
      line().fail('ECONNRESET');
      await next();
      assert.is(reasons().length, 6, 'it was there in between');
      assert.not.match(JSON.stringify(logged), 'canary');
    }),
  );

  check(
    'comes back from a bug, too',
    withFeed(async ({ line, lines, clock, logged }) => {
      line().fail(new RangeError('canary'));
      await turn();
      await clock.advance(250);
      assert.is(lines.length, 2);
      assert.equal(logged, [
        { level: 'error', event: 'bug', reason: 'RangeError' },
        { level: 'warn', event: 'agent-lost', reason: 'bug', restMs: 250 },
      ]);
    }),
  );
});

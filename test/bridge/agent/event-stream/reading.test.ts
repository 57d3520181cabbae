import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { GAP, idle, idleEvent, sse, turn, withFeed } from './world.ts';

describe('the feed of an agent', (check) => {
  check(
    'passes over what it does not know, without a word',
    withFeed(async ({ connect, send, collected, logged }) => {
      await connect();
      await send(sse('plugin.added', { id: 'x' }) + sse('server.heartbeat') + sse('session.diff', 'odd') + idle('1'));
      assert.equal(collected, [idleEvent('1')]);
      assert.is(logged.length, 1);
    }),
  );

  check(
    'counts what does not fit, and logs it once a minute at most',
    withFeed(async ({ connect, send, collected, logged, clock }) => {
      await connect();
      const unfit = [sse('session.idle', {}), 'data: canary\n\n', 'data: "canary"\n\n', 'data: {"type":5}\n\n'];
      await send(unfit.join('') + idle('1'));
      assert.equal(collected, [idleEvent('1')]);
      const skipped = () => logged.filter(({ event }) => event === 'agent-events-skipped').map(({ count }) => count);
      assert.equal(skipped(), [1]);
      for (const ms of [30_000, 29_999]) {
        await clock.advance(ms);
        await send(sse('server.heartbeat'));
      }
      assert.equal(skipped(), [1]);
      await clock.advance(1);
      assert.equal(skipped(), [1, 3]);
      for (const ms of [30_000, 30_000]) {
        await clock.advance(ms);
        await send(sse('server.heartbeat'));
      }
      await send(sse('message.updated', { info: { role: 'canary' } }));
      assert.equal(skipped(), [1, 3, 1]);
      assert.not.match(JSON.stringify(logged), 'canary');
    }),
  );

  check(
    'reads events however they are cut',
    withFeed(async ({ connect, line, collected }) => {
      await connect();
      const part = { id: 'prt_1', sessionID: 'ses_1', messageID: 'msg_1', type: 'text', text: 'Grüße 世界 😀' };
      const reported = sse('message.part.updated', { part, time: 1 }).replaceAll('\n', '\r\n');
      for (const byte of new TextEncoder().encode(reported)) line().send(Uint8Array.of(byte));
      for (let count = 0; count < 5; count++) await turn();
      const [news] = collected;
      assert.is(collected.length, 1);
      assert.is(
        news?.kind === 'event' &&
          news.event.type === 'message.part.updated' &&
          news.event.properties.part.type === 'text' &&
          news.event.properties.part.text,
        part.text,
      );
    }),
  );

  check(
    'has a gap where an event was too long to be kept',
    withFeed(async ({ connect, line, collected, logged, feed }) => {
      await connect();
      line().send(idle('1'));
      line().send('data: {"type":"message.part.updated","properties":{"part":"');
      const megabyte = new TextEncoder().encode('x'.repeat(1024 * 1024));
      for (let count = 0; count < 16; count++) line().send(megabyte);
      line().send(`"}}\n\n${idle('2')}`);
      for (let count = 0; count < 5; count++) await turn();
      assert.equal(collected, [idleEvent('1'), GAP, idleEvent('2')]);
      assert.ok(feed.isOpen());
      assert.equal(logged.at(-1), { level: 'warn', event: 'agent-events-skipped', count: 1 });
    }),
  );
});

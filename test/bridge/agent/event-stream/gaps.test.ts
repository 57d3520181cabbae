import * as assert from 'uvu/assert';
import type { AgentEventUpdate } from '../../../../src/bridge/agent/types.ts';
import { describe } from '../../../check.ts';
import { GAP, idle, idleEvent, never, sse, withFeed } from './world.ts';

describe('a feed whose connection is lost', (check) => {
  check(
    'has a gap after it where events have no ids: reported when it is open again, before anything else',
    withFeed(async ({ connect, lose, feed, collected, line, send }) => {
      await connect();
      await send(idle('1'));
      await lose();
      assert.not.ok(feed.isOpen());
      assert.is(line().headers['last-event-id'], undefined);
      assert.equal(collected, [idleEvent('1')]);
      let receivedWhenOpened: readonly AgentEventUpdate[] = [];
      const opened = feed.untilOpen(never).then(() => {
        receivedWhenOpened = [...collected];
      });
      await connect(idle('2'));
      await opened;
      assert.equal(collected, [idleEvent('1'), GAP, idleEvent('2')]);
      assert.equal(receivedWhenOpened.slice(0, 2), [idleEvent('1'), GAP]);
    }),
  );

  check(
    'misses nothing where they have',
    withFeed(async ({ connect, lose, collected, line, send }) => {
      await connect();
      await send(idle('1', 'evt_1') + sse('plugin.added', {}, 'evt_2') + sse('server.heartbeat'));
      await lose();
      assert.is(line().headers['last-event-id'], 'evt_2');
      await connect(idle('2', 'evt_3'));
      assert.equal(collected, [idleEvent('1'), idleEvent('2')]);
      await lose(500);
      assert.is(line().headers['last-event-id'], 'evt_3');
    }),
  );

  check(
    'asks anew for an event that was cut',
    withFeed(async ({ connect, lose, collected, line, send }) => {
      await connect(idle('1', 'evt_1'));
      await send(idle('2', 'evt_2').slice(0, -1));
      await lose();
      assert.is(line().headers['last-event-id'], 'evt_1');
      await connect(idle('2', 'evt_2'));
      assert.equal(collected, [idleEvent('1'), idleEvent('2')]);
    }),
  );

  check(
    'has a gap as well when no id had come before it was lost',
    withFeed(async ({ connect, lose, collected }) => {
      await connect();
      await lose();
      await connect(idle('1', 'evt_1'));
      assert.equal(collected, [GAP, idleEvent('1')]);
    }),
  );

  check(
    'has a gap when the agent says that it has forgotten some',
    withFeed(async ({ connect, lose, collected }) => {
      await connect(idle('1', 'evt_1'));
      await lose();
      await connect(sse('server.events.lost', { after: 'evt_1', from: 'evt_5' }) + idle('2', 'evt_5'));
      assert.equal(collected, [idleEvent('1'), GAP, idleEvent('2')]);
    }),
  );

  check(
    'begins anew when the agent does not take its id',
    withFeed(async ({ connect, lose, collected, line, lines, clock }) => {
      await connect(idle('1', 'evt_1'));
      await lose();
      line().accept(400, 'application/json');
      await clock.advance(500);
      assert.is(lines.length, 3);
      assert.is(line().headers['last-event-id'], undefined);
      await connect();
      assert.equal(collected, [idleEvent('1'), GAP]);
    }),
  );

  check(
    'has a gap when the id is none that could be sent',
    withFeed(async ({ connect, lose, collected, line }) => {
      for (const [time, id] of ['世', 'a b', 'x'.repeat(201)].entries()) {
        await connect(idle('1', id));
        await lose(250 * 2 ** time);
        assert.is(line().headers['last-event-id'], undefined);
        collected.length = 0;
      }
      await connect();
      assert.equal(collected, [GAP]);
    }),
  );

  check(
    'keeps its id over connections that fail',
    withFeed(async ({ connect, lose, line, clock }) => {
      await connect(idle('1', 'evt_1'));
      await lose();
      line().fail('ECONNREFUSED');
      await clock.advance(500);
      line().accept(503, 'application/json');
      await clock.advance(1000);
      assert.is(line().headers['last-event-id'], 'evt_1');
    }),
  );

  check(
    'has no gap before it was ever open',
    withFeed(async ({ connect, line, clock, collected }) => {
      line().fail('ECONNREFUSED');
      await clock.advance(250);
      await connect(idle('1'));
      assert.equal(collected, [idleEvent('1')]);
    }),
  );
});

import * as assert from 'uvu/assert';
import type { AgentEventUpdate } from '../../../../src/bridge/agent/types.ts';
import { describe } from '../../../check.ts';
import { CONNECTED, idle, idleEvent, never, withFeed } from './world.ts';

const place = {
  baseUrl: 'http://agent.test/',
  credentials: { username: 'opencode', password: 'ü' },
  directory: '/srv/a b',
};

describe('the feed of an agent', (check) => {
  check(
    'is asked for at once, by name and for its directory',
    withFeed(async ({ lines }) => {
      assert.is(lines.length, 1);
      assert.is(lines[0]?.url, 'http://agent.test/event?directory=%2Fsrv%2Fa+b');
      assert.equal(lines[0]?.headers, {
        authorization: `Basic ${Buffer.from('opencode:ü').toString('base64')}`,
        accept: 'text/event-stream',
      });
    }, place),
  );

  check(
    'is open once the agent says that it listens',
    withFeed(async ({ feed, line, send, logged }) => {
      let isOpened = false;
      const opened = feed.untilOpen(never).then(() => (isOpened = true));
      assert.not.ok(feed.isOpen());
      line().accept();
      await send(': a remark\n\n');
      assert.not.ok(feed.isOpen() || isOpened);
      await send(CONNECTED);
      assert.ok(feed.isOpen());
      await opened;
      await feed.untilOpen(never);
      assert.equal(logged, [{ level: 'info', event: 'agent-connected' }]);
    }),
  );

  check(
    'sends everything to every listener, at once and in order',
    withFeed(async ({ feed, connect, send }) => {
      const order: string[] = [];
      const note = (who: string) => (news: AgentEventUpdate) =>
        void order.push(
          `${who}:${news.kind === 'event' && 'sessionID' in news.event.properties && news.event.properties.sessionID}`,
        );
      feed.subscribe(note('a'));
      const leave = feed.subscribe(note('b'));
      await connect();
      await send(idle('1') + idle('2'));
      leave();
      leave();
      await send(idle('3'));
      assert.equal(order, ['a:1', 'b:1', 'a:2', 'b:2', 'a:3']);
    }),
  );

  check(
    'sends a listener nothing once it has unsubscribed, and a new one only what comes after',
    withFeed(async ({ feed, connect, send }) => {
      const order: string[] = [];
      await connect();
      feed.subscribe(() => {
        order.push('first');
        leave();
        feed.subscribe(() => void order.push('new'));
      });
      const leave = feed.subscribe(() => void order.push('second'));
      await send(idle('1'));
      assert.equal(order, ['first']);
      await send(idle('2'));
      assert.equal(order, ['first', 'first', 'new']);
    }),
  );

  check(
    'sends an event of one session to the listeners of that session alone, however many others there are',
    withFeed(async ({ feed, connect, send }) => {
      const calls: string[] = [];
      const leaves = Array.from({ length: 100 }, (_, index) =>
        feed.subscribe((news) => void calls.push(`${index}:${news.kind}`), `ses_${index}`),
      );
      await connect();
      await send(idle('ses_7') + idle('ses_none'));
      assert.equal(calls, ['7:event']);
      leaves[7]?.();
      await send(idle('ses_7'));
      assert.is(calls.length, 1);
    }),
  );

  check(
    'sends permission requests, questions and gaps to the listeners of all sessions',
    withFeed(async ({ feed, connect, send }) => {
      const calls: string[] = [];
      for (const session of ['ses_1', 'ses_2'])
        feed.subscribe(
          (news) => void calls.push(`${session}:${news.kind === 'event' ? news.event.type : news.kind}`),
          session,
        );
      await connect();
      const told = (type: string, properties: object) => `data: ${JSON.stringify({ type, properties })}\n\n`;
      const [asked, replied, question] = ['permission.asked', 'permission.replied', 'question.asked'] as const;
      await send(told(asked, { id: 'per_1', sessionID: 'ses_child', permission: 'pay' }));
      await send(told(replied, { sessionID: 'ses_child', requestID: 'per_1' }));
      await send(told(question, { id: 'que_1', sessionID: 'ses_child' }));
      await send(told('server.events.lost', {}));
      assert.equal(
        calls,
        [asked, replied, question, 'gap'].flatMap((type) => [`ses_1:${type}`, `ses_2:${type}`]),
      );
    }),
  );

  check(
    'goes on when a listener throws',
    withFeed(async ({ feed, connect, send, collected, logged }) => {
      feed.subscribe(() => {
        throw new TypeError('canary');
      });
      const later: AgentEventUpdate[] = [];
      feed.subscribe((news) => void later.push(news));
      await connect();
      await send(idle('1'));
      assert.equal([collected, later], [[idleEvent('1')], [idleEvent('1')]]);
      assert.equal(logged.at(-1), { level: 'error', event: 'bug', reason: 'TypeError' });
    }),
  );
});

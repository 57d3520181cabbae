import * as assert from 'uvu/assert';
import { type AgentEventStreamOptions, createAgentEventStream } from '../../../src/bridge/agent/event-stream.ts';
import type { AgentEventUpdate } from '../../../src/bridge/agent/types.ts';
import { Fault } from '../../../src/core/fault.ts';
import { encodeSse } from '../../../src/core/http/sse.ts';
import { createLog } from '../../../src/core/log.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createScriptedStreams, type Line } from '../harness/scripted-streams.ts';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const sse = (type: string, properties: unknown = {}, id?: string): string =>
  encodeSse({ ...(id === undefined ? {} : { id }), data: JSON.stringify({ id: 'evt_x', type, properties }) });
const CONNECTED = sse('server.connected');
const idle = (sessionID: string, id?: string): string => sse('session.idle', { sessionID }, id);
const idleEvent = (sessionID: string): AgentEventUpdate => ({
  kind: 'event',
  event: { type: 'session.idle', properties: { sessionID } },
});
const GAP: AgentEventUpdate = { kind: 'gap' };

/** A feed over streams of the test, with everything that a listener heard and the log. */
const feedOver = (changes: Partial<AgentEventStreamOptions> = {}) => {
  const clock = createFakeClock();
  const { stream, lines } = createScriptedStreams();
  const logged: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    const { time, service, ...line } = JSON.parse(text);
    logged.push(line);
  };
  const log = createLog({ level: 'debug', service: 'bridge', clock, write });
  const feed = createAgentEventStream({
    stream,
    clock,
    log,
    chance: () => 0,
    baseUrl: 'http://agent.test',
    ...changes,
  });
  const collected: AgentEventUpdate[] = [];
  feed.subscribe((news) => void collected.push(news));
  const line = (at = -1): Line => {
    const found = lines.at(at);
    if (found === undefined) throw new Error('Nobody connected');
    return found;
  };
  const world = {
    clock,
    feed,
    lines,
    line,
    collected,
    logged,
    /** The newest connection is accepted and says so. */
    async connect(more = '') {
      line().accept();
      line().send(CONNECTED + more);
      await turn();
    },
    async send(text: string | Uint8Array) {
      line().send(text);
      await turn();
    },
    /** The newest connection ends, and the next one is asked for. */
    async lose(waitMs = 250) {
      const { length } = lines;
      line().end();
      await turn();
      await clock.advance(waitMs - 1);
      assert.is(lines.length, length, 'too early');
      await clock.advance(1);
      assert.is(lines.length, length + 1, 'too late');
    },
  };
  return world;
};
type World = ReturnType<typeof feedOver>;
const withFeed =
  (body: (world: World) => Promise<void>, changes: Partial<AgentEventStreamOptions> = {}) =>
  async () => {
    const world = feedOver(changes);
    try {
      await body(world);
    } finally {
      world.feed.stop();
      await turn();
      assert.is(world.clock.pending(), 0, 'no timer is left');
      assert.ok(
        world.lines.every(({ signal }) => signal.aborted),
        'no connection is left',
      );
    }
  };

describe('the feed of an agent', (check) => {
  const place = {
    baseUrl: 'http://agent.test/',
    credentials: { username: 'opencode', password: 'ü' },
    directory: '/srv/a b',
  };
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

import * as assert from 'uvu/assert';
import { isBridgeFault } from '../../../../src/bridge/errors.ts';
import { type AgentUpdate, createAgentFeed } from '../../../../src/bridge/turns/opencode/feed.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { createLog } from '../../../../src/core/log.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createScriptedStreams, type Line } from '../../harness/scripted-streams.ts';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const told = (type: string, properties: unknown = {}): string =>
  `data: ${JSON.stringify({ id: 'evt_x', type, properties })}\n\n`;
const CONNECTED = told('server.connected');
const GAP: AgentUpdate = { type: 'gap' };
const question = (id: string): AgentUpdate => ({ type: 'question.asked', properties: { id, sessionID: 'ses_1' } });
const asking = (id: string): string => told('question.asked', { id, sessionID: 'ses_1' });

/** A feed over streams of the test, with everything that a listener heard and the log. It is stopped, whatever comes of `body`. */
const withFeed =
  (body: (world: ReturnType<typeof feedOver>) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const world = feedOver();
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

const feedOver = () => {
  const clock = createFakeClock();
  const { stream, lines } = createScriptedStreams();
  const logged: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    const { time, service, ...line } = JSON.parse(text);
    logged.push(line);
  };
  const log = createLog({ level: 'debug', service: 'bridge', clock, write });
  const httpClient = (): never => {
    throw new Error('The feed calls nothing');
  };
  const transport = { baseUrl: 'http://agent.test/', httpClient, stream, servers: undefined };
  const credentials = { username: 'opencode', password: 'ü' };
  const feed = createAgentFeed({ transport: { ...transport, credentials }, clock, log, chance: () => 0 });
  const collected: AgentUpdate[] = [];
  feed.subscribe((update) => void collected.push(update));
  const line = (): Line => {
    const found = lines.at(-1);
    if (found === undefined) throw new Error('Nobody connected');
    return found;
  };
  return {
    ...{ clock, feed, lines, line, collected, logged },
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
    /** What has ended the newest connection is noticed, and the next one is asked for after a second. */
    async reopened() {
      const { length } = lines;
      await turn();
      await clock.advance(999);
      assert.is(lines.length, length, 'too early');
      await clock.advance(1);
      assert.is(lines.length, length + 1, 'too late');
    },
  };
};

describe('the events of an OpenCode server', (check) => {
  check(
    'are asked for at once, by name, and are open once the server says so',
    withFeed(async ({ lines, feed, line, send }) => {
      assert.is(lines[0]?.url, 'http://agent.test/event');
      assert.equal(lines[0]?.headers, {
        authorization: `Basic ${Buffer.from('opencode:ü').toString('base64')}`,
        accept: 'text/event-stream',
      });
      let isOpened = false;
      const opened = feed.untilOpen(never).then(() => (isOpened = true));
      line().accept();
      await send(': a remark\n\n');
      assert.not.ok(isOpened);
      await send(CONNECTED);
      await opened;
      await feed.untilOpen(never);
    }),
  );

  check(
    'reach every listener in order until it leaves, however they are cut; others are passed over',
    withFeed(async ({ feed, connect, line, send, collected, logged }) => {
      const order: string[] = [];
      const note = (who: string) => (update: AgentUpdate) =>
        void order.push(`${who}:${update.type === 'question.asked' && update.properties.id}`);
      feed.subscribe(note('a'));
      const leave = feed.subscribe(note('b'));
      await connect();
      const sent = asking('1') + told('plugin.added', { id: 'x' }) + told('session.diff', 'odd') + asking('2');
      for (const byte of new TextEncoder().encode(sent)) line().send(Uint8Array.of(byte));
      for (let count = 0; count < 5; count++) await turn();
      leave();
      await send(asking('3'));
      assert.equal(order, ['a:1', 'b:1', 'a:2', 'b:2', 'a:3']);
      assert.equal([collected.length, logged], [3, []]);
    }),
  );

  check(
    'that do not fit are counted, and logged once a minute at most',
    withFeed(async ({ connect, send, collected, logged, clock }) => {
      await connect();
      const unfit = [told('question.asked', {}), 'data: canary\n\n', 'data: "canary"\n\n', 'data: {"type":5}\n\n'];
      await send(unfit.join('') + asking('1'));
      assert.equal(collected, [question('1')]);
      const skipped = () => logged.map(({ event, count }) => [event, count]);
      assert.equal(skipped(), [['agent-events-skipped', 1]]);
      for (const ms of [30_000, 30_000]) {
        await clock.advance(ms);
        await send(told('server.heartbeat'));
      }
      await send(told('message.updated', { info: { role: 'canary' } }));
      assert.equal(skipped().slice(1), [['agent-events-skipped', 4]]);
      assert.not.match(JSON.stringify(logged), 'canary');
    }),
  );

  check(
    'have a gap where one was too long to be kept',
    withFeed(async ({ connect, line, collected }) => {
      await connect(asking('1'));
      line().send('data: {"type":"message.part.updated","properties":{"part":"');
      const megabyte = new TextEncoder().encode('x'.repeat(1024 * 1024));
      for (let count = 0; count < 16; count++) line().send(megabyte);
      line().send(`"}}\n\n${asking('2')}`);
      for (let count = 0; count < 5; count++) await turn();
      assert.equal(collected, [question('1'), GAP, question('2')]);
    }),
  );

  check(
    'have a gap after each loss: reported when the connection is open again, before anything else',
    withFeed(async ({ connect, reopened, feed, collected, line }) => {
      line().fail('ECONNREFUSED');
      await reopened();
      await connect(asking('1'));
      assert.equal(collected, [question('1')], 'no gap before it was ever open');
      line().end();
      await reopened();
      let heardWhenOpened: readonly AgentUpdate[] = [];
      const opened = feed.untilOpen(never).then(() => {
        heardWhenOpened = [...collected];
      });
      await connect(asking('2'));
      await opened;
      assert.equal(collected, [question('1'), GAP, question('2')]);
      assert.equal(heardWhenOpened.slice(0, 2), [question('1'), GAP]);
    }),
  );

  check(
    'are asked for again when the server says goodbye, is silent for too long, refuses, or a bug came',
    withFeed(async ({ connect, reopened, line, send, clock, logged }) => {
      await connect();
      await send(told('server.instance.disposed', { directory: '/srv' }));
      await reopened();
      await connect();
      await clock.advance(34_999);
      await send(':');
      await clock.advance(34_999);
      assert.not.ok(line().signal.aborted);
      await clock.advance(1);
      assert.ok(line().signal.aborted);
      await reopened();
      line().accept(503, 'application/json');
      await reopened();
      line().fail(new RangeError('canary'));
      await reopened();
      assert.equal(logged, [{ level: 'error', event: 'bug', reason: 'RangeError' }]);
    }),
  );

  check(
    'are waited for ten seconds, and the reason is told; a caller that leaves goes with its own',
    withFeed(async ({ feed, line, clock }) => {
      line().fail('ECONNREFUSED');
      await turn();
      const outcome = rejection(feed.untilOpen(never));
      const leaving = new AbortController();
      const left = rejection(feed.untilOpen(leaving.signal));
      const reason = new Fault({ kind: 'client-left' });
      leaving.abort(reason);
      assert.is(await left, reason);
      await clock.advance(10_000);
      const error = await outcome;
      assert.ok(isBridgeFault(error) && error.detail.kind === 'backend-error', String(error));
      assert.is(error.detail.reason, 'The agent server sends no events (ECONNREFUSED)');
    }),
  );

  check('end at once when they are stopped, for those who wait as well', async () => {
    for (const isConnected of [true, false]) {
      const { feed, connect, collected, line, clock, lines } = feedOver();
      if (isConnected) await connect();
      const outcome = isConnected ? undefined : rejection(feed.untilOpen(never));
      feed.stop();
      feed.stop();
      for (const error of [await outcome, await rejection(feed.untilOpen(never))])
        if (error !== undefined) assert.is(error instanceof Fault && error.detail.kind, 'unavailable');
      line().send(asking('1'));
      await clock.advance(100_000);
      assert.equal([collected, lines.length, clock.pending()], [[], 1, 0]);
    }
  });
});

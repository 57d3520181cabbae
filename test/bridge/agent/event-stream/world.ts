import * as assert from 'uvu/assert';
import { type AgentEventStreamOptions, createAgentEventStream } from '../../../../src/bridge/agent/event-stream.ts';
import type { AgentEventUpdate } from '../../../../src/bridge/agent/types.ts';
import { encodeSse } from '../../../../src/core/http/sse.ts';
import { createLog } from '../../../../src/core/log.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createScriptedStreams, type Line } from '../../harness/scripted-streams.ts';

export const never = new AbortController().signal;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const sse = (type: string, properties: unknown = {}, id?: string): string =>
  encodeSse({ ...(id === undefined ? {} : { id }), data: JSON.stringify({ id: 'evt_x', type, properties }) });

export const CONNECTED = sse('server.connected');

export const idle = (sessionID: string, id?: string): string => sse('session.idle', { sessionID }, id);

export const idleEvent = (sessionID: string): AgentEventUpdate => ({
  kind: 'event',
  event: { type: 'session.idle', properties: { sessionID } },
});

export const GAP: AgentEventUpdate = { kind: 'gap' };

/** A feed over streams of the test, with everything that a listener heard and the log. */
export const feedOver = (changes: Partial<AgentEventStreamOptions> = {}) => {
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

export const withFeed =
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

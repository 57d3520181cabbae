import { createOpencodeClient as createFirst } from '@opencode-ai/sdk/client';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2/client';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createPublisher } from '../../../src/agent/events/publisher.ts';
import { followEvents, type LostEvents } from '../../../src/agent/events/stream.ts';
import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { DirectoryEvent, Store } from '../../../src/agent/store/store.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ask, askAndRead, until } from '../harness/permission-requests.ts';
import { createAgentWorld, hanging, type Script } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, deltaOf, sessionOf } from '../store/samples.ts';

type World = Awaited<ReturnType<typeof createAgentWorld>>;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const SESSION = { sessionID: 'ses_000000000000aaaaaaaaaaaaaa' };

/** A store, a publisher, and what a reader of its events has heard. */
const fed = (change: (store: Store) => Store = (store) => store) => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = change(createMemoryStore({ ids, eventLimit: 100_000 }));
  const publisher = createPublisher(store);
  const ending = new AbortController();
  let listeners = 0;
  const watched = {
    subscribe: (listener: (placed: DirectoryEvent) => void) => {
      listeners += 1;
      const leave = publisher.subscribe(listener);
      return () => {
        listeners -= 1;
        leave();
      };
    },
  };
  const publish = (directory: string, count = 1) =>
    publisher.publish(directory, {
      drafts: Array.from({ length: count }, () => ({ type: 'session.idle' as const, properties: SESSION })),
    });
  const publishTexts = (texts: readonly string[]) =>
    publisher.publish('/a', { drafts: texts.map((text) => deltaOf(SESSION.sessionID, text)) });
  const follow = (afterID?: string, directory?: string) => {
    const left = new AbortController();
    const collected: string[] = [];
    const lost: LostEvents[] = [];
    const source = followEvents(
      { store, publisher: watched, ending: ending.signal },
      { afterID, directory, disconnected: left.signal },
    );
    const done = (async () => {
      for await (const reported of source) {
        if ('event' in reported) collected.push(reported.event.id);
        else lost.push(reported);
      }
    })();
    return { collected, lost, leave: () => left.abort(), done };
  };
  return {
    store,
    publish,
    publishTexts,
    follow,
    end: () => ending.abort(),
    listeners: () => listeners,
    publisher,
    ending,
  };
};
const idsIn = async (store: Store, directory?: string): Promise<readonly string[]> =>
  (await store.events({ afterID: '', limit: 1_000_000, ...(directory === undefined ? {} : { directory }) })).map(
    ({ event }) => event.id,
  );

describe('following events', (check) => {
  check('reports those that happen from now on, once each and in order', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 3);
    const reader = follow();
    for (let count = 0; count < 20; count++) await publish('/a', count % 3);
    end();
    await reader.done;
    assert.equal(reader.collected, (await idsIn(store)).slice(3));
  });

  check('reports what was missed first, however much it is', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const reader = follow(ids[99]);
    await publish('/a', 5);
    await turn();
    end();
    await reader.done;
    assert.equal(reader.collected, (await idsIn(store)).slice(100));
  });

  check('loses and doubles nothing, whenever a reader leaves and comes back', async () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ kind: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 700 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), count: fc.nat(3) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), count: fc.nat(3) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, isNarrow) => {
        const { store, publish, follow, end } = fed((inner) => ({
          ...inner,
          async events(asked) {
            const found = await inner.events(asked);
            await turn();
            return found;
          },
        }));
        await publish('/a', 1);
        const directory = isNarrow ? '/a' : undefined;
        const [first = ''] = await idsIn(store);
        const all: string[] = [];
        let reader = follow(first, directory);
        const publishing: Promise<unknown>[] = [];
        for (const [index, { kind, count }] of steps.entries()) {
          if (kind === 'publish') publishing.push(publish(index % 3 === 0 ? '/b' : '/a', count));
          if (kind === 'wait') for (let turns = 0; turns < count; turns++) await turn();
          if (kind !== 'cut') continue;
          reader.leave();
          await reader.done;
          all.push(...reader.collected);
          for (let turns = 0; turns < count; turns++) await turn();
          reader = follow(all.at(-1) ?? first, directory);
        }
        await Promise.all(publishing);
        for (let turns = 0; turns < 60; turns++) await turn();
        end();
        await reader.done;
        all.push(...reader.collected);
        assert.equal(reader.lost, []);
        assert.equal(
          all,
          (await idsIn(store, directory)).filter((id) => id > first),
        );
      }),
      { numRuns: 40 },
    );
  });

  check('learns of one directory only, when it is asked for one', async () => {
    const { store, publish, follow, end } = fed();
    const reader = follow(undefined, '/a');
    for (const directory of ['/a', '/b', '/a/c', '/a']) await publish(directory);
    end();
    await reader.done;
    assert.equal(reader.collected, await idsIn(store, '/a'));
    assert.is(reader.collected.length, 2);
  });

  check('ends when the reader leaves, also while nothing happens', async () => {
    const { publish, follow, listeners } = fed();
    const reader = follow(undefined, '/a');
    await turn();
    assert.is(listeners(), 1);
    reader.leave();
    await reader.done;
    assert.is(listeners(), 0);
    await publish('/a');
    assert.equal(reader.collected, []);
    const gone = follow();
    gone.leave();
    await gone.done;
    assert.is(listeners(), 0);
  });

  check('ends for a reader that lags too far behind, who finds the rest when it comes back', async () => {
    const { store, publish, follow, publisher, ending, end } = fed();
    const left = new AbortController().signal;
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: undefined, directory: undefined, disconnected: left },
    );
    const first = source.next();
    await publish('/a');
    const greeted = (await first).value;
    const collected = [greeted !== undefined && 'event' in greeted ? greeted.event.id : ''];
    for (let count = 0; count < 12; count++) await publish('/a', 1000);
    // It reads on, as slowly as it likes, and comes to an end at the bound.
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 5000) await publish('/a', 10);
    }
    assert.is(collected.length, 10_001);
    const again = follow(collected.at(-1));
    await turn();
    end();
    await again.done;
    assert.equal([...collected, ...again.collected], await idsIn(store));
  });

  check('ends for a reader that lags many bytes behind, however few events they are', async () => {
    const { store, publishTexts, publisher, ending } = fed();
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: undefined, directory: undefined, disconnected: new AbortController().signal },
    );
    const first = source.next();
    await publishTexts(['a']);
    await first;
    const megabyte = 'x'.repeat(1024 * 1024);
    for (let count = 0; count < 40; count++) await publishTexts([megabyte]);
    let collected = 0;
    for await (const reported of source) collected += 'event' in reported ? 1 : 0;
    assert.is(collected, 15);
  });

  check('goes on for a reader that keeps up, however much it is in the end', async () => {
    const { publishTexts, follow, end } = fed();
    const reader = follow();
    await turn();
    const megabyte = 'x'.repeat(1024 * 1024);
    for (let count = 0; count < 20; count++) {
      await publishTexts([megabyte, megabyte]);
      await turn();
    }
    end();
    await reader.done;
    assert.is(reader.collected.length, 40);
  });

  check('reports one event that is larger than a reader may lag behind', async () => {
    const { publishTexts, follow, end } = fed();
    const reader = follow();
    await turn();
    for (const text of ['a', 'x'.repeat(20_000_000), 'b']) {
      await publishTexts([text]);
      await turn();
    }
    end();
    await reader.done;
    assert.is(reader.collected.length, 3);
  });

  check('reads the past in pages that hold few bytes, and leaves nothing out', async () => {
    const asked: { readonly count: number; readonly bytes: number }[] = [];
    const { store, publishTexts, follow, end } = fed((inner) => ({
      ...inner,
      async events(wanted) {
        const page = await inner.events(wanted);
        if (wanted.limitBytes !== undefined) asked.push({ count: page.length, bytes: JSON.stringify(page).length });
        return page;
      },
    }));
    await publishTexts(['a', ...Array.from({ length: 30 }, () => 'x'.repeat(300_000)), 'y'.repeat(5_000_000), 'b']);
    const ids = await idsIn(store);
    const reader = follow(ids[0]);
    await turn();
    end();
    await reader.done;
    assert.equal(reader.collected, ids.slice(1));
    for (const { count, bytes } of asked) assert.ok(count <= 1 || bytes < 6_500_000, `${count} events, ${bytes} bytes`);
    assert.ok(asked.length >= 9, `${asked.length} pages`);
  });

  check('is not cut off while it reports what was missed: what comes meanwhile is part of it', async () => {
    const { store, publish, publisher, ending, end } = fed();
    await publish('/a', 1100);
    const [first = ''] = await idsIn(store);
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: first, directory: undefined, disconnected: new AbortController().signal },
    );
    const collected: string[] = [first];
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 10) for (let count = 0; count < 12; count++) await publish('/a', 1000);
      // Once it has come to the end of what it missed.
      if (collected.length === 13_100) void turn().then(() => publish('/a', 5));
      if (collected.length === 13_105) end();
    }
    assert.is(collected.length, 13_105);
    assert.equal(collected, await idsIn(store));
  });

  check('says that it does not know what came after an id that is newer than all, and goes on from now', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 3);
    const after = `evt_${'z'.repeat(26)}`;
    const [reader, narrow] = [follow(after), follow(after, '/b')];
    await turn();
    await publish('/a', 2);
    await publish('/b', 1);
    await turn();
    end();
    await Promise.all([reader.done, narrow.done]);
    assert.equal(reader.lost, [{ after, from: null }]);
    assert.equal(reader.collected, (await idsIn(store)).slice(3));
    assert.equal([narrow.lost, narrow.collected], [[{ after, from: null }], (await idsIn(store)).slice(5)]);
  });

  check('shows nothing of a session that is gone but that, and counts nothing of it as lost', async () => {
    const { store, publisher, follow, end } = fed();
    const info = sessionOf(SESSION.sessionID);
    const about = (type: 'session.created' | 'session.deleted') => ({
      type,
      properties: { sessionID: info.id, info },
    });
    const [made] = await publisher.publish('/a', { drafts: [about('session.created')] });
    await publisher.publish('/a', { drafts: [{ type: 'session.idle', properties: SESSION }] });
    const changes = [{ kind: 'session-removed' as const, sessionID: info.id }];
    const [gone] = await publisher.publish('/a', { changes, drafts: [about('session.deleted')] });
    const reader = follow(made?.id);
    await turn();
    end();
    await reader.done;
    assert.equal([reader.lost, reader.collected], [[], [gone?.id]]);
    assert.equal(await idsIn(store), [gone?.id]);
  });

  check('says that events were lost, before it reports those that are left', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 20);
    const ids = await idsIn(store);
    await store.pruneEvents(12);
    const reported = async (afterID: string, directory?: string) => {
      const reader = follow(afterID, directory);
      await turn();
      reader.leave();
      await reader.done;
      return reader;
    };
    const [first = '', seventh = '', oldest = ''] = [ids[0], ids[6], ids[8]];
    for (const after of [first, seventh]) {
      const reader = await reported(after);
      assert.equal([reader.lost, reader.collected], [[{ after, from: oldest }], ids.slice(8)]);
    }
    const narrow = await reported(first, '/b');
    assert.equal([narrow.lost, narrow.collected], [[{ after: first, from: oldest }], []]);
    for (const place of [8, 12, 19]) {
      const reader = await reported(ids[place] ?? '');
      assert.equal([reader.lost, reader.collected], [[], ids.slice(place + 1)]);
    }
    await store.pruneEvents(0);
    assert.equal((await reported(first)).lost, [{ after: first, from: null }]);
    end();
  });

  check('says so too when events are forgotten while it still reports what was missed', async () => {
    const { store, publish, publisher, ending, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: ids[0], directory: undefined, disconnected: new AbortController().signal },
    );
    const reported: unknown[] = [];
    for await (const one of source) {
      reported.push('event' in one ? one.event.id : one);
      if (reported.length === 3) await store.pruneEvents(100);
      if (reported.length === 601) end();
    }
    const lost = { after: ids[500], from: ids[1600] };
    assert.equal(reported, [...ids.slice(1, 501), lost, ...ids.slice(1600)]);
  });

  check('ends in the middle of what was missed when the server stops, and reports nothing past the gap', async () => {
    const { store, publish, publisher, ending, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: ids[0], directory: undefined, disconnected: new AbortController().signal },
    );
    const collected: string[] = [];
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 1) await publish('/a', 5);
      if (collected.length === 2) end();
    }
    assert.equal(collected, ids.slice(1, 501));
  });

  check('ends with the failure of the store', async () => {
    const { follow, listeners } = fed((inner) => ({
      ...inner,
      events: async () => {
        throw new Error('the store is gone');
      },
    }));
    const reader = follow('evt_000000000000aaaaaaaaaaaaaa');
    assert.match(String(await rejection(reader.done)), 'the store is gone');
    assert.is(listeners(), 0);
  });
});

/** Reads a stream of the server, event by event. */
const streamOf = async (world: World, path: string, headers: Readonly<Record<string, string>> = {}) => {
  const response = await world.call('GET', path, undefined, headers);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const frames: { readonly id: string | undefined; readonly data: unknown }[] = [];
  const texts: string[] = [];
  const done = (async () => {
    for (;;) {
      const text = (await reader?.read())?.value;
      if (text === undefined) return;
      const [, id] = /^id: (.*)$/m.exec(text) ?? [];
      texts.push(text);
      frames.push({ id, data: JSON.parse(/^data: ([^\n]*)$/m.exec(text)?.[1] ?? 'null') });
    }
  })();
  return { response, frames, texts, done, leave: async () => reader?.cancel() };
};

const CLOSED = {
  id: undefined,
  data: { type: 'server.instance.disposed', properties: { directory: '/srv/desk' } },
};

describe('the streams of the server', (check) => {
  check('greet, and report events bare with their ids', async () => {
    const world = await createAgentWorld();
    const { frames, done } = await streamOf(world, '/event');
    await turn();
    assert.equal(frames, [{ id: undefined, data: { type: 'server.connected', properties: {} } }]);
    await askAndRead(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(100);
    await world.server.stop();
    await done;
    const reported = await world.events();
    assert.equal(frames.slice(1), [...reported.map((event) => ({ id: event.id, data: event })), CLOSED]);
  });

  check('report those of all directories in envelopes', async () => {
    const world = await createAgentWorld();
    const [all, own, other] = [
      await streamOf(world, '/global/event'),
      await streamOf(world, '/event'),
      await streamOf(world, '/event?directory=/other'),
    ];
    const made = await world.call('POST', '/session?directory=/other', {});
    assert.is(made.status, 200);
    await world.session();
    await world.clock.advance(1);
    await world.server.stop();
    await Promise.all([all.done, own.done, other.done]);
    const [first, second] = await world.events();
    assert.equal(all.frames, [
      { id: undefined, data: { payload: { type: 'server.connected', properties: {} } } },
      { id: first?.id, data: { directory: '/other', payload: first } },
      { id: second?.id, data: { directory: '/srv/desk', payload: second } },
      { id: undefined, data: { payload: { type: 'global.disposed', properties: {} } } },
    ]);
    const idsOf = ({ frames }: typeof all) => frames.slice(1, -1).map(({ id }) => id);
    assert.equal(idsOf(own), [second?.id]);
    assert.equal(idsOf(other), [first?.id]);
  });

  check(
    'begin with the sessions that a killed server had at work and that are idle now, on the global stream',
    async () => {
      const { store, id } = await createAgentWorld().then(async (world) => ({
        store: world.store,
        id: await world.session(),
      }));
      const session = await store.session(id);
      if (session === undefined) throw new Error('no session');
      const messageID = 'msg_000000000001aaaaaaaaaaaaaa';
      const info = answer(messageID, id, { path: { cwd: session.directory, root: session.directory } });
      await store.commit([{ kind: 'message', message: info }], []);
      const world = await createAgentWorld({ store });
      const [last] = (await world.events()).slice(-1);
      const resumed = { 'last-event-id': last?.id ?? '' };
      const streams = [
        await streamOf(world, '/global/event'),
        await streamOf(world, '/event'),
        await streamOf(world, '/global/event', resumed),
      ];
      await world.clock.advance(1);
      const typesOf = (frames: readonly { readonly data: unknown }[]) => frames.map(({ data }) => JSON.stringify(data));
      const connected = '{"type":"server.connected","properties":{}}';
      const status = `{"type":"session.status","properties":{"sessionID":"${id}","status":{"type":"idle"}}}`;
      const idle = `{"type":"session.idle","properties":{"sessionID":"${id}"}}`;
      assert.equal(
        streams.map(({ frames }) => typesOf(frames)),
        [
          [connected, status, idle].map((payload) => `{"payload":${payload}}`),
          [connected],
          [`{"payload":${connected}}`],
        ],
      );
      await world.clock.advance(600_000);
      const later = await streamOf(world, '/global/event');
      await world.clock.advance(1);
      assert.is(typesOf(later.frames).filter((text) => text.includes('session.idle')).length, 0);
      await Promise.all([...streams, later].map(({ leave }) => leave()));
    },
  );

  check('beat every ten seconds', async () => {
    const world = await createAgentWorld();
    const [bare, global] = [await streamOf(world, '/event'), await streamOf(world, '/global/event')];
    await world.clock.advance(30_001);
    const beat = { type: 'server.heartbeat', properties: {} };
    assert.equal(
      bare.frames.slice(1),
      Array.from({ length: 3 }, () => ({ id: undefined, data: beat })),
    );
    assert.equal(
      global.frames.slice(1),
      Array.from({ length: 3 }, () => ({ id: undefined, data: { payload: beat } })),
    );
    await Promise.all([bare.leave(), global.leave()]);
  });

  check('go on where a client left, by the id that it received last', async () => {
    const world = await createAgentWorld();
    await askAndRead(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(100);
    const reported = (await world.events()).map(({ id }) => id);
    const again = await streamOf(world, '/event', { 'last-event-id': reported[4] ?? '' });
    await world.session();
    await world.clock.advance(1);
    await world.server.stop();
    await again.done;
    assert.equal(
      again.frames.slice(1, -1).map(({ id }) => id),
      (await world.events()).map(({ id }) => id).slice(5),
    );
  });

  check(
    'end with a last event that names their directory when the server stops, after the end of every run',
    async () => {
      const world = await createAgentWorld({ scripts: [hanging] });
      const streams = await Promise.all(
        ['/event', '/event?directory=%2Fother', '/global/event'].map((path) => streamOf(world, path)),
      );
      const answer = ask(world, await world.session());
      await until(world, () => world.asked.length === 1);
      await world.server.stop();
      await Promise.all([answer, ...streams.map(({ done }) => done)]);
      const lasts = streams.map(({ frames }) => frames.at(-1));
      const [, other, all] = lasts;
      assert.equal(lasts[0], CLOSED);
      assert.equal(other?.data, { type: 'server.instance.disposed', properties: { directory: '/other' } });
      assert.equal(all?.data, { payload: { type: 'global.disposed', properties: {} } });
      assert.match(streams[0]?.texts.at(-2) ?? '', '"type":"session.idle"');
      assert.is(world.clock.pending(), 0);
    },
  );

  check('end in order also when a run does not end, before the time of the process is over', async () => {
    const deaf: Script = async function* () {
      yield { kind: 'text', delta: 'thinking' };
      await new Promise(() => {});
    };
    const world = await createAgentWorld({ scripts: [deaf] });
    const { frames, done } = await streamOf(world, '/event');
    void ask(world, await world.session()).catch(() => {});
    await until(world, () => world.asked.length === 1);
    const stopped = world.server.stop();
    await world.clock.advance(7000);
    await Promise.all([done, stopped]);
    assert.equal(frames.at(-1), CLOSED);
  });

  check('say first that events were lost, in a form that clients skip', async () => {
    const world = await createAgentWorld();
    for (const title of ['one', 'two', 'three']) await world.session({ title });
    const [first, , third] = await world.events();
    await world.store.pruneEvents(1);
    const lost = { type: 'server.events.lost', properties: { after: first?.id, from: third?.id } };
    const headers = { 'last-event-id': first?.id ?? '' };
    const [bare, global] = [await streamOf(world, '/event', headers), await streamOf(world, '/global/event', headers)];
    await turn();
    assert.equal(bare.frames, [
      { id: undefined, data: { type: 'server.connected', properties: {} } },
      { id: undefined, data: lost },
      { id: third?.id, data: third },
    ]);
    assert.equal(global.frames[1], { id: undefined, data: { payload: lost } });
    assert.match(bare.texts[1] ?? '', /^: events were lost[^\n]*\ndata: /);
    await Promise.all([bare.leave(), global.leave()]);
  });

  check('of lost events are understood by both clients of the SDK', async () => {
    const world = await createAgentWorld();
    for (const title of ['one', 'two', 'three']) await world.session({ title });
    const [first, , third] = await world.events();
    await world.store.pruneEvents(1);
    for (const createClient of [createFirst, createSecond]) {
      const client = createClient({ baseUrl: 'http://agent.test', headers: { 'last-event-id': first?.id ?? '' } });
      const asked = globalThis.fetch;
      globalThis.fetch = (url, init) => world.server.handler(new Request(url, init));
      try {
        const { stream } = await client.event.subscribe();
        const types: unknown[] = [];
        for await (const event of stream) {
          types.push(event.type);
          if (event.type === third?.type) break;
        }
        assert.equal(types, ['server.connected', 'server.events.lost', 'session.created']);
      } finally {
        globalThis.fetch = asked;
      }
    }
  });

  check('refuse an id that is none, with a status', async () => {
    const world = await createAgentWorld();
    for (const id of ['1', 'evt_short', 'msg_0123456789abABCDEFGHIJKLMN']) {
      const response = await world.call('GET', '/event', undefined, { 'last-event-id': id });
      assert.is(response.status, 400);
      assert.match(((await response.json()) as { data: { message: string } }).data.message, 'Last-Event-ID');
    }
    const empty = await world.call('GET', '/event', undefined, { 'last-event-id': '' });
    assert.is(empty.status, 200);
    await empty.body?.cancel();
  });

  check('leave nothing behind when their clients leave', async () => {
    const world = await createAgentWorld();
    for (let count = 0; count < 5; count++) {
      const stream = await streamOf(world, count % 2 === 0 ? '/event' : '/global/event');
      await world.clock.advance(1);
      await stream.leave();
    }
    await world.clock.advance(60_000);
    assert.is(world.clock.pending(), 1, 'only the timer for pruning');
    assert.not.ok(
      world.logged.some((line) => line.includes('"bug"')),
      world.logged.join('\n'),
    );
  });

  check('end when the store fails, and the failure is logged', async () => {
    const { store } = await createAgentWorld();
    const world = await createAgentWorld({
      store: {
        ...store,
        events: async () => {
          throw new RangeError('secret');
        },
      },
    });
    const { done, frames } = await streamOf(world, '/event', { 'last-event-id': 'evt_000000000000aaaaaaaaaaaaaa' });
    await done;
    assert.is(frames.length, 1);
    assert.ok(world.logged.some((line) => line.includes('RangeError') && !line.includes('secret')));
  });

  check('get the same answer whatever they are', async () => {
    const world = await createAgentWorld();
    const { frames, done } = await streamOf(world, '/event');
    await askAndRead(world, await world.session({ title: 'line\nbreaks \u2028 and "quotes"' }));
    await world.clock.advance(10);
    await world.server.stop();
    await done;
    const created = frames[1]?.data as Extract<AgentEvent, { type: 'session.created' }>;
    assert.is(created.properties.info.title, 'line\nbreaks \u2028 and "quotes"');
  });
});

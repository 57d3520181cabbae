import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { AgentEvent } from '../../src/agent/event.ts';
import { followEvents } from '../../src/agent/event-stream.ts';
import { createIds } from '../../src/agent/ids.ts';
import { createMemoryStore } from '../../src/agent/memory-store.ts';
import { createPublisher } from '../../src/agent/publisher.ts';
import type { PlacedEvent, Store } from '../../src/agent/store.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createAgentWorld } from './agent-world.ts';
import { ask } from './asking.ts';

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
    subscribe: (listener: (placed: PlacedEvent) => void) => {
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
  const follow = (afterID?: string, directory?: string) => {
    const left = new AbortController();
    const heard: string[] = [];
    const source = followEvents(
      { store, publisher: watched, ending: ending.signal },
      { afterID, directory, left: left.signal },
    );
    const done = (async () => {
      for await (const { event } of source) heard.push(event.id);
    })();
    return { heard, leave: () => left.abort(), done };
  };
  return { store, publish, follow, end: () => ending.abort(), listeners: () => listeners, publisher, ending };
};
const idsIn = async (store: Store, directory?: string): Promise<readonly string[]> =>
  (await store.events({ afterID: '', limit: 1_000_000, ...(directory === undefined ? {} : { directory }) })).map(
    ({ event }) => event.id,
  );

describe('following events', (check) => {
  check('tells those that happen from now on, once each and in order', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 3);
    const reader = follow();
    for (let count = 0; count < 20; count++) await publish('/a', count % 3);
    end();
    await reader.done;
    assert.equal(reader.heard, (await idsIn(store)).slice(3));
  });

  check('tells what was missed first, however much it is', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const reader = follow(ids[99]);
    await publish('/a', 5);
    await turn();
    end();
    await reader.done;
    assert.equal(reader.heard, (await idsIn(store)).slice(100));
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
          all.push(...reader.heard);
          for (let turns = 0; turns < count; turns++) await turn();
          reader = follow(all.at(-1) ?? first, directory);
        }
        await Promise.all(publishing);
        for (let turns = 0; turns < 60; turns++) await turn();
        end();
        await reader.done;
        all.push(...reader.heard);
        assert.equal(
          all,
          (await idsIn(store, directory)).filter((id) => id > first),
        );
      }),
      { numRuns: 40 },
    );
  });

  check('hears of one directory only, when it is asked for one', async () => {
    const { store, publish, follow, end } = fed();
    const reader = follow(undefined, '/a');
    for (const directory of ['/a', '/b', '/a/c', '/a']) await publish(directory);
    end();
    await reader.done;
    assert.equal(reader.heard, await idsIn(store, '/a'));
    assert.is(reader.heard.length, 2);
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
    assert.equal(reader.heard, []);
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
      { afterID: undefined, directory: undefined, left },
    );
    const first = source.next();
    await publish('/a');
    const heard = [(await first).value?.event.id ?? ''];
    for (let count = 0; count < 12; count++) await publish('/a', 1000);
    // It reads on, as slowly as it likes, and comes to an end at the bound.
    for await (const { event } of source) {
      heard.push(event.id);
      if (heard.length === 5000) await publish('/a', 10);
    }
    assert.is(heard.length, 10_001);
    const again = follow(heard.at(-1));
    await turn();
    end();
    await again.done;
    assert.equal([...heard, ...again.heard], await idsIn(store));
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
  const done = (async () => {
    for (;;) {
      const text = (await reader?.read())?.value;
      if (text === undefined) return;
      const [, id] = /^id: (.*)$/m.exec(text) ?? [];
      frames.push({ id, data: JSON.parse(/^data: ([^\n]*)$/m.exec(text)?.[1] ?? 'null') });
    }
  })();
  return { response, frames, done, leave: async () => reader?.cancel() };
};

describe('the streams of the server', (check) => {
  check('greet, and tell events bare with their ids', async () => {
    const world = await createAgentWorld();
    const { frames, done } = await streamOf(world, '/event');
    await turn();
    assert.equal(frames, [{ id: undefined, data: { type: 'server.connected', properties: {} } }]);
    await ask(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(100);
    await world.server.stop();
    await done;
    const told = await world.events();
    assert.equal(frames.slice(1), told.map((event) => ({ id: event.id, data: event })) as typeof frames);
  });

  check('tell those of all directories in envelopes', async () => {
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
    const [first, second] = await world.events();
    assert.equal(all.frames, [
      { id: undefined, data: { payload: { type: 'server.connected', properties: {} } } },
      { id: first?.id, data: { directory: '/other', payload: first } },
      { id: second?.id, data: { directory: '/srv/desk', payload: second } },
    ]);
    const idsOf = ({ frames }: typeof all) => frames.slice(1).map(({ id }) => id);
    assert.equal(idsOf(own), [second?.id]);
    assert.equal(idsOf(other), [first?.id]);
    await Promise.all([all.done, own.done, other.done]);
  });

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

  check('go on where a client left, by the id that it heard last', async () => {
    const world = await createAgentWorld();
    await ask(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(100);
    const told = (await world.events()).map(({ id }) => id);
    const again = await streamOf(world, '/event', { 'last-event-id': told[4] ?? '' });
    await world.session();
    await world.clock.advance(1);
    await world.server.stop();
    await again.done;
    assert.equal(
      again.frames.slice(1).map(({ id }) => id),
      (await world.events()).map(({ id }) => id).slice(5),
    );
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

  check('are told the same whatever they are', async () => {
    const world = await createAgentWorld();
    const { frames, done } = await streamOf(world, '/event');
    await ask(world, await world.session({ title: 'line\nbreaks \u2028 and "quotes"' }));
    await world.clock.advance(10);
    await world.server.stop();
    await done;
    const created = frames[1]?.data as Extract<AgentEvent, { type: 'session.created' }>;
    assert.is(created.properties.info.title, 'line\nbreaks \u2028 and "quotes"');
  });
});

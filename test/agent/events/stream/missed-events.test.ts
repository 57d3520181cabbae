import { createOpencodeClient as createFirst } from '@opencode-ai/sdk/client';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2/client';
import * as assert from 'uvu/assert';
import { followEvents } from '../../../../src/agent/events/stream.ts';
import { describe } from '../../../check.ts';
import { askAndRead } from '../../harness/permission-requests.ts';
import { createAgentWorld } from '../../harness/world.ts';
import { sessionOf } from '../../store/samples.ts';
import { fed, idsIn, SESSION, streamOf, turn } from './world.ts';

describe('following events', (check) => {
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
});

describe('the streams of the server', (check) => {
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
});

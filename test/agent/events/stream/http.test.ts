import * as assert from 'uvu/assert';
import type { AgentEvent } from '../../../../src/agent/protocol/events.ts';
import { describe } from '../../../check.ts';
import { ask, askAndRead, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, hanging, type Script } from '../../harness/world.ts';
import { answer } from '../../store/samples.ts';
import { streamOf, turn } from './world.ts';

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

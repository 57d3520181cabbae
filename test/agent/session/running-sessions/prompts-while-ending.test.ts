import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, isQuiet, statuses, textOf, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, hanging, prompt, type Script } from '../../harness/world.ts';

describe('a prompt that comes while its session is ended', (check) => {
  const working = async (scripts: readonly Script[]) => {
    const world = await createAgentWorld({ scripts });
    const id = await world.session();
    const first = ask(world, id, 'first');
    await until(world, () => world.asked.length === 1);
    return { world, id, first };
  };

  check('keeps no one waiting for the abort of those before it, and is answered', async () => {
    const { world, id, first } = await working([hanging, hanging]);
    const abort = world.post(`/session/${id}/abort`);
    const second = ask(world, id, 'second');
    assert.is(await abort, true);
    assert.is((await first).info.error?.name, 'MessageAbortedError');
    await until(world, () => world.asked.length === 2);
    assert.equal(await statuses(world), { [id]: { type: 'busy' } });
    assert.is(await world.post(`/session/${id}/abort`), true);
    assert.is((await second).info.error?.name, 'MessageAbortedError');
    assert.ok(await isQuiet(world));
  });

  check('finds no session any more when that is deleted, and holds nothing up', async () => {
    const { world, id, first } = await working([hanging]);
    const deleted = world.call('DELETE', `/session/${id}`);
    // Further than the beginning of the deletion, and not yet at its end.
    for (let count = 0; count < 3; count++) await Promise.resolve();
    const path = `/session/${id}`;
    const late = await Promise.all([
      world.call('POST', `${path}/message`, prompt('late')),
      world.call('POST', `${path}/prompt_async`, prompt('late')),
      world.call('POST', `${path}/message`, prompt('late', { noReply: true })),
    ]);
    assert.equal(
      late.map(({ status }) => status),
      [404, 404, 404],
    );
    assert.is((await deleted).status, 200);
    assert.is((await first).info.error?.name, 'MessageAbortedError');
    assert.is(world.asked.length, 1);
    assert.ok(await isQuiet(world));
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
  });

  check('is not answered either when it is being stored at that moment', async () => {
    const { store } = await createAgentWorld();
    const gate = Promise.withResolvers<void>();
    let isStoring = false;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(changes, events) {
          if (changes.some(({ kind }) => kind === 'message')) {
            isStoring = true;
            await gate.promise;
          }
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    const late = world.call('POST', `/session/${id}/message`, prompt('late'));
    await until(world, () => isStoring);
    const deleted = world.call('DELETE', `/session/${id}`);
    await world.clock.advance(10);
    gate.resolve();
    assert.is((await late).status, 404);
    assert.is((await deleted).status, 200);
    assert.is(world.asked.length, 0);
    assert.ok(await isQuiet(world));
  });

  check('is taken in again when the deletion fails', async () => {
    const { store } = await createAgentWorld();
    let isBroken = true;
    const world = await createAgentWorld({
      store: {
        ...store,
        async commit(changes, events) {
          if (isBroken && changes.some(({ kind }) => kind === 'session-removed')) throw new Error('The disk is full');
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    assert.is((await world.call('DELETE', `/session/${id}`)).status, 500);
    isBroken = false;
    assert.is(textOf(await ask(world, id)), 'hello');
  });

  check('and a child that is made there are refused alike', async () => {
    const { world, id, first } = await working([hanging]);
    const deleted = world.call('DELETE', `/session/${id}`);
    for (let count = 0; count < 3; count++) await Promise.resolve();
    assert.is((await world.call('POST', '/session', { parentID: id })).status, 400);
    await Promise.all([deleted, first]);
    assert.equal(await world.get('/session'), []);
  });
});

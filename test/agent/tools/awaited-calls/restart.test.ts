import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openSqliteStore } from '../../../../src/agent/adapter/sqlite/store.ts';
import { createIds } from '../../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { clientTools, giveResults, killableStore, sessionAt, weatherCall } from '../../harness/client-tools.ts';
import { answersIn, messagesOf, until } from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, prompt, replying, type WorldGiven } from '../../harness/world.ts';
import { errorsAt, HOUR_MS, idle, NONE, waiting } from './world.ts';

const directory = mkdtempSync(join(tmpdir(), 'awaited-'));

process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const randomIds = () => createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));

/** A further server on a store, at a time. */
const restarted = async (store: Store, now: number, given: WorldGiven = {}): Promise<AgentWorld> => {
  const clock = createFakeClock(now);
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  return { ...(await createAgentWorld({ ...given, store, changes: { clock, ids } })), clock };
};

describe('results that come after a restart', (check) => {
  check('go on with the turn, in a store that was closed meanwhile', async () => {
    const file = join(directory, 'restart.db');
    const first = await openSqliteStore({ file, ids: randomIds() });
    const before = await waiting({ store: first });
    await before.world.server.stop();
    await first.close();
    const store = await openSqliteStore({ file, ids: randomIds() });
    const world = await restarted(store, before.world.clock.now(), { scripts: [replying('It rains.')] });
    const { id } = before;
    assert.equal(await errorsAt(world, id), ['running', 'running']);
    const results = [before.first, before.second].map((callID) => ({ callID, output: 'rain' }));
    assert.equal((await giveResults(world, id, results)).waiting, NONE);
    await idle(world);
    const answer = answersIn(await messagesOf(world, id)).at(-1);
    assert.is(answer?.info.parentID, before.answer.info.parentID);
    assert.is(answer!.info.error, undefined);
    await world.server.stop();
    await store.close();
  });

  check('are owed an answer from the moment they were taken, also hours after the prompt', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const before = await waiting({ store: mortal });
    await before.world.clock.advance(5 * HOUR_MS);
    const results = [before.first, before.second].map((callID) => ({ callID, output: 'rain' }));
    await giveResults(before.world, before.id, results);
    kill();
    assert.is((await store.owed(before.id)).length, 1);
    const world = await restarted(store, before.world.clock.now(), { scripts: [replying('It rains.')] });
    await idle(world);
    const answer = answersIn(await messagesOf(world, before.id)).at(-1);
    assert.is(answer!.info.error, undefined);
    assert.is(answer?.info.parentID, before.answer.info.parentID);
    assert.equal(await errorsAt(world, before.id), ['completed', 'completed']);
  });

  check('come too late where their time was over: the start ends the calls', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const before = await waiting({ store: mortal, changes: { clientToolTimeoutMs: 1000 } });
    kill();
    const world = await restarted(store, before.world.clock.now() + 2000);
    const why = 'The result of this call did not come in time.';
    await until(world, async () => (await errorsAt(world, before.id))[0] === why);
    assert.is((await sessionAt(world, before.id)).awaitedCalls, undefined);
  });

  check('do not touch a call that was not handed out before a kill: that was not made', async () => {
    const store = (await createAgentWorld()).store;
    const { store: mortal, kill } = killableStore(store);
    const own = Promise.withResolvers<void>();
    const world = await createAgentWorld({
      store: mortal,
      scripts: [calling(weatherCall, { name: 'desk_find', input: {} })],
      tools: [
        {
          name: 'desk_find',
          description: 'finds',
          inputSchema: { type: 'object' },
          patternsFor: () => ['*'],
          run: async () => {
            own.resolve();
            return new Promise(() => {});
          },
        },
      ],
    });
    const id = await world.session();
    await world.call('POST', `/session/${id}/prompt_async`, prompt('go', clientTools()));
    await until(world, () => world.asked.length === 1);
    await own.promise;
    kill();
    const after = await restarted(store, world.clock.now());
    const [first] = await errorsAt(after, id);
    assert.match(first ?? '', 'before this call was made, so it was not made');
  });
});

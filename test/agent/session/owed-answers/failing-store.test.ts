import * as assert from 'uvu/assert';
import { createSingleServer } from '../../../../src/agent/store/cluster.ts';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe } from '../../../check.ts';
import { ask, callsOf, outputOf, textOf, until } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, prompt, replying, toolNamed } from '../../harness/world.ts';
import { answersOf, emptyStore, messageID, promptChanges, SESSION, sessionChange, untilQuiet } from './world.ts';

describe('a run that the store fails in the middle', (check) => {
  /** A store that fails every commit while it is told to. */
  const failingStore = () => {
    const inner = emptyStore();
    let isFailing = false;
    const store: Store = {
      ...inner,
      async commit(...given) {
        if (isFailing) throw new StoreUnavailableError();
        return inner.commit(...given);
      },
    };
    return {
      store,
      fail: (isSo: boolean) => {
        isFailing = isSo;
      },
    };
  };

  for (const when of ['before', 'while'] as const) {
    check(`is left to other servers where this one begins to stop ${when} it looks for abandoned ones`, async () => {
      const store = emptyStore();
      await store.commit([sessionChange()], []);
      let onAbandoned = (): void => {};
      const peers = createSingleServer({
        ...store,
        health: {
          trouble: () => undefined,
          onWorking(listener) {
            onAbandoned = listener;
          },
        },
      });
      const world = await createAgentWorld({ store, changes: { peers } });
      // Another server has stored it, and is about to run it.
      await store.commit(promptChanges(1, 'owed'), []);
      if (when === 'while') onAbandoned();
      const stopped = world.server.stop();
      if (when === 'before') onAbandoned();
      await stopped;
      for (let turns = 0; turns < 50; turns++) await world.clock.advance(1);
      assert.equal(
        (await store.owed()).map(({ promptID, isBegun }) => [promptID, isBegun]),
        [[messageID(1), false]],
      );
      assert.equal(
        (await store.messages(SESSION)).filter(({ info }) => info.role === 'assistant'),
        [],
      );
    });
  }

  check('is ended before the next prompt of its session is run', async () => {
    const { store, fail } = failingStore();
    const tool = toolNamed('pay', async () => {
      fail(true);
      return { output: 'paid', title: '', metadata: {}, isError: false };
    });
    const world = await createAgentWorld({
      store,
      tools: [tool],
      scripts: [calling({ name: 'pay', input: {} }), replying('after it')],
    });
    const id = await world.session({ title: 'Mine' });
    await world.call('POST', `/session/${id}/prompt_async`, prompt('pay'));
    await until(world, async () => JSON.stringify(await world.get('/session/status')) === '{}');
    assert.is((await store.unfinished()).length, 1);
    fail(false);
    assert.is(textOf(await ask(world, id, 'and now?')), 'after it');
    await untilQuiet(world);
    const [first] = await answersOf(world, id);
    assert.is(first?.error?.name, 'MessageAbortedError');
    assert.match(outputOf((await callsOf(world, id))[0]), 'whether it was carried out is not known');
  });
});

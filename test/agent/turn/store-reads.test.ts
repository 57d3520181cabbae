import { randomBytes } from 'node:crypto';
import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { wrapMethods } from '../harness/client-tools.ts';
import { ask } from '../harness/permission-requests.ts';
import { createAgentWorld } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

/** A store that counts its calls, and lets something happen before a commit. */
const countingStore = (inner: Store) => {
  const calls: Record<string, number> = {};
  let beforeCommit = async (): Promise<void> => {};
  const store = wrapMethods(inner, (name, method) => async (...given) => {
    calls[name] = (calls[name] ?? 0) + 1;
    if (name === 'commit') await beforeCommit();
    return method(...given);
  });
  const taken = (): Readonly<Record<string, number>> => {
    const all = { ...calls };
    for (const name of Object.keys(calls)) delete calls[name];
    return all;
  };
  return {
    store,
    /** What was called since the last time. */
    takeCalls: taken,
    onCommit(listener: () => Promise<void>) {
      beforeCommit = listener;
    },
  };
};
const createCountedWorld = async () => {
  const clock = createFakeClock();
  const ids = createIds(clock, randomBytes);
  const inner = createMemoryStore({ ids });
  const counting = countingStore(inner);
  return {
    ...counting,
    inner,
    world: await createAgentWorld({ store: counting.store, titler: null, changes: { clock, ids } }),
  };
};

describe('a message', (check) => {
  check('takes three commits, and asks the store for nothing that it knows', async () => {
    const { world, takeCalls } = await createCountedWorld();
    const id = await world.session({ title: 'Has one' });
    await ask(world, id, 'first');
    takeCalls();
    await ask(world, id, 'second');
    assert.equal(takeCalls(), {
      // At the front, and when its turn comes: its usage is added to what it has seen then.
      session: 2,
      // For the capacity, and for the id of the answer.
      messageOutlines: 2,
      commit: 3,
      owed: 1,
      messageHeads: 1,
      messages: 1,
      // The answer for the client.
      message: 1,
      // Whether a request for a turn has asked it.
      'turns.ofPrompt': 1,
    });
  });

  check('keeps a change of its session that another server makes while it is accepted', async () => {
    const { world, inner, onCommit } = await createCountedWorld();
    const id = await world.session();
    onCommit(async () => {
      onCommit(async () => {});
      const before = (await inner.session(id)) as Session;
      await inner.commit([{ kind: 'session', session: { ...before, title: 'Given elsewhere' }, before }], []);
    });
    await ask(world, id, 'hello');
    const after = (await inner.session(id)) as Session;
    assert.is(after.title, 'Given elsewhere');
    assert.is(after.agent, 'build');
  });

  check('keeps what another server changes in its session while it is answered, at its begin and its end', async () => {
    const { world, inner, onCommit } = await createCountedWorld();
    const id = await world.session();
    const changing = (change: Partial<Session>) => async (): Promise<void> => {
      const before = (await inner.session(id)) as Session;
      await inner.commit([{ kind: 'session', session: { ...before, ...change }, before }], []);
    };
    const changes = [
      async () => {},
      changing({ metadata: { given: 'at the begin' } }),
      changing({ title: 'Given at the end' }),
    ];
    onCommit(async () => changes.shift()?.());
    await ask(world, id, 'hello');
    assert.equal(changes, []);
    const { title, metadata, tokens } = (await inner.session(id)) as Session;
    assert.equal([title, metadata, tokens.input], ['Given at the end', { given: 'at the begin' }, 10]);
  });
});

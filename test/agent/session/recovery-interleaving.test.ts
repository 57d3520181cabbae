import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import { createSingleServer } from '../../../src/agent/store/cluster.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { answersIn, eventsOf, isQuiet, messagesOf, textOf, until } from '../harness/permission-requests.ts';
import { createAgentWorld, prompt, replying, type Script } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { answer, sessionOf, userMessage } from '../store/samples.ts';

const SESSION = 'ses_000000000000aaaaaaaaaaaaaa';
const ASKED = 'msg_000000000001aaaaaaaaaaaaaa';
const BEGUN = 'msg_000000000002aaaaaaaaaaaaaa';
const READS = ['unfinished', 'owed', 'session', 'message', 'messageOutlines', 'events'] as const;

/** A store whose read number `held` of those after `arm` returns what it has read only after `release`. */
const holdingStore = (held: number) => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = createMemoryStore({ ids });
  const gate = Promise.withResolvers<void>();
  let reads = Number.NEGATIVE_INFINITY;
  const holding = (name: (typeof READS)[number]) => {
    const read = store[name] as (...given: readonly unknown[]) => Promise<unknown>;
    return async (...given: readonly unknown[]): Promise<unknown> => {
      const found = await read(...given);
      reads += 1;
      if (reads === held) await gate.promise;
      return found;
    };
  };
  return {
    store: { ...store, ...Object.fromEntries(READS.map((name) => [name, holding(name)])) } as Store,
    arm() {
      reads = 0;
    },
    isHeld: () => reads >= held,
    release: gate.resolve,
  };
};

/** What a server that could not write left: an answer that it had begun, and that nothing works on. */
const leaveUnfinished = (store: Store): Promise<unknown> =>
  store.commit(
    [
      { kind: 'message', message: userMessage(ASKED, SESSION) },
      { kind: 'answer', sessionID: SESSION, promptID: ASKED, state: 'begun' },
      { kind: 'message', message: { ...answer(BEGUN, SESSION), parentID: ASKED } },
    ],
    [],
  );

/** Sends a prompt while the recovery has read `held` times, and lets its answer go on for a while after that. */
const promptDuringRecovery = async (held: number) => {
  const { store, arm, isHeld, release } = holdingStore(held);
  const listeners: (() => void)[] = [];
  const peers = createSingleServer({
    ...store,
    health: { trouble: () => undefined, onWorking: (one) => void listeners.push(one) },
  });
  await store.commit([{ kind: 'session', session: sessionOf(SESSION, { title: 'Mine' }) }], []);
  const gate = Promise.withResolvers<void>();
  const script: Script = async function* (request, signal) {
    yield { kind: 'text', delta: 'be' };
    await gate.promise;
    yield* replying('gun')(request, signal);
  };
  const world = await createAgentWorld({ store, scripts: [script], changes: { peers } });
  await leaveUnfinished(store);
  arm();
  for (const listener of listeners) listener();
  await world.clock.advance(100);
  if (!isHeld()) return undefined;
  assert.is((await world.call('POST', `/session/${SESSION}/prompt_async`, prompt('now'))).status, 204);
  await world.clock.advance(100);
  release();
  await world.clock.advance(100);
  gate.resolve();
  await until(world, () => isQuiet(world));
  return world;
};

describe('a recovery during which a prompt comes', (check) => {
  check('ends what was left, once, and nothing of the new answer, whatever it has read by then', async () => {
    let held = 1;
    for (; ; held += 1) {
      const world = await promptDuringRecovery(held);
      if (world === undefined) break;
      const [left, given, ...others] = answersIn(await messagesOf(world, SESSION));
      assert.is(left?.info.error?.name, 'MessageAbortedError');
      assert.equal([given?.info.error, given?.info.finish, others], [undefined, 'stop', []], `read ${held}`);
      assert.is(given === undefined ? '' : textOf(given), 'begun');
      assert.is((await eventsOf(world, 'session.error')).length, 1, `read ${held}`);
      assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
    }
    assert.ok(held > 5, `${held} reads`);
  });
});

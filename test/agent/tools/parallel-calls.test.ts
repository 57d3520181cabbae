import * as assert from 'uvu/assert';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import {
  ask,
  asksOf,
  asksWhen,
  callsOf,
  isQuiet,
  outputOf,
  reply,
  textOf,
  until,
} from '../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, outcome, replying, toolNamed } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

const calls = (count: number) => calling(...Array.from({ length: count }, (_, n) => ({ name: 'dig', input: { n } })));

/** A tool that runs until it is let go, and counts. */
const digging = () => {
  const gate = Promise.withResolvers<void>();
  let [running, most, runs] = [0, 0, 0];
  const tool = toolNamed('dig', async (_input, { signal }) => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    try {
      const left = new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      await Promise.race([gate.promise, left]);
    } finally {
      running -= 1;
    }
    return outcome('dug');
  });
  return { tool, release: gate.resolve, running: () => running, most: () => most, runs: () => runs };
};
const rule = (action: 'ask' | 'allow') => ({ permission: '*', pattern: '*', action });
const outputsOf = async (world: AgentWorld, id: string) => (await callsOf(world, id)).map(outputOf);

describe('many calls of one step', (check) => {
  check('are made eight at a time, and all of them in their order', async () => {
    const { tool, release, running, most, runs } = digging();
    const world = await createAgentWorld({ tools: [tool], scripts: [calls(30), replying('done')] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => running() === 8);
    await world.clock.advance(100);
    assert.equal([running(), runs()], [8, 8]);
    const states = (await callsOf(world, id)).map(({ state }) => state.status);
    assert.equal(states, [...Array(8).fill('running'), ...Array(22).fill('pending')]);
    release();
    assert.is(textOf(await answer), 'done');
    assert.equal([most(), runs()], [8, 30]);
    assert.equal(await outputsOf(world, id), Array(30).fill('dug'));
  });

  check('are no more than sixty-four: the others are informed why, together, and the model goes on', async () => {
    const { tool, release, runs } = digging();
    release();
    const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
    const inner = createMemoryStore({ ids });
    let commits = 0;
    const store: Store = {
      ...inner,
      async commit(changes, events) {
        commits += 1;
        return inner.commit(changes, events);
      },
    };
    const world = await createAgentWorld({ store, tools: [tool], scripts: [calls(1000), replying('done')] });
    const id = await world.session();
    let outputText = '';
    void ask(world, id).then((answer) => {
      outputText = textOf(answer);
    });
    await until(world, () => outputText === 'done');
    assert.is(runs(), 64);
    const outputs = await outputsOf(world, id);
    assert.equal(outputs.slice(0, 64), Array(64).fill('dug'));
    assert.is(outputs.length, 1000);
    for (const output of outputs.slice(64)) assert.match(output, 'One step makes at most 64 calls');
    assert.ok(commits < 64 * 2 + 50, `${commits} commits`);
  });

  check('are ended when they are not made, also when the store fails once', async () => {
    const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
    const inner = createMemoryStore({ ids });
    let failures = 0;
    const store: Store = {
      ...inner,
      async commit(changes, events) {
        if (failures === 0 && JSON.stringify(changes).includes('at most 64 calls')) {
          failures += 1;
          throw new Error('The disk is full');
        }
        return inner.commit(changes, events);
      },
    };
    const { tool, release } = digging();
    release();
    const world = await createAgentWorld({ store, tools: [tool], scripts: [calls(70), replying('done')] });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.is(failures, 1);
    for (const output of (await outputsOf(world, id)).slice(64)) assert.match(output, 'at most 64 calls');
  });

  check('ask eight questions at a time, and no other once a person has said no', async () => {
    const { tool, release, runs } = digging();
    release();
    const world = await createAgentWorld({
      rules: [rule('ask')],
      tools: [tool],
      scripts: [calls(20), replying('never')],
    });
    const id = await world.session();
    const answer = ask(world, id);
    const [first] = await asksWhen(world, 8);
    await reply(world, first, { reply: 'once' });
    await until(world, () => runs() === 1);
    const open = await asksWhen(world, 8);
    await reply(world, open[0], { reply: 'reject' });
    assert.is((await answer).info.finish, 'tool-calls');
    assert.equal(await asksOf(world), []);
    const outputs = await outputsOf(world, id);
    assert.is(outputs.filter((output) => output === 'The user rejected this call.').length, 1);
    assert.is(outputs.filter((output) => output.startsWith('The user rejected another call')).length, 7);
    assert.is(outputs.filter((output) => output.includes('ended with another call')).length, 11);
    assert.is(runs(), 1);
    assert.ok(await isQuiet(world));
  });

  check('wait for no one once one question was not answered in time', async () => {
    const { tool } = digging();
    const world = await createAgentWorld({
      rules: [rule('ask')],
      tools: [tool],
      scripts: [calls(20), replying('never')],
    });
    const id = await world.session();
    const answer = ask(world, id);
    await asksWhen(world, 8);
    await world.clock.advance(300_000);
    assert.is((await answer).info.finish, 'tool-calls');
    assert.ok(await isQuiet(world));
  });

  check('all end when the run is aborted, those that were not begun too', async () => {
    const { tool, running, runs } = digging();
    const world = await createAgentWorld({ tools: [tool], scripts: [calls(100), replying('never')] });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => running() === 8);
    await world.post(`/session/${id}/abort`);
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.is(runs(), 8);
    const outputs = await outputsOf(world, id);
    assert.is(outputs.filter((output) => output === 'The call was aborted').length, 64);
    assert.is(outputs.length, 100);
    assert.ok(await isQuiet(world));
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, callsOf, isQuiet, outputOf, until } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, outcome, toolNamed } from '../../harness/world.ts';
import { held, worldWith } from './world.ts';

describe('a tool call', (check) => {
  check('that hangs is ended by an abort, and the calls beside it keep their outcomes', async () => {
    const hanging = toolNamed(
      'hang',
      (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const world = await worldWith(
      [hanging, toolNamed('pay', async () => outcome('paid'))],
      { name: 'pay', input: {} },
      { name: 'hang', input: {} },
    );
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, async () => (await callsOf(world, id))[1]?.state.status === 'running');
    await world.post(`/session/${id}/abort`);
    const { info } = await answer;
    assert.equal(info.error, { name: 'MessageAbortedError', data: { message: 'Aborted' } });
    const [pay, hang] = await callsOf(world, id);
    assert.is(pay?.state.status, 'completed');
    assert.is(outputOf(pay), 'paid');
    assert.is(outputOf(hang), 'The call was aborted');
    // The model had been paid for.
    assert.is(info.tokens.input, 10);
    assert.ok(await isQuiet(world));
  });

  check('that comes to its end in spite of an abort keeps its outcome', async () => {
    const begun: string[] = [];
    const { tool, release } = held('pay', begun);
    const world = await worldWith([tool], { name: 'pay', input: {} });
    const id = await world.session();
    const answer = ask(world, id);
    await until(world, () => begun.length === 1);
    const aborted = world.post(`/session/${id}/abort`);
    await world.clock.advance(10);
    release();
    await aborted;
    assert.is((await answer).info.error?.name, 'MessageAbortedError');
    assert.is(outputOf((await callsOf(world, id))[0]), 'pay is done');
    assert.ok(await isQuiet(world));
  });

  check('is not made any more when the abort comes just before it', async () => {
    let runs = 0;
    const pay = toolNamed('pay', async () => {
      runs += 1;
      return outcome('paid');
    });
    const { store } = await createAgentWorld();
    let aborted: Promise<unknown> | undefined;
    const world: Awaited<ReturnType<typeof createAgentWorld>> = await createAgentWorld({
      tools: [pay],
      scripts: [calling({ name: 'pay', input: {} })],
      store: {
        ...store,
        async commit(changes, events) {
          const spent = changes.find((change) => change.kind === 'session' && change.session.tokens.input > 0);
          if (spent?.kind === 'session') aborted ??= world.post(`/session/${spent.session.id}/abort`);
          await new Promise((resolve) => setImmediate(resolve));
          return store.commit(changes, events);
        },
      },
    });
    const id = await world.session();
    assert.is((await ask(world, id)).info.error?.name, 'MessageAbortedError');
    await aborted;
    assert.is(runs, 0);
    assert.is(outputOf((await callsOf(world, id))[0]), 'The call was aborted');
  });
});

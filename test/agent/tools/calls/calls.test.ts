import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { answersIn, ask, callsOf, messagesOf, outputOf, textOf, until } from '../../harness/permission-requests.ts';
import { createAgentWorld, outcome, replying, type Script, toolNamed } from '../../harness/world.ts';
import { held, resultsSent, worldWith } from './world.ts';

const TOKENS = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };

describe('a tool call', (check) => {
  check('is made with its arguments, and the model goes on with its output', async () => {
    const given: unknown[] = [];
    const tool = toolNamed('add', async (input) => {
      given.push(input);
      return { output: '3', title: 'Added', metadata: { sum: 3 }, isError: false };
    });
    const world = await worldWith([tool], { name: 'add', input: { a: 1, b: 2 } });
    const id = await world.session();
    const answer = await ask(world, id);
    assert.equal(given, [{ a: 1, b: 2 }]);
    assert.is(textOf(answer), 'done');
    const [part] = await callsOf(world, id);
    assert.equal(part?.state, {
      status: 'completed',
      input: { a: 1, b: 2 },
      output: '3',
      title: 'Added',
      metadata: { sum: 3, truncated: false },
      time: { start: world.clock.now(), end: world.clock.now() },
    });
    assert.equal(resultsSent(world), [{ id: 'call-1-0', name: 'add', output: '3', isError: false }]);
    const [first, second] = answersIn(await messagesOf(world, id));
    assert.is(first?.info.finish, 'tool-calls');
    assert.is(second?.info.finish, 'stop');
    assert.is(first?.info.parentID, second?.info.parentID);
  });

  check('knows where it comes from', async () => {
    const contexts: unknown[] = [];
    const tool = toolNamed('look', async (_input, { signal: _, ...context }) => {
      contexts.push(context);
      return outcome('seen');
    });
    const world = await worldWith([tool], { name: 'look', input: {} });
    const id = await world.session();
    await ask(world, id);
    const [part] = await callsOf(world, id);
    assert.equal(contexts, [{ sessionID: id, messageID: part?.messageID, callID: 'call-1-0', agent: 'build' }]);
  });

  check('runs beside the other calls of its step, and the results keep their order', async () => {
    const begun: string[] = [];
    const [slow, quick] = [held('slow', begun), held('quick', begun)];
    const world = await worldWith([slow.tool, quick.tool], { name: 'slow', input: {} }, { name: 'quick', input: {} });
    const answer = ask(world, await world.session());
    await until(world, () => begun.length === 2);
    quick.release();
    await world.clock.advance(10);
    slow.release();
    await answer;
    assert.equal(
      resultsSent(world).map(({ output }) => output),
      ['slow is done', 'quick is done'],
    );
  });

  check('with arguments that are no JSON object is not made, and the model learns why', async () => {
    for (const [input, raw] of [
      [undefined, '{"a":'],
      [[1], '[1]'],
      ['text', '"text"'],
      [null, 'null'],
    ] as const) {
      let runs = 0;
      const tool = toolNamed('add', async () => {
        runs += 1;
        return outcome('never');
      });
      const world = await worldWith([tool], { name: 'add', input, raw });
      const id = await world.session();
      assert.is(textOf(await ask(world, id)), 'done');
      const [part] = await callsOf(world, id);
      assert.is(runs, 0);
      assert.is(part?.state.status, 'error');
      assert.match(outputOf(part), `not a JSON object (${raw.length} characters)`);
    }
  });

  check('of a tool that there is not becomes a call of "invalid" that lists the tools', async () => {
    const world = await worldWith([toolNamed('add')], { name: 'multiply', input: {} });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    const [part] = await callsOf(world, id);
    assert.is(part?.tool, 'invalid');
    assert.is(part?.state.status, 'completed');
    assert.match(outputOf(part), /The tools are: add$/);
  });

  check('that fails is sent to the model as an error', async () => {
    const world = await worldWith([toolNamed('add', async () => outcome('no such number', true))], {
      name: 'add',
      input: {},
    });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.equal(resultsSent(world), [{ id: 'call-1-0', name: 'add', output: 'no such number', isError: true }]);
    assert.is((await callsOf(world, id))[0]?.state.status, 'error');
  });

  check('that throws ends as an error without its words, is logged, and the turn goes on', async () => {
    const broken = toolNamed('add', async () => {
      throw new RangeError('secret words');
    });
    const world = await worldWith([broken], { name: 'add', input: {} });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.match(outputOf((await callsOf(world, id))[0]), 'failed in a way it should not');
    assert.ok(world.logged.some((line) => line.includes('RangeError')));
    assert.not.ok(world.logged.some((line) => line.includes('secret')));
  });

  check('that was begun and never ended counts as one with bad arguments', async () => {
    const broken: Script = async function* () {
      yield { kind: 'call-begun', id: 'x', name: 'add' };
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const world = await createAgentWorld({ tools: [toolNamed('add')], scripts: [broken, replying('done')] });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'done');
    assert.match(outputOf((await callsOf(world, id))[0]), 'not a JSON object');
  });

  check('that is announced twice is one call', async () => {
    const stuttering: Script = async function* () {
      for (let count = 0; count < 2; count++) yield { kind: 'call-begun', id: 'x', name: 'add' };
      yield { kind: 'call', id: 'x', name: 'add', input: {}, raw: '{}' };
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const world = await createAgentWorld({ tools: [toolNamed('add')], scripts: [stuttering, replying('done')] });
    const id = await world.session();
    await ask(world, id);
    assert.equal((await callsOf(world, id)).map(outputOf), ['done']);
  });

  check('has an id of its own even where the backend gives one id to two', async () => {
    const twins: Script = async function* () {
      for (const a of [1, 2]) {
        yield { kind: 'call-begun', id: 'same', name: 'add' };
        yield { kind: 'call', id: 'same', name: 'add', input: { a }, raw: `{"a":${a}}` };
      }
      yield { kind: 'finished', finish: 'tool-calls', tokens: TOKENS };
    };
    const add = toolNamed('add', async ({ a }) => outcome(`got ${a}`));
    const world = await createAgentWorld({ tools: [add], scripts: [twins, replying('done')] });
    const id = await world.session();
    await ask(world, id);
    const results = resultsSent(world);
    assert.equal(
      results.map(({ output }) => output),
      ['got 1', 'got 2'],
    );
    assert.is(new Set(results.map((result) => result.id)).size, 2);
    assert.ok((await callsOf(world, id)).every(({ state }) => state.status === 'completed'));
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { answersIn, ask, callsOf, isQuiet, messagesOf, outputOf, textOf } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, outcome, replying, type Script, toolNamed } from '../../harness/world.ts';

describe('a model that goes on and on', (check) => {
  const repeating = (input: () => unknown): Script =>
    async function* (request, signal) {
      yield* calling({ name: 'look', input: input() })(request, signal);
    };

  const counting = (outputFor: (count: number) => string) => {
    let count = 0;
    const tool = toolNamed('look', async () => outcome(outputFor(++count)));
    return { tool, runs: () => count };
  };

  check('may make one call three times, is refused three times, and is stopped', async () => {
    const { tool, runs } = counting(() => 'the same');
    const world = await createAgentWorld({ tools: [tool], scripts: [repeating(() => ({ a: 1, b: 2 }))] });
    const id = await world.session();
    const { info } = await ask(world, id);
    assert.is(runs(), 3);
    assert.equal(info.error?.data, { message: 'The model made the same call again and again' });
    const outputs = (await callsOf(world, id)).map(outputOf);
    assert.equal(outputs.slice(0, 3), ['the same', 'the same', 'the same']);
    assert.is(outputs.length, 7);
    assert.ok(outputs.slice(3).every((output) => output.includes('several times')));
    assert.ok(await isQuiet(world));
  });

  check('does not get round it with the order of the arguments', async () => {
    const { tool, runs } = counting(() => 'the same');
    let turn = 0;
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [repeating(() => (turn++ % 2 === 0 ? { a: 1, b: { c: 1, d: 2 } } : { b: { d: 2, c: 1 }, a: 1 }))],
    });
    await ask(world, await world.session());
    assert.is(runs(), 3);
  });

  check('does not get round it with many calls at the same time', async () => {
    const { tool, runs } = counting(() => 'the same');
    const calls = Array.from({ length: 8 }, () => ({ name: 'look', input: {} }));
    const world = await createAgentWorld({ tools: [tool], scripts: [calling(...calls), replying('done')] });
    await ask(world, await world.session());
    assert.is(runs(), 3);
  });

  check('is let be as long as each call reports something new', async () => {
    const { tool, runs } = counting((count) => `state ${count}`);
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [...Array.from({ length: 12 }, () => repeating(() => ({}))), replying('done')],
    });
    assert.is(textOf(await ask(world, await world.session())), 'done');
    assert.is(runs(), 12);
  });

  check('is stopped as well when it asks for what is denied, unknown or malformed', async () => {
    for (const call of [
      { name: 'look', input: {} },
      { name: 'nothing', input: {} },
      { name: 'task', input: undefined, raw: 'no JSON' },
    ]) {
      const world = await createAgentWorld({
        tools: [{ ...toolNamed('look'), patternsFor: () => ['secret'] }],
        rules: [
          { permission: '*', pattern: '*', action: 'allow' },
          { permission: 'look', pattern: 'secret', action: 'deny' },
        ],
        scripts: [calling(call)],
      });
      const { info } = await ask(world, await world.session());
      assert.is(info.error?.name, 'UnknownError', call.name);
      assert.ok(world.asked.length < 10, `${call.name}: ${world.asked.length}`);
    }
  });

  check('starts anew with the next prompt', async () => {
    const { tool, runs } = counting(() => 'the same');
    const call = repeating(() => ({}));
    const world = await createAgentWorld({
      tools: [tool],
      scripts: [call, call, replying('a'), call, call, replying('b')],
    });
    const id = await world.session();
    await ask(world, id);
    assert.is(textOf(await ask(world, id)), 'b');
    assert.is(runs(), 4);
  });

  check('has a hard limit of steps, and may call no tools in the last one', async () => {
    let count = 0;
    const world = await createAgentWorld({
      tools: [toolNamed('look')],
      agents: [{ name: 'short', steps: 3 }],
      scripts: [repeating(() => ({ count: ++count }))],
    });
    const id = await world.session({ agent: 'short' });
    const { info } = await ask(world, id);
    assert.is(answersIn(await messagesOf(world, id)).length, 3);
    assert.is(world.asked.length, 3);
    assert.equal(
      world.asked.map(({ tools, toolChoice }) => [tools.map(({ name }) => name), toolChoice]),
      [
        [['look'], undefined],
        [['look'], undefined],
        [['look'], 'none'],
      ],
    );
    assert.equal(
      world.asked.map(({ system }) => system.includes('This is the last step')),
      [false, false, true],
    );
    assert.match(JSON.stringify(info.error), 'all the steps');
    assert.match(outputOf((await callsOf(world, id))[2]), 'no step left');
    assert.ok(await isQuiet(world));
  });

  check('ends well when it answers in its last step', async () => {
    let count = 0;
    const call = repeating(() => ({ count: ++count }));
    const world = await createAgentWorld({
      tools: [toolNamed('look')],
      agents: [{ name: 'short', steps: 2 }],
      scripts: [call, replying('that is all')],
    });
    const { info, parts } = await ask(world, await world.session({ agent: 'short' }));
    assert.is(textOf({ parts }), 'that is all');
    assert.is(info.error, undefined);
  });
});

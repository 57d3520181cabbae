import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, asksOf, asksWhen, callsOf, outputOf, reply, textOf, until } from '../../harness/permission-requests.ts';
import { calling, replying, type Script, toolNamed } from '../../harness/world.ts';
import { childOf, HANDING_ON, handing, rule, task, type World } from './world.ts';

describe('a task', (check) => {
  check(
    'may not do what its session forbids or wants to be asked about, nor what its message switches off',
    async () => {
      const calls = calling({ name: 'pay', input: {} }, { name: 'look', input: {} }, { name: 'dig', input: {} });
      const { world } = await handing([task(), calls, replying('no'), replying('then not')], {
        tools: [toolNamed('pay'), toolNamed('look'), toolNamed('dig')],
      });
      const permission = [rule('deny', 'pay'), rule('ask', 'look')];
      const id = await world.session({ permission: [rule('allow', 'dig'), ...permission] });
      const answer = ask(world, id, 'do it', { tools: { dig: false, look: true } });
      const [asked] = await asksWhen(world, 1);
      assert.is(asked?.permission, 'look');
      await reply(world, asked, { reply: 'once' });
      await answer;
      const child = await childOf(world, id);
      assert.equal(child.permission, [...permission, rule('deny', 'dig'), rule('deny', 'task')]);
      assert.equal(
        (await callsOf(world, child.id)).map((part) => part.tool),
        ['invalid', 'look', 'invalid'],
      );
    },
  );
});

describe('what a task may do', (check) => {
  const banned = [rule('allow'), rule('deny', 'pay')];

  check('is not more because its session wants to be asked about everything', async () => {
    const { world } = await handing([task(), calling({ name: 'pay', input: {} }), replying('no'), replying('done')], {
      tools: [toolNamed('pay')],
      rules: banned,
    });
    const id = await world.session({ permission: [rule('ask')] });
    const answer = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'once' });
    assert.is(textOf(await answer), 'done');
    assert.is((await callsOf(world, (await childOf(world, id)).id))[0]?.tool, 'invalid');
  });

  check('is less as soon as the session that handed it on may do less, all the way down', async () => {
    for (const [action, outputs] of [
      ['deny', 'permission rule of this server denies'],
      ['ask', 'user rejected'],
    ] as const) {
      const paid: unknown[] = [];
      const places: string[] = [];
      const pay = toolNamed('pay', async (input) => {
        paid.push(input);
        return { output: 'paid', title: '', metadata: {}, isError: false };
      });
      const worlds: World[] = [];
      const paying: Script = async function* (request, signal) {
        await worlds[0]?.call('PATCH', `/session/${places[0]}`, { permission: [rule(action, 'pay')] });
        yield* calling({ name: 'pay', input: { n: 2 } })(request, signal);
      };
      const scripts = [
        task(),
        task(),
        calling({ name: 'pay', input: {} }),
        paying,
        replying('no'),
        replying('so'),
        replying('done'),
      ];
      const { world, id } = await handing(scripts, { tools: [pay], rules: HANDING_ON });
      worlds.push(world);
      places.push(id);
      const answer = ask(world, id);
      if (action === 'ask') await reply(world, (await asksWhen(world, 1))[0], { reply: 'reject', message: 'no' });
      assert.is(textOf(await answer), 'done');
      assert.equal(paid, [{}]);
      const deepest = await childOf(world, (await childOf(world, id)).id);
      assert.match(outputOf((await callsOf(world, deepest.id))[1]), outputs);
    }
  });

  check('is a matter of its own session again once it has ended', async () => {
    const paying = calling({ name: 'pay', input: {} });
    const scripts = [task(), replying('one'), replying('two'), paying, replying('paid')];
    const { world, id } = await handing(scripts, { tools: [toolNamed('pay')] });
    await ask(world, id);
    await world.call('PATCH', `/session/${id}`, { permission: [rule('deny')] });
    const child = await childOf(world, id);
    await ask(world, child.id, 'pay');
    assert.is(outputOf((await callsOf(world, child.id))[0]), 'done');
  });

  check('is not what people allowed with always in a session above: it is asked in its own', async () => {
    const scripts = [
      calling({ name: 'pay', input: {} }),
      task(),
      calling({ name: 'pay', input: { n: 2 } }),
      replying('paid'),
      replying('done'),
    ];
    const { world } = await handing(scripts, { tools: [toolNamed('pay')], rules: [rule('allow'), rule('ask', 'pay')] });
    const id = await world.session({ permission: [rule('ask', 'pay')] });
    const answer = ask(world, id);
    const [first] = await asksWhen(world, 1);
    await reply(world, first, { reply: 'always' });
    const ofOther = async () => (await asksOf(world)).find(({ sessionID }) => sessionID !== id);
    await until(world, async () => (await ofOther()) !== undefined);
    const asked = await ofOther();
    assert.is(asked?.sessionID, (await childOf(world, id)).id);
    await reply(world, asked, { reply: 'always' });
    assert.is(textOf(await answer), 'done');
    assert.is(outputOf((await callsOf(world, (await childOf(world, id)).id))[0]), 'done');
  });
});

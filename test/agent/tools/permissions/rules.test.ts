import * as assert from 'uvu/assert';
import type { Rule, Session } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import {
  answersIn,
  ask,
  asksOf,
  asksWhen,
  callsOf,
  eventsOf,
  messagesOf,
  outputOf,
  reply,
  textOf,
  until,
} from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, replying, type Script, toolNamed } from '../../harness/world.ts';
import { PAY, paying, rule } from './world.ts';

describe('a permission', (check) => {
  check('that allows lets a call run without a question', async () => {
    const { world, paid } = await paying('allow');
    await ask(world, await world.session());
    assert.equal(paid, [{ amount: '5' }]);
    assert.equal(await eventsOf(world, 'permission.asked'), []);
  });

  check('that denies everything of a tool hides it from the model', async () => {
    const { world, paid } = await paying('allow', { rules: [rule('allow'), rule('deny', 'pay')] });
    const id = await world.session();
    await ask(world, id);
    assert.equal(
      world.asked[0]?.tools.map(({ name }) => name),
      ['look'],
    );
    assert.equal(paid, []);
    assert.is((await callsOf(world, id))[0]?.tool, 'invalid');
  });

  check('that denies some of a tool refuses the call in words, and the model may go on', async () => {
    const open = { ...toolNamed('open'), patternsFor: () => ['a.txt', 'secret.txt'] };
    const world = await createAgentWorld({
      tools: [open],
      rules: [rule('allow'), rule('deny', 'open', 'secret*')],
      scripts: [calling({ name: 'open', input: {} }), replying('then not')],
    });
    const id = await world.session();
    assert.is(textOf(await ask(world, id)), 'then not');
    assert.match(outputOf((await callsOf(world, id))[0]), 'permission rule of this server denies');
  });

  check('that is waited for leaves a session that costs what its messages cost', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const { cost } = (await world.get(`/session/${id}`)) as Session;
    const costs = answersIn(await messagesOf(world, id)).map(({ info }) => info.cost);
    assert.ok(cost > 0);
    assert.equal(costs, [cost]);
    await reply(world, asked, { reply: 'once' });
    await answer;
  });

  check('of the session comes after the ones of the agent, and a switch of the message last', async () => {
    const { world, paid } = await paying('deny');
    const id = await world.session({ permission: [rule('allow', 'pay')] });
    await ask(world, id);
    assert.is(paid.length, 1);
    await ask(world, id, 'again', { tools: { pay: false } });
    assert.is(paid.length, 1);
    assert.equal(world.asked.at(-1)?.tools, []);
    await ask(world, id, 'again', { tools: { pay: true } });
    assert.is(paid.length, 2);
  });
});

describe('a permission that changes while a turn runs', (check) => {
  const deny = (world: AgentWorld, id: string, permission: readonly Rule[] = [rule('deny')]) =>
    world.call('PATCH', `/session/${id}`, { permission });
  /** A model that pays, and pays again once something has happened. */
  const payingTwice = (happening: () => Promise<unknown>): readonly Script[] => [
    calling(PAY),
    async function* (request, signal) {
      await happening();
      yield* calling({ ...PAY, input: { amount: '6' } })(request, signal);
    },
    replying('done'),
  ];

  check('holds for the next call', async () => {
    const places: { world: AgentWorld; id: string }[] = [];
    const scripts = payingTwice(async () => {
      const [{ world, id } = { world: undefined, id: '' }] = places;
      if (world !== undefined) await deny(world, id);
    });
    const { world, paid } = await paying('allow', { scripts });
    const id = await world.session();
    places.push({ world, id });
    assert.is(textOf(await ask(world, id)), 'done');
    assert.equal(paid, [{ amount: '5' }]);
    assert.match(outputOf((await callsOf(world, id))[1]), 'permission rule of this server denies');
  });

  check(
    'holds for a call that a person was asked about meanwhile, and is not reported as their rejection',
    async () => {
      for (const given of ['once', 'always']) {
        const { world, paid } = await paying('ask');
        const id = await world.session();
        const answer = ask(world, id);
        const [asked] = await asksWhen(world, 1);
        await deny(world, id);
        await reply(world, asked, { reply: given });
        assert.is(textOf(await answer), 'done');
        assert.equal(paid, []);
        assert.match(outputOf((await callsOf(world, id))[0]), 'permission rule of this server denies');
      }
    },
  );

  check('may also be given: the next call sends no request', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    await deny(world, id, [rule('allow', 'pay')]);
    await reply(world, asked, { reply: 'once' });
    await answer;
    await ask(world, id);
    assert.is(paid.length, 2);
  });
});

describe('a permission of a session of its own', (check) => {
  check('lifts a ban of the agent with ask, as it comes after that', async () => {
    const { world, paid } = await paying('deny');
    const answer = ask(world, await world.session({ permission: [rule('ask', 'pay')] }));
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'once' });
    await answer;
    assert.is(paid.length, 1);
  });
});

describe('a permission of a session below another one', (check) => {
  const below = async (rules: readonly Rule[], permission: readonly Rule[], more = {}) => {
    const { world, paid } = await paying('allow', { rules });
    const id = await world.session({ parentID: await world.session(), permission });
    const answer = ask(world, id, 'pay', more);
    let isOver = false;
    const over = answer.finally(() => {
      isOver = true;
    });
    await until(world, async () => isOver || (await asksOf(world)).length === 1);
    const asked = await asksOf(world);
    await world.post(`/session/${id}/abort`);
    await over;
    return { asks: asked.length, paid: paid.length, tools: world.asked[0]?.tools.map(({ name }) => name) };
  };

  check('holds back with ask, and lifts no ban of the agent with it', async () => {
    assert.equal(await below([rule('allow')], [rule('ask')]), { asks: 1, paid: 0, tools: ['pay', 'look'] });
    assert.equal(await below([rule('allow'), rule('deny', 'pay')], [rule('ask')]), {
      asks: 0,
      paid: 0,
      tools: ['look'],
    });
    const some = [rule('allow'), rule('deny', 'pay', '*'), rule('allow', 'pay', 'x')];
    assert.equal((await below(some, [rule('ask')])).asks, 0);
  });

  check('lifts one with allow, as every session may, and so does a switch of the message', async () => {
    const banned = [rule('allow'), rule('deny', 'pay')];
    assert.is((await below(banned, [rule('allow', 'pay')])).paid, 1);
    assert.is((await below(banned, [rule('ask')], { tools: { pay: true } })).paid, 1);
  });
});

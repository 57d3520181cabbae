import * as assert from 'uvu/assert';
import type { Action, Rule, Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import {
  answersIn,
  ask,
  asksOf,
  asksWhen,
  callsOf,
  eventsOf,
  isQuiet,
  messagesOf,
  outputOf,
  reply,
  textOf,
  until,
} from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  outcome,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';

const rule = (action: Action, permission = '*', pattern = '*'): Rule => ({ permission, pattern, action });
const PAY = { name: 'pay', input: { amount: '5' } };

/** A world in which the model wants to pay, once, and then says so. */
const paying = async (action: Action, given: WorldGiven = {}) => {
  const paid: unknown[] = [];
  const pay = toolNamed('pay', async (input) => {
    paid.push(input);
    return outcome('paid');
  });
  const world = await createAgentWorld({
    tools: [pay, toolNamed('look')],
    rules: [rule(action)],
    scripts: [calling(PAY), replying('done'), calling(PAY), replying('done'), calling(PAY), replying('done')],
    ...given,
  });
  return { world, paid };
};

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

describe('a question', (check) => {
  check('is listed and reported with what it is about, under an id of its own', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const [part] = await callsOf(world, id);
    assert.match(asked?.id ?? '', /^per_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    assert.equal(asked, {
      id: asked?.id ?? '',
      sessionID: id,
      permission: 'pay',
      patterns: ['*'],
      always: ['*'],
      metadata: { tool: 'pay', input: { amount: '5' } },
      tool: { messageID: part?.messageID ?? '', callID: 'call-1-0' },
      agent: 'build',
      argumentsHash: asked?.argumentsHash ?? '',
      time: { asked: asked?.time?.asked ?? 0, ends: (asked?.time?.asked ?? 0) + 300_000 },
      arguments: { amount: '5' },
      title: asked && 'title' in asked ? asked.title : '',
    });
    const { arguments: shown, title, ...stored } = { arguments: {}, title: '', ...asked };
    assert.equal((await eventsOf(world, 'permission.asked'))[0]?.properties, stored);
    assert.is(part?.state.status, 'pending');
    await reply(world, asked, { reply: 'once' });
    await answer;
  });

  check('that is answered with once lets this call run and asks for the next one', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const first = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    assert.is(await reply(world, asked, { reply: 'once' }), true);
    assert.is(textOf(await first), 'done');
    assert.equal((await eventsOf(world, 'permission.replied'))[0]?.properties, {
      sessionID: id,
      requestID: asked?.id ?? '',
      reply: 'once',
    });
    const second = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'once' });
    await second;
    assert.is(paid.length, 2);
  });

  check('that is answered with always is not asked again, in other sessions neither', async () => {
    const { world, paid } = await paying('ask');
    const first = ask(world, await world.session());
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await first;
    await ask(world, await world.session());
    assert.is(paid.length, 2);
    assert.is((await eventsOf(world, 'permission.asked')).length, 1);
  });

  check('that is answered with always answers the same questions of other sessions', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay')],
      rules: [rule('ask')],
      scripts: [calling(PAY), calling(PAY), replying('done')],
    });
    const answers = [ask(world, await world.session()), ask(world, await world.session())];
    await reply(world, (await asksWhen(world, 2))[0], { reply: 'always' });
    assert.equal((await Promise.all(answers)).map(textOf), ['done', 'done']);
  });

  check('that is answered with always answers the same questions of its session, and no others', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay'), toolNamed('look')],
      rules: [rule('ask')],
      scripts: [calling(PAY, { ...PAY, input: { amount: '6' } }, { name: 'look', input: {} }), replying('done')],
    });
    const answer = ask(world, await world.session());
    const asked = await asksWhen(world, 3);
    await reply(
      world,
      asked.find(({ permission }) => permission === 'pay'),
      { reply: 'always' },
    );
    const [left] = await asksWhen(world, 1);
    assert.is(left?.permission, 'look');
    await reply(world, left, { reply: 'once' });
    await answer;
    const replies = (await eventsOf(world, 'permission.replied')).map(({ properties }) => properties.reply);
    assert.equal(replies.sort(), ['always', 'always', 'once']);
  });

  check('that is answered with always lifts no ban of another agent or session', async () => {
    const open = { ...toolNamed('open'), patternsFor: () => ['a.txt'] };
    const world = await createAgentWorld({
      tools: [open],
      rules: [rule('ask')],
      agents: [{ name: 'strict', rules: [rule('allow'), rule('deny', 'open', 'a.*')] }],
      scripts: [
        calling({ name: 'open', input: {} }),
        replying('done'),
        calling({ name: 'open', input: {} }),
        replying('no'),
      ],
    });
    const first = ask(world, await world.session());
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await first;
    const id = await world.session({ agent: 'strict' });
    await ask(world, id);
    assert.match(outputOf((await callsOf(world, id))[0]), 'denies this call');
  });

  check('that is rejected ends the turn, and the other requests of its session are told as not made', async () => {
    const world = await createAgentWorld({
      tools: [toolNamed('pay'), toolNamed('look')],
      rules: [rule('ask')],
      scripts: [calling(PAY, { name: 'look', input: {} }), calling(PAY), replying('never')],
    });
    const [id, other] = [await world.session(), await world.session()];
    const answer = ask(world, id);
    await asksWhen(world, 2);
    const elsewhere = ask(world, other);
    await until(world, async () => (await asksOf(world)).some(({ sessionID }) => sessionID === other));
    const asked = await asksOf(world);
    await reply(
      world,
      asked.find(({ permission, sessionID }) => permission === 'pay' && sessionID === id),
      { reply: 'reject' },
    );
    const { info } = await answer;
    assert.is(info.finish, 'tool-calls');
    assert.is(info.error, undefined);
    assert.equal((await callsOf(world, id)).map(outputOf), [
      'The user rejected this call.',
      'The user rejected another call of this session, so this one was not made.',
    ]);
    assert.ok((await asksOf(world)).every(({ sessionID }) => sessionID === other));
    await world.post(`/session/${other}/abort`);
    await elsewhere;
  });

  check('that is rejected with words hands them to the model, which goes on', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'reject', message: 'Pay 4 instead' });
    assert.is(textOf(await answer), 'done');
    assert.equal(paid, []);
    assert.match(outputOf((await callsOf(world, id))[0]), 'Their message: Pay 4 instead');
  });

  check('that no one answers ends by itself as a rejection', async () => {
    const { world, paid } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    await asksWhen(world, 1);
    await world.clock.advance(299_000);
    assert.is((await asksOf(world)).length, 1);
    await world.clock.advance(2000);
    assert.is((await answer).info.finish, 'tool-calls');
    assert.match(outputOf((await callsOf(world, id))[0]), 'was not answered in time');
    assert.is((await eventsOf(world, 'permission.replied'))[0]?.properties.reply, 'reject');
    assert.equal(paid, []);
    assert.ok(await isQuiet(world));
  });

  check('is gone with an abort, with the session and with the server, and reported to be over', async () => {
    for (const end of ['abort', 'delete', 'stop'] as const) {
      const { world, paid } = await paying('ask');
      const id = await world.session();
      const answer = ask(world, id);
      await asksWhen(world, 1);
      if (end === 'abort') await world.post(`/session/${id}/abort`);
      if (end === 'delete') assert.is((await world.call('DELETE', `/session/${id}`)).status, 200);
      if (end === 'stop') await world.server.stop();
      assert.is((await answer).info.error?.name, 'MessageAbortedError', end);
      // What was told of a session goes with it.
      const reported = (await eventsOf(world, 'permission.replied')).map(({ properties }) => properties.reply);
      assert.equal(reported, end === 'delete' ? [] : ['reject']);
      assert.equal(paid, []);
      if (end !== 'stop') assert.ok(await isQuiet(world));
      assert.is(world.clock.pending(), end === 'stop' ? 0 : 1, 'no timer is left but the one for pruning');
    }
  });

  check('can be answered on the route of older clients too, in its own session only', async () => {
    const { world } = await paying('ask');
    const [id, other] = [await world.session(), await world.session()];
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const wrong = await world.call('POST', `/session/${other}/permissions/${asked?.id}`, { response: 'once' });
    assert.is(wrong.status, 404);
    assert.is(await world.post(`/session/${id}/permissions/${asked?.id}`, { response: 'once' }), true);
    assert.is(textOf(await answer), 'done');
  });

  check('cannot be answered twice, late, or when there never was one', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const path = `/permission/${asked?.id}/reply`;
    const both = await Promise.all([
      world.call('POST', path, { reply: 'once' }),
      world.call('POST', path, { reply: 'reject' }),
    ]);
    assert.equal(
      both.map(({ status }) => status),
      [200, 404],
    );
    assert.is(textOf(await answer), 'done');
    for (const late of [path, '/permission/per_000000000000aaaaaaaaaaaaaa/reply', '/permission/nonsense/reply']) {
      const response = await world.call('POST', late, { reply: 'once' });
      assert.is(response.status, 404);
      const { name, data } = (await response.json()) as { name: string; data: { message: string } };
      assert.is(name, 'NotFoundError');
      const expected = {
        [path]: 'The permission request was allowed once, so this reply has no effect',
        '/permission/nonsense/reply': 'this permission request was not found, or is no longer open',
      };
      const unknown = `permission request "${late.split('/')[2]}" was not found, or is no longer open`;
      assert.is(data.message, expected[late] ?? unknown);
    }
    const old = await world.call('POST', `/session/${id}/permissions/${asked?.id}`, { response: 'once' });
    assert.is(old.status, 404);
  });

  check('is not answered by a word that is none', async () => {
    const { world } = await paying('ask');
    const id = await world.session();
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    for (const wrong of [{}, { reply: 'yes' }, { reply: 'reject', message: 7 }, [], 'once']) {
      assert.is((await world.call('POST', `/permission/${asked?.id}/reply`, wrong)).status, 400);
    }
    assert.is((await asksOf(world)).length, 1);
    await reply(world, asked, { reply: 'once' });
    await answer;
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

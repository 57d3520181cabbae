import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import type { Action, ModelRef, Rule, Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import {
  type Answer,
  ask,
  asksWhen,
  callsOf,
  isQuiet,
  messagesOf,
  outputOf,
  reply,
  statuses,
  textOf,
  until,
} from '../harness/permission-requests.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  replying,
  type Script,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';

const rule = (action: Action, permission = '*', pattern = '*'): Rule => ({ permission, pattern, action });
const TASK = { description: 'count the beans', prompt: 'Count them all.', subagent_type: 'helper' };
/** Rules of an agent that may hand on what was handed to it. */
const HANDING_ON = [rule('allow'), rule('allow', 'task')];
const task = (input: unknown = TASK): Script => calling({ name: 'task', input });

/** A world in which the first agent hands its work to a helper. */
const handing = async (scripts: readonly Script[], given: WorldGiven = {}) => {
  const world = await createAgentWorld({
    agents: [
      { name: 'helper', canTakeTasks: true, canAnswerPrompts: false, prompt: 'You help.', description: 'helps' },
    ],
    scripts,
    ...given,
  });
  return { world, id: await world.session({ directory: '/srv/desk' }) };
};
type World = Awaited<ReturnType<typeof createAgentWorld>>;
const childOf = async (world: World, id: string): Promise<Session> => {
  const [child] = (await world.get(`/session/${id}/children`)) as readonly Session[];
  if (child === undefined) throw new Error('no child');
  return child;
};

describe('a task', (check) => {
  check('is worked on in a child session by the other agent, and its last words are the outcome', async () => {
    const { world, id } = await handing([task(), replying('There are ', '17.'), replying('17, says the helper')]);
    assert.is(textOf(await ask(world, id)), '17, says the helper');
    const child = await childOf(world, id);
    assert.is(child.title, 'count the beans (@helper subagent)');
    assert.is(child.agent, 'helper');
    assert.is(child.parentID, id);
    const [asked, answered] = await messagesOf(world, child.id);
    assert.is(asked === undefined ? '' : textOf(asked), 'Count them all.');
    assert.is(answered?.info.role === 'assistant' && answered.info.agent, 'helper');
    assert.is(world.asked[1]?.system, 'You help.');
    const [part] = await callsOf(world, id);
    assert.is(outputOf(part), 'There are 17.');
    assert.is(part?.state.status === 'completed' && part.state.metadata.sessionId, child.id);
    assert.ok(await isQuiet(world));
  });

  check('is offered with the agents that the rules allow, and not where they allow none', async () => {
    const agents = ['helper', 'cleaner', 'payer'].map((name) => ({
      name,
      canTakeTasks: true,
      description: `${name}s`,
    }));
    const offeredUnder = async (...rules: readonly Rule[]) => {
      const { world, id } = await handing([replying('hi')], { agents, rules: [rule('allow'), ...rules] });
      await ask(world, id);
      return world.asked[0]?.tools.find(({ name }) => name === 'task');
    };
    const namesIn = (offered: Awaited<ReturnType<typeof offeredUnder>>) =>
      (offered?.inputSchema as { properties?: { subagent_type: { enum: unknown } } })?.properties?.subagent_type.enum;
    const some = await offeredUnder(rule('deny', 'task'), rule('ask', 'task', 'p*'), rule('allow', 'task', 'helper'));
    assert.equal(namesIn(some), ['helper', 'payer']);
    assert.match(some?.description ?? '', '- helper: helpers\n- payer: payers');
    assert.not.match(JSON.stringify(some), 'cleaner');
    assert.equal(namesIn(await offeredUnder()), ['helper', 'cleaner', 'payer']);
    assert.is(await offeredUnder(rule('deny', 'task')), undefined);
    assert.is(await offeredUnder(rule('deny', 'task'), rule('allow', 'task', 'nobody')), undefined);
  });

  check('for an agent that the rules deny is refused, though a model may guess its name', async () => {
    const agents = ['helper', 'payer'].map((name) => ({ name, canTakeTasks: true }));
    const rules = [rule('allow'), rule('deny', 'task', 'payer')];
    const { world, id } = await handing([task({ ...TASK, subagent_type: 'payer' }), replying('no')], { agents, rules });
    await ask(world, id);
    assert.match(outputOf((await callsOf(world, id))[0]), 'permission rule of this server denies');
  });

  check('is offered with the agents that take one', async () => {
    const { world, id } = await handing([replying('hi')]);
    await ask(world, id);
    const offered = world.asked[0]?.tools.find(({ name }) => name === 'task');
    assert.match(offered?.description ?? '', '- helper: helps');
    assert.not.match(offered?.description ?? '', 'build');
    assert.match(JSON.stringify(offered?.inputSchema), '"enum":["helper"]');
  });

  check('for an agent that there is not, or with other arguments, is reported to be impossible', async () => {
    for (const input of [
      { ...TASK, subagent_type: 'build' },
      { ...TASK, prompt: '' },
      { prompt: 'x' },
      { ...TASK, description: 7 },
    ]) {
      const { world, id } = await handing([task(input), replying('then not')]);
      assert.is(textOf(await ask(world, id)), 'then not');
      assert.is((await callsOf(world, id))[0]?.state.status, 'error');
      assert.equal(await world.get(`/session/${id}/children`), []);
    }
  });

  check('for an agent that takes none, or that there is not, is reported with those that do', async () => {
    for (const [subagent_type, says] of [
      ['build', 'subagent_type: agent "build" takes no tasks; expected one of helper'],
      ['hepler', 'subagent_type: agent "hepler" is not configured; the nearest is "helper"; expected one of helper'],
      ['br-key-1', 'subagent_type: this agent is not configured; expected one of helper'],
    ] as const) {
      const { world, id } = await handing([task({ ...TASK, subagent_type }), replying('then not')]);
      await ask(world, id);
      assert.is(outputOf((await callsOf(world, id))[0]), says);
    }
  });

  check('that fails is reported to have failed', async () => {
    const { world, id } = await handing([task(), failing(new ModelError('auth', 'Refused')), replying('it failed')]);
    assert.is(textOf(await ask(world, id)), 'it failed');
    const [part] = await callsOf(world, id);
    assert.is(part?.state.status, 'error');
    assert.match(outputOf(part), 'The task failed: ProviderAuthError');
  });

  check('that ended because a person rejected a call says which', async () => {
    const { world, id } = await handing([task(), calling({ name: 'pay', input: {} }), replying('not paid')], {
      tools: [toolNamed('pay')],
      rules: [rule('allow'), rule('ask', 'pay')],
    });
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    await reply(world, asked, { reply: 'reject' });
    assert.is(textOf(await answer), 'not paid');
    assert.is(
      outputOf((await callsOf(world, id))[0]),
      'The task ended without an answer. pay: The user rejected this call.',
    );
  });

  check('without an answer says so', async () => {
    const { world, id } = await handing([task(), replying(), replying('ok')]);
    await ask(world, id);
    assert.is(outputOf((await callsOf(world, id))[0]), 'The task ended without an answer.');
  });

  check('asks its own questions, under its own session', async () => {
    const { world, id } = await handing(
      [task(), calling({ name: 'pay', input: {} }), replying('paid'), replying('done')],
      {
        tools: [toolNamed('pay')],
        rules: [rule('allow'), rule('ask', 'pay')],
      },
    );
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    assert.is(asked?.sessionID, (await childOf(world, id)).id);
    assert.equal(Object.keys((await statuses(world)) as object).length, 2);
    await reply(world, asked, { reply: 'once' });
    assert.is(textOf(await answer), 'done');
  });

  check('is asked about by the name of the agent, never by a wildcard of the model', async () => {
    const rules = [rule('ask')];
    for (const [subagent_type, pattern] of [
      ['helper', 'helper'],
      ['*', 'unknown'],
      ['h*', 'unknown'],
      [7, 'unknown'],
    ] as const) {
      const { world, id } = await handing([task({ ...TASK, subagent_type })], { rules });
      const answer = ask(world, id);
      const [asked] = await asksWhen(world, 1);
      assert.equal(asked?.patterns, [pattern]);
      assert.equal(asked?.always, [pattern]);
      await world.post(`/session/${id}/abort`);
      await answer;
    }
  });

  check('ends with the session that asked for it', async () => {
    for (const end of ['abort', 'delete', 'stop'] as const) {
      const { world, id } = await handing([task(), hanging]);
      const answer = ask(world, id);
      await until(world, () => world.asked.length === 2);
      const child = await childOf(world, id);
      if (end === 'abort') await world.post(`/session/${id}/abort`);
      if (end === 'delete') await world.call('DELETE', `/session/${id}`);
      if (end === 'stop') await world.server.stop();
      assert.is((await answer).info.error?.name, 'MessageAbortedError');
      const [, answered] = await world.store.messages(child.id);
      const childEnd = answered?.info.role === 'assistant' ? answered.info.error?.name : undefined;
      assert.is(childEnd, end === 'delete' ? undefined : 'MessageAbortedError');
      if (end !== 'stop') assert.ok(await isQuiet(world), end);
    }
  });

  check('ends also when the end comes while its session is being made', async () => {
    const { store } = await createAgentWorld();
    let aborted: Promise<unknown> | undefined;
    const { world, id }: Awaited<ReturnType<typeof handing>> = await handing([task(), hanging], {
      store: {
        ...store,
        async commit(changes, events) {
          const child = changes.find((change) => change.kind === 'session' && change.session.parentID !== undefined);
          if (child !== undefined) aborted ??= world.post(`/session/${id}/abort`);
          await new Promise((resolve) => setImmediate(resolve));
          return store.commit(changes, events);
        },
      },
    });
    assert.is((await ask(world, id)).info.error?.name, 'MessageAbortedError');
    await aborted;
    assert.ok(await isQuiet(world));
    assert.is(world.asked.length, 1);
  });

  check('whose session somebody removes is reported to be over, and is no bug of anybody', async () => {
    const { store } = await createAgentWorld();
    const removed: Promise<unknown>[] = [];
    const { world, id }: Awaited<ReturnType<typeof handing>> = await handing([task(), replying('then alone')], {
      store: {
        ...store,
        async commit(changes, events) {
          const placed = await store.commit(changes, events);
          for (const change of changes) {
            if (change.kind !== 'session' || change.session.parentID === undefined || removed.length > 0) continue;
            removed.push(world.call('DELETE', `/session/${change.session.id}`));
            await new Promise((resolve) => setImmediate(resolve));
          }
          return placed;
        },
      },
    });
    assert.is(textOf(await ask(world, id)), 'then alone');
    await Promise.all(removed);
    assert.match(outputOf((await callsOf(world, id))[0]), 'Somebody removed the session');
    assert.equal(await world.get(`/session/${id}/children`), []);
    assert.not.ok(world.logged.some((line) => line.includes('"bug"')));
  });

  check('that is aborted by itself is reported to have failed, and the other agent goes on', async () => {
    const { world, id } = await handing([task(), hanging, replying('then alone')]);
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 2);
    await world.post(`/session/${(await childOf(world, id)).id}/abort`);
    assert.is(textOf(await answer), 'then alone');
    assert.match(outputOf((await callsOf(world, id))[0]), 'MessageAbortedError');
  });

  check('may hand on work itself, but not without end', async () => {
    const always: Script = async function* (request, signal) {
      const isFirst = request.messages.length === 1;
      yield* (isFirst ? task() : replying('done'))(request, signal);
    };
    const { world, id } = await handing([always], { rules: HANDING_ON });
    assert.is(textOf(await ask(world, id)), 'done');
    const all = (await world.get('/session')) as readonly Session[];
    assert.is(all.length, 4);
    const deepest = all.find((session) => !all.some(({ parentID }) => parentID === session.id));
    assert.match(outputOf((await callsOf(world, deepest?.id ?? ''))[0]), 'nested too deeply');
  });

  check('is deleted with the session that handed it on, and so is what it has handed on itself', async () => {
    const scripts = [task(), replying('one'), replying('two'), task(), replying('three'), replying('four')];
    const { world, id } = await handing(scripts, { rules: HANDING_ON });
    await ask(world, id);
    const child = await childOf(world, id);
    assert.is(textOf(await ask(world, child.id)), 'four');
    await world.call('DELETE', `/session/${id}`);
    assert.is((await world.call('GET', `/session/${child.id}`)).status, 404);
    assert.equal(await world.get('/session'), []);
  });

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

  check('lets its session be prompted by people, who chat with the other agent', async () => {
    const { world, id } = await handing([task(), replying('one'), replying('two'), replying('three')]);
    await ask(world, id);
    const answer = await ask(world, (await childOf(world, id)).id, 'and?');
    assert.is(answer.info.agent, 'helper');
    assert.is(textOf(answer), 'three');
  });
});

describe('handing on what was handed on', (check) => {
  const offeredTo = async (rules: readonly Rule[], agent: readonly Rule[]) => {
    const helper = { name: 'helper', canTakeTasks: true, rules: [...rules, ...agent] };
    const scripts = [task(), replying('one'), replying('two')];
    const { world, id } = await handing(scripts, { rules, agents: [helper] });
    await ask(world, id);
    return world.asked[1]?.tools.map(({ name }) => name);
  };

  check('is for those agents only whose rules speak of it', async () => {
    assert.equal(await offeredTo([rule('allow')], []), []);
    assert.equal(await offeredTo([rule('allow')], [rule('allow')]), []);
    assert.equal(await offeredTo([rule('allow')], [rule('ask', 'pay')]), []);
    assert.equal(await offeredTo([rule('allow')], [rule('allow', 'task')]), ['task']);
    assert.equal(await offeredTo([rule('allow')], [rule('allow', 'task', 'helper')]), ['task']);
    assert.equal(await offeredTo([rule('allow')], [rule('ask', 'task')]), ['task']);
    assert.equal(await offeredTo([rule('allow'), rule('allow', 'task')], [rule('deny', 'task')]), []);
  });

  check('comes to a hundred tasks for one prompt, however they are spread', async () => {
    const five: Script = calling(
      ...Array.from({ length: 5 }, (_, n) => ({ name: 'task', input: { ...TASK, prompt: `Part ${n}` } })),
    );
    const spreading: Script = async function* (request, signal) {
      yield* (request.messages.length === 1 ? five : replying('done'))(request, signal);
    };
    const { world, id } = await handing([spreading], { rules: HANDING_ON });
    let outputText = '';
    const answered = (answer: Answer) => {
      outputText = textOf(answer);
    };
    void ask(world, id).then(answered);
    await until(world, () => outputText === 'done');
    // Five, and five for each of them, and five for each of those: 155.
    const all = (await world.get('/session')) as readonly Session[];
    assert.is(all.length, 1 + 100);
    const outputs = (await Promise.all(all.map((one) => callsOf(world, one.id)))).flat().map(outputOf);
    assert.ok(
      outputs.includes('100 tasks have been handed on for this prompt, and no more may be. Do the work yourself.'),
    );
    outputText = '';
    void ask(world, id, 'again').then(answered);
    await until(world, () => outputText !== '');
    assert.ok(await isQuiet(world));
  });

  check('counts for each prompt anew', async () => {
    const again: Script = async function* (request, signal) {
      const isAsked = request.messages.at(-1)?.role === 'user' && request.system !== 'You help.';
      yield* (isAsked ? task() : replying('done'))(request, signal);
    };
    const { world, id } = await handing([again]);
    for (let count = 0; count < 101; count++) await ask(world, id);
    assert.ok((await callsOf(world, id)).every((part) => outputOf(part) === 'done'));
  });
});

describe('the model of a task', (check) => {
  const ELSEWHERE = { providerID: 'onprem', modelID: 'private', variant: 'high' };
  const refsOf = async (model: ModelRef | undefined) => {
    const helper = { name: 'helper', canTakeTasks: true, model };
    const scripts = [task(), replying('one'), replying('two')];
    const asked: string[] = [];
    const world = await createAgentWorld({ agents: [helper], scripts, models: [ELSEWHERE] });
    const id = await world.session();
    await ask(world, id, 'hi', { model: { providerID: 'onprem', modelID: 'private' }, variant: 'high' });
    const child = await childOf(world, id);
    for (const { info } of await messagesOf(world, child.id)) {
      const ref = info.role === 'user' ? info.model : info;
      asked.push([ref.providerID, ref.modelID, ref.variant ?? ''].join(' '));
    }
    return [...new Set(asked)];
  };

  check('is that of the prompt, with its variant, and not the one that is usual here', async () => {
    assert.equal(await refsOf(undefined), [Object.values(ELSEWHERE).join(' ')]);
  });

  check('is its own agent’s where that has one', async () => {
    assert.equal(await refsOf({ providerID: 'demo', modelID: 'main' }), ['demo main ']);
  });
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

  check('is what people allowed for good, where all those above would be asked', async () => {
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
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    assert.is(textOf(await answer), 'done');
    assert.is(outputOf((await callsOf(world, (await childOf(world, id)).id))[0]), 'done');
  });
});

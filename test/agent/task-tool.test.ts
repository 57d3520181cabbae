import * as assert from 'uvu/assert';
import { ModelProblem } from '../../src/agent/chat-model.ts';
import type { Action, Rule, Session } from '../../src/agent/session.ts';
import { describe } from '../check.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  type Script,
  saying,
  toolNamed,
  type WorldGiven,
} from './agent-world.ts';
import { ask, asksWhen, callsOf, isQuiet, messagesOf, outputOf, reply, statuses, textOf, until } from './asking.ts';

const rule = (action: Action, permission = '*', pattern = '*'): Rule => ({ permission, pattern, action });
const TASK = { description: 'count the beans', prompt: 'Count them all.', subagent_type: 'helper' };
const task = (input: unknown = TASK): Script => calling({ name: 'task', input });

/** A world in which the first agent hands its work to a helper. */
const handing = async (scripts: readonly Script[], given: WorldGiven = {}) => {
  const world = await createAgentWorld({
    agents: [{ name: 'helper', takesTasks: true, answersPrompts: false, prompt: 'You help.', description: 'helps' }],
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
    const { world, id } = await handing([task(), saying('There are ', '17.'), saying('17, says the helper')]);
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

  check('is offered with the agents that take one', async () => {
    const { world, id } = await handing([saying('hi')]);
    await ask(world, id);
    const offered = world.asked[0]?.tools.find(({ name }) => name === 'task');
    assert.match(offered?.description ?? '', '- helper: helps');
    assert.not.match(offered?.description ?? '', 'build');
    assert.match(JSON.stringify(offered?.inputSchema), '"enum":["helper"]');
  });

  check('for an agent that there is not, or with other arguments, is told to be impossible', async () => {
    for (const input of [
      { ...TASK, subagent_type: 'build' },
      { ...TASK, prompt: '' },
      { prompt: 'x' },
      { ...TASK, description: 7 },
    ]) {
      const { world, id } = await handing([task(input), saying('then not')]);
      assert.is(textOf(await ask(world, id)), 'then not');
      assert.is((await callsOf(world, id))[0]?.state.status, 'error');
      assert.equal(await world.get(`/session/${id}/children`), []);
    }
  });

  check('that fails is told to have failed', async () => {
    const { world, id } = await handing([task(), failing(new ModelProblem('auth', 'Refused')), saying('it failed')]);
    assert.is(textOf(await ask(world, id)), 'it failed');
    const [part] = await callsOf(world, id);
    assert.is(part?.state.status, 'error');
    assert.match(outputOf(part), 'The task failed: ProviderAuthError');
  });

  check('without an answer says so', async () => {
    const { world, id } = await handing([task(), saying(), saying('ok')]);
    await ask(world, id);
    assert.is(outputOf((await callsOf(world, id))[0]), 'The task ended without an answer.');
  });

  check('asks its own questions, under its own session', async () => {
    const { world, id } = await handing([task(), calling({ name: 'pay', input: {} }), saying('paid'), saying('done')], {
      tools: [toolNamed('pay')],
      rules: [rule('allow'), rule('ask', 'pay')],
    });
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

  check('that is aborted by itself is told to have failed, and the other agent goes on', async () => {
    const { world, id } = await handing([task(), hanging, saying('then alone')]);
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 2);
    await world.post(`/session/${(await childOf(world, id)).id}/abort`);
    assert.is(textOf(await answer), 'then alone');
    assert.match(outputOf((await callsOf(world, id))[0]), 'MessageAbortedError');
  });

  check('may hand on work itself, but not without end', async () => {
    const always: Script = async function* (request, signal) {
      const isFirst = request.messages.length === 1;
      yield* (isFirst ? task() : saying('done'))(request, signal);
    };
    const { world, id } = await handing([always]);
    assert.is(textOf(await ask(world, id)), 'done');
    const all = (await world.get('/session')) as readonly Session[];
    assert.is(all.length, 4);
    const deepest = all.find((session) => !all.some(({ parentID }) => parentID === session.id));
    assert.match(outputOf((await callsOf(world, deepest?.id ?? ''))[0]), 'nested too deeply');
  });

  check('is deleted with the session that handed it on, and so is what it has handed on itself', async () => {
    const { world, id } = await handing([
      task(),
      saying('one'),
      saying('two'),
      task(),
      saying('three'),
      saying('four'),
    ]);
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
      const { world } = await handing([task(), calls, saying('no'), saying('then not')], {
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
      assert.equal(child.permission, [...permission, rule('deny', 'dig')]);
      assert.equal(
        (await callsOf(world, child.id)).map((part) => part.tool),
        ['invalid', 'look', 'invalid'],
      );
    },
  );

  check('lets its session be prompted by people, who talk with the other agent', async () => {
    const { world, id } = await handing([task(), saying('one'), saying('two'), saying('three')]);
    await ask(world, id);
    const answer = await ask(world, (await childOf(world, id)).id, 'and?');
    assert.is(answer.info.agent, 'helper');
    assert.is(textOf(answer), 'three');
  });
});

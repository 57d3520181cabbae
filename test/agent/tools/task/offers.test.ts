import * as assert from 'uvu/assert';
import type { Rule, Session } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import {
  type Answer,
  ask,
  asksWhen,
  callsOf,
  isQuiet,
  outputOf,
  reply,
  textOf,
  until,
} from '../../harness/permission-requests.ts';
import { calling, replying, type Script, toolNamed } from '../../harness/world.ts';
import { HANDING_ON, handing, rule, TASK, task } from './world.ts';

describe('a task', (check) => {
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
    assert.is(offered?.description.includes('build'), false);
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

import * as assert from 'uvu/assert';
import { ModelError } from '../../../../src/agent/model/types.ts';
import type { ModelRef } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import {
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
} from '../../harness/permission-requests.ts';
import { calling, createAgentWorld, failing, hanging, replying, toolNamed } from '../../harness/world.ts';
import { childOf, HANDING_ON, handing, rule, task } from './world.ts';

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

  check('that fails is reported to have failed', async () => {
    const { world, id } = await handing([task(), failing(new ModelError('auth', 'Refused')), replying('it failed')]);
    assert.is(textOf(await ask(world, id)), 'it failed');
    const [part] = await callsOf(world, id);
    assert.is(part?.state.status, 'error');
    assert.match(outputOf(part), 'The task failed: ProviderAuthError');
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

  check('lets its session be prompted by people, who chat with the other agent', async () => {
    const { world, id } = await handing([task(), replying('one'), replying('two'), replying('three')]);
    await ask(world, id);
    const answer = await ask(world, (await childOf(world, id)).id, 'and?');
    assert.is(answer.info.agent, 'helper');
    assert.is(textOf(answer), 'three');
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

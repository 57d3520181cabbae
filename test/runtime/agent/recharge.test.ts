import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { rechargesSeen } from '../relay-admin/world.ts';
import type { AgentProcess } from './process.ts';
import {
  callsIn,
  childrenOf,
  inRelayWorld,
  isNoTitle,
  messagesOf,
  newSession,
  nextQuestion,
  prompt,
  promptTexts,
  questionsOf,
  type ReceivedAnswer,
  type RelayWorld,
  textPrompt,
  until,
} from './world.ts';

const ALICE = 'alice@example.com';
const WANTED = `recharge ${ALICE} 5`;
const STEPS = ['relay-admin_find_user', 'relay-admin_preview_recharge', 'relay-admin_recharge'];

const maintain = async (agent: AgentProcess, text = WANTED) => {
  const { id } = await newSession(agent, { title: 'a recharge', agent: 'maintainer' });
  const answered = prompt(agent, id, text);
  return { id, answered };
};

const reply = async ({ ask }: AgentProcess, requestID: string, body: object): Promise<void> => {
  const { status, text } = await ask('POST', `/permission/${requestID}/reply`, body);
  assert.is(status, 200, text);
};

const aliceOf = ({ relay }: RelayWorld) => {
  const alice = relay.control.users.find(({ email }) => email === ALICE);
  if (alice === undefined) throw new Error('nobody to recharge');
  return alice;
};

const assertNothingSent = ({ relay }: RelayWorld): void => {
  assert.equal(rechargesSeen(relay.control), []);
  assert.equal(relay.control.credits(), []);
};

const lastState = async (agent: AgentProcess, id: string) => callsIn(await messagesOf(agent, id)).at(-1)?.state;

describe('the maintainer of the example configuration', (check) => {
  check(
    'recharges once, after a person has seen the tool, its arguments and the words of the preview',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      const before = aliceOf(world).balance;
      const { id, answered } = await maintain(agent);
      const question = await nextQuestion(agent);
      assertNothingSent(world);
      assert.equal([question.permission, question.sessionID], ['relay-admin_recharge', id]);
      const { tool, input, preview } = question.metadata as {
        tool: string;
        input: { preview_token: string; idempotency_key: string };
        preview: { summary: string; warnings: readonly unknown[] };
      };
      assert.is(tool, 'relay-admin_recharge');
      assert.match(input.idempotency_key, /^[A-Za-z0-9_-]{16,128}$/);
      assert.type(input.preview_token, 'string');
      assert.match(preview.summary, /\b5\b/);
      assert.match(preview.summary, /alice|user 2\b/i);
      assert.ok(Array.isArray(preview.warnings));
      await reply(agent, question.id, { reply: 'once' });
      const { info, parts } = await answered;
      assert.is(info.finish, 'stop');
      assert.match(promptTexts(parts), /^Verified: 5 was added for alice@example\.com, whose balance is now /);
      const made = callsIn(await messagesOf(agent, id));
      assert.equal(
        made.map((call) => [call.tool, call.state.status]),
        STEPS.map((name) => [name, 'completed']),
      );
      assert.match(JSON.stringify(made.at(-1)?.state), 'verified');
      assert.is(rechargesSeen(world.relay.control).length, 1);
      const [credit, ...others] = world.relay.control.credits();
      assert.equal([credit?.idempotencyKey, others], [input.idempotency_key, []]);
      assert.is(aliceOf(world).balance - before, 500_000_000n);
      assert.equal(await questionsOf(agent), []);
    }),
  );

  check(
    'sends nothing when it is rejected, with a message or without one',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      for (const [message, words] of [
        [undefined, /^The user rejected this call\.$/],
        ['not today', /Their message: not today$/],
      ] as const) {
        const { id, answered } = await maintain(agent);
        await reply(agent, (await nextQuestion(agent)).id, { reply: 'reject', message });
        const { info, parts } = await answered;
        const state = await lastState(agent, id);
        assert.match(state?.status === 'error' ? state.error : '', words);
        if (message === undefined) assert.is(info.finish, 'tool-calls');
        else assert.match(promptTexts(parts), message);
        assertNothingSent(world);
      }
    }),
  );

  check.thorough(
    'sends nothing when no one answers in time',
    inRelayWorld(async (world) => {
      const agent = await world.startExample({ permission_timeout: 300 });
      const events = await agent.listen();
      const { id, answered } = await maintain(agent);
      const question = await nextQuestion(agent);
      await answered;
      const state = await lastState(agent, id);
      assert.match(state?.status === 'error' ? state.error : '', /was not answered in time/);
      await events.until('the end of the question', ({ type }) => type === 'permission.replied');
      const late = await agent.ask('POST', `/permission/${question.id}/reply`, { reply: 'once' });
      assert.is(late.status, 404);
      assertNothingSent(world);
      events.leave();
    }),
  );

  check.thorough(
    'sends nothing when the session is aborted or deleted while a person is asked',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      for (const [method, end] of [
        ['POST', '/abort'],
        ['DELETE', ''],
      ] as const) {
        const { id, answered } = await maintain(agent);
        const question = await nextQuestion(agent);
        assert.is((await agent.ask(method, `/session/${id}${end}`)).status, 200);
        assert.equal(await questionsOf(agent), []);
        assert.is((await answered).info.error?.name, 'MessageAbortedError');
        const late = await agent.ask('POST', `/permission/${question.id}/reply`, { reply: 'once' });
        assert.is(late.status, 404);
      }
      assertNothingSent(world);
    }),
  );

  check.thorough(
    'asks each time, and takes no answer of always',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      for (const amount of ['1', '2']) {
        const { answered } = await maintain(agent, `recharge ${ALICE} ${amount}`);
        const { id } = await nextQuestion(agent);
        const refused = await agent.ask('POST', `/permission/${id}/reply`, { reply: 'always' });
        assert.is(refused.status, 403);
        assert.match(refused.text, '"always_refused"');
        await reply(agent, id, { reply: 'once' });
        assert.match(promptTexts((await answered).parts), /^Verified: /);
      }
      assert.equal(
        world.relay.control.credits().map(({ amount }) => Number(amount)),
        [1, 2],
      );
    }),
  );
});

describe('the other agents of the example configuration', (check) => {
  check(
    'see no tool of the relay, and may not call one either',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      const { model } = world;
      model.addReply(answer(calls({ name: 'relay-admin_read', arguments: { path: 'users' } })), isNoTitle);
      for (const name of ['build', 'plan']) {
        const { id } = await newSession(agent, { title: 'a try', agent: name });
        await prompt(agent, id, 'look at the users');
      }
      for (const { tools } of model.requests().filter(isNoTitle)) assert.equal(tools, ['task']);
      assert.equal(
        world.relay.control
          .requests()
          .filter(({ target }) => target.includes('users') && !target.includes('page_size=1')),
        [],
      );
      const { json } = await agent.ask<readonly { name: string }[]>('GET', '/agent');
      assert.ok(json.some(({ name }) => name === 'maintainer'));
    }),
  );

  check(
    'hand the work to the maintainer, for whom a person is asked',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      const { id } = await newSession(agent, { title: 'a wish', agent: 'build' });
      const answered = prompt(agent, id, WANTED);
      const question = await nextQuestion(agent);
      const children = (await agent.ask<readonly Session[]>('GET', `/session/${id}/children`)).json;
      assert.equal([children.length, children[0]?.id], [1, question.sessionID]);
      assert.is(question.permission, 'relay-admin_recharge');
      const { preview } = question.metadata as { preview?: { summary: string } };
      assert.match(preview?.summary ?? '', /\b5\b/);
      const busy = (await agent.ask<Readonly<Record<string, unknown>>>('GET', '/session/status')).json;
      assert.equal(Object.keys(busy).sort(), [id, question.sessionID].sort());
      assertNothingSent(world);
      await reply(agent, question.id, { reply: 'once' });
      const { info, parts } = await answered;
      assert.is(info.sessionID, id);
      assert.match(promptTexts(parts), /^The maintainer says: Verified: 5 was added for alice@example\.com/);
      assert.is(world.relay.control.credits().length, 1);
      assert.equal((await agent.ask('GET', '/session/status')).json, {});
    }),
  );

  check.thorough(
    'send nothing when the maintainer is refused, and take its question away when they are aborted',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      const { id } = await newSession(agent, { title: 'a wish', agent: 'build' });
      const refused = prompt(agent, id, WANTED);
      await reply(agent, (await nextQuestion(agent)).id, { reply: 'reject' });
      assert.not.match(promptTexts((await refused).parts), 'Verified');
      const aborted = prompt(agent, id, WANTED);
      await nextQuestion(agent);
      await agent.ask('POST', `/session/${id}/abort`);
      assert.is((await aborted).info.error?.name, 'MessageAbortedError');
      await until('nobody is asked any more', async () => (await questionsOf(agent)).length === 0);
      await until(
        'all is idle',
        async () => Object.keys((await agent.ask<object>('GET', '/session/status')).json).length === 0,
      );
      assertNothingSent(world);
    }),
  );
});

/** Whether there is another tool server than before, and it can be called. */
const isBack = async (agent: AgentProcess, before: number | undefined): Promise<boolean> => {
  const [now] = childrenOf(agent.pid);
  const { json } = await agent.ask<Readonly<Record<string, { status: string }>>>('GET', '/mcp');
  return now !== undefined && now !== before && json['relay-admin']?.status === 'connected';
};

describe('a tool server that is killed', (check) => {
  for (const [fault, credits] of [
    ['stuck', 1],
    ['stuck-before', 0],
  ] as const) {
    check(
      `in the middle of a recharge that was credited ${credits} times leaves no false word, comes back, and sends no other`,
      inRelayWorld(async (world) => {
        const agent = await world.startExample();
        const { control } = world.relay;
        const { id, answered } = await maintain(agent);
        const question = await nextQuestion(agent);
        control.useFault(fault);
        await reply(agent, question.id, { reply: 'once' });
        await until('the recharge is there', () => rechargesSeen(control).length === 1);
        const [child, ...others] = childrenOf(agent.pid);
        assert.equal(others, []);
        process.kill(child ?? 0, 'SIGKILL');
        const { parts } = await answered;
        const state = await lastState(agent, id);
        const reported = state?.status === 'error' ? state.error : '';
        assert.match(reported, 'ended while the call was under way; whether it was carried out is not known');
        assert.not.match(promptTexts(parts), 'Verified');
        await until('it is back', () => isBack(agent, child));
        const second = await maintain(agent);
        if (credits === 0) {
          // The journal still has a doubt about the first one, which may yet be credited.
          assert.match(promptTexts((await second.answered).parts), 'UNRESOLVED_RECHARGE');
        } else {
          // It shows in the history, so whoever is asked for another one is told of it.
          const again = await nextQuestion(agent);
          const { preview } = again.metadata as { preview: { warnings: readonly string[] } };
          assert.is(preview.warnings.length, 1, JSON.stringify(preview.warnings));
          await reply(agent, again.id, { reply: 'reject' });
          assert.not.match(promptTexts((await second.answered).parts), 'Verified');
        }
        assert.is(rechargesSeen(control).length, 1);
        assert.is(control.credits().length, credits);
        const other = await maintain(agent, 'recharge carol@example.org 1');
        await reply(agent, (await nextQuestion(agent)).id, { reply: 'once' });
        assert.match(promptTexts((await other.answered).parts), /^Verified: 1 /);
        assert.is(control.credits().length, credits + 1);
      }),
    );
  }

  check.thorough(
    'again and again is started anew each time, and calls meanwhile say that they were not made',
    inRelayWorld(async (world) => {
      const agent = await world.startExample();
      const { model } = world;
      const { id } = await newSession(agent, { title: 'a look', agent: 'maintainer' });
      for (let round = 0; round < 2; round++) {
        const [child = 0] = childrenOf(agent.pid);
        process.kill(child, 'SIGKILL');
        model.addReply(answer(calls({ name: 'relay-admin_health', arguments: {} })), isNoTitle);
        await agent.ask<ReceivedAnswer>('POST', `/session/${id}/message`, textPrompt(`look ${round}`));
        const state = await lastState(agent, id);
        // The prompt waits a little for a server that is being connected.
        if (state?.status === 'error') assert.match(state.error, /was not made|is not known/);
        await until('it is back', () => isBack(agent, child));
      }
      await sleep(50);
      assert.is(childrenOf(agent.pid).length, 1);
    }),
  );

  check(
    'with the agent server leaves no process behind',
    inRelayWorld(async (world) => {
      for (const end of ['SIGTERM', 'SIGKILL'] as const) {
        const agent = await world.startExample();
        const [child = 0] = childrenOf(agent.pid);
        await agent.signal(end);
        await until(`the tool server is gone after ${end}`, () => {
          try {
            process.kill(child, 0);
            return false;
          } catch {
            return true;
          }
        });
      }
    }),
  );
});

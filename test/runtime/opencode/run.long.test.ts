import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { answer, calls, refusal } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { callsIn, isNoTitle, isTitle, messagesOf, promptTexts } from '../agent/world.ts';
import type { Variables } from '../processes.ts';
import { besideOpencode, missingOpencode, type OpencodeWorld } from './world.ts';

type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** A machine that has much else to do takes its time to start a program of this size. */
const LIMIT_MS = 120_000;

/** Runs `opencode run --attach` to its end. */
const run = async (
  { beginProgram, agent }: OpencodeWorld,
  words: readonly string[],
  variables: Variables = {},
): Promise<Ran> => {
  const running = beginProgram(['run', '--attach', agent.address, ...words], variables);
  const timer = setTimeout(() => running.signal('SIGKILL'), LIMIT_MS);
  const { code } = await running.ended;
  clearTimeout(timer);
  return { code, stdout: running.stdout(), stderr: running.stderr() };
};
/** The same, with what it writes as JSON. */
const facts = async (world: OpencodeWorld, words: readonly string[]) => {
  const { code, stdout, stderr } = await run(world, ['--format', 'json', ...words]);
  assert.is(code, 0, stderr);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as { type: string; sessionID: string; part: Record<string, unknown> });
};

const sessionsOf = async ({ agent }: OpencodeWorld): Promise<readonly Session[]> =>
  (await agent.ask<readonly Session[]>('GET', '/session')).json;
const newest = async (world: OpencodeWorld): Promise<string> => (await sessionsOf(world))[0]?.id ?? '';
const addReply = ({ model }: OpencodeWorld, ...messages: readonly string[]): void => {
  model.alwaysReply('A fine title', isTitle);
  for (const words of messages) model.addReply(words, isNoTitle);
};
/** The model asks for a call, and then says what there is to say. */
const replyAndCall = (world: OpencodeWorld, name: string): void => {
  world.model.alwaysReply('A fine title', isTitle);
  world.model.addReply(answer(calls({ name, arguments: { words: 'far away' } })), isNoTitle);
  world.model.addReply('So it is done.', isNoTitle);
};

const beside = besideOpencode();

describe("OpenCode's run, attached", (check) => {
  check.needing(
    missingOpencode,
    'prints the answer, every time',
    beside(async (world) => {
      // It ends as soon as it has the answer: what it had not heard by then it would not print.
      for (const words of ['Good day.', 'Good evening.', 'Good night.']) {
        addReply(world, words);
        const { code, stdout, stderr } = await run(world, ['hello there']);
        assert.equal([code, stdout.trim()], [0, words], stderr);
      }
    }),
  );

  check.needing(
    missingOpencode,
    'prints what there is to say of a call, and what came of it',
    beside(async (world) => {
      replyAndCall(world, 'tools_place');
      const { stdout, stderr } = await run(world, ['where are you']);
      assert.match(stdout, /So it is done\./);
      assert.match(stdout + stderr, 'tools_place');
      const [call] = callsIn(await messagesOf(world.agent, await newest(world)));
      assert.is(call?.state.status, 'completed');
    }),
  );

  check.needing(
    missingOpencode,
    'writes facts as JSON: steps, calls and texts',
    beside(async (world) => {
      replyAndCall(world, 'tools_place');
      const reported = await facts(world, ['where are you']);
      assert.equal(
        reported.map(({ type }) => type),
        ['step_start', 'tool_use', 'step_finish', 'step_start', 'text', 'step_finish'],
      );
      assert.is(reported[1]?.part.tool, 'tools_place');
      assert.is(reported[4]?.part.text, 'So it is done.');
    }),
  );

  check.needing(
    missingOpencode,
    'goes on with the last session, with one that is named, and with a fork',
    beside(async (world) => {
      addReply(world, 'First.', 'Second.', 'Third.', 'Fourth.');
      await run(world, ['one']);
      const id = await newest(world);
      assert.match((await run(world, ['-c', 'two'])).stdout, 'Second.');
      assert.is((await messagesOf(world.agent, id)).length, 4);
      await world.agent.ask('POST', '/session', { title: 'another one' });
      assert.match((await run(world, ['-s', id, 'three'])).stdout, 'Third.');
      const messages = await messagesOf(world.agent, id);
      assert.is(messages.length, 6);
      const [reported] = await facts(world, ['-s', id, '--fork', 'four']);
      assert.is.not(reported?.sessionID, id);
      const copies = await messagesOf(world.agent, reported?.sessionID ?? '');
      assert.equal(
        copies.map(({ parts }) => promptTexts(parts)),
        [...messages.map(({ parts }) => promptTexts(parts)), 'four', 'Fourth.'],
      );
      assert.equal(await messagesOf(world.agent, id), messages);
    }),
  );

  check.needing(
    missingOpencode,
    'asks the agent that is named, and no agent that there is not',
    beside(async (world) => {
      addReply(world, 'Looked at.', 'Looked at again.');
      assert.match((await run(world, ['--agent', 'reviewer', 'look'])).stdout, 'Looked at.');
      const [, reply] = await messagesOf(world.agent, await newest(world));
      assert.is(reply?.info.agent, 'reviewer');
      const { stderr, stdout } = await run(world, ['--agent', 'nobody', 'look']);
      assert.match(stderr, /agent "nobody" not found/);
      assert.match(stdout, 'Looked at again.');
    }),
  );

  check.needing(
    missingOpencode,
    'sends a command of the configuration, and says why there is no other',
    beside(async (world) => {
      addReply(world, 'About the same.');
      assert.match((await run(world, ['--command', 'weigh', 'gold', 'two feathers'])).stdout, 'About the same.');
      const [asked, reply] = await messagesOf(world.agent, await newest(world));
      assert.is(promptTexts(asked?.parts ?? []), 'Weigh gold against two feathers.');
      assert.is(reply?.info.agent, 'reviewer');
      const { code, stderr, stdout } = await run(world, ['--command', 'weight', 'gold']);
      assert.is(code, 1);
      // It prints the error as JSON.
      assert.match(stderr + stdout, 'is not configured; the nearest is \\"weigh\\"');
    }),
  );

  check.needing(
    missingOpencode,
    'asks the model that is named, with its variant',
    beside(async (world) => {
      addReply(world, 'Small.', 'High.');
      assert.match((await run(world, ['-m', 'demo/small', 'hello'])).stdout, 'Small.');
      assert.match((await run(world, ['-m', 'demo/main', '--variant', 'high', 'hello'])).stdout, 'High.');
      const asked = world.model.requests().filter(isNoTitle);
      assert.equal(
        asked.map(({ model, body }) => [model, body.reasoning_effort]),
        [
          ['small', undefined],
          ['demo-main', 'high'],
        ],
      );
    }),
  );

  check.needing(
    missingOpencode,
    'rejects what it is asked to leave to a person, and says so',
    beside(async (world) => {
      replyAndCall(world, 'tools_echo');
      const { stderr, stdout } = await run(world, ['say it']);
      assert.match(stderr + stdout, 'permission requested: tools_echo (*); auto-rejecting');
      const [call] = callsIn(await messagesOf(world.agent, await newest(world)));
      assert.is(call?.state.status, 'error');
      assert.is(world.model.requests().filter(isNoTitle).length, 1, 'the turn ends with it');
    }),
  );

  check.needing(
    missingOpencode,
    'approves with --auto',
    beside(async (world) => {
      replyAndCall(world, 'tools_echo');
      const { stdout } = await run(world, ['--auto', 'say it']);
      assert.match(stdout, 'So it is done.');
      const [call] = callsIn(await messagesOf(world.agent, await newest(world)));
      assert.is(call?.state.status === 'completed' && call.state.output, 'far away');
    }),
  );

  check.needing(
    missingOpencode,
    'says why there is no answer',
    beside(async (world) => {
      world.model.addReply(refusal(401, 'invalid_api_key'), isNoTitle);
      const { stderr, stdout } = await run(world, ['hello']);
      assert.match(stderr + stdout, 'The provider "demo" refused the API key');
    }),
  );

  check.needing(
    missingOpencode,
    'takes the password from its words, and is not let in with a wrong one',
    beside(async (world) => {
      addReply(world, 'Welcome.');
      const { OPENCODE_SERVER_PASSWORD: password = '', OPENCODE_SERVER_USERNAME: user = '' } = world.programVariables;
      const without = { OPENCODE_SERVER_PASSWORD: undefined, OPENCODE_SERVER_USERNAME: undefined };
      assert.match((await run(world, ['-u', user, '-p', password, 'hello'], without)).stdout, 'Welcome.');
      const before = (await sessionsOf(world)).length;
      const refused = await run(world, ['hello'], { OPENCODE_SERVER_PASSWORD: 'wrong' });
      assert.is.not(refused.code, 0);
      assert.is((await sessionsOf(world)).length, before);
    }),
  );
});

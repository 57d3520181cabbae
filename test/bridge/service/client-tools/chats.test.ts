import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../../src/agent/model/types.ts';
import { calling, outcome, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { idIn, paying } from '../../harness/recharge-world.ts';
import { CLOCK, chatWith, QUESTION, resultsOf, streamed, TOOLS } from '../../harness/tools-world.ts';
import { begins, prompts, sessionsMade, system, user, withBridge } from '../../harness/world.ts';
import { clock, given, resultRequests, resultsTo, usual, weather } from './world.ts';

const toolNames = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name);

describe('functions of a client in a chat', (check) => {
  check('are called, and with the result the same turn goes on', () =>
    withBridge(usual, async (world) => {
      const asked = await chatWith(world, QUESTION);
      assert.equal([asked.finish, asked.message.content], ['tool_calls', null]);
      const [call] = asked.calls;
      assert.equal(call?.function, { name: 'weather', arguments: '{"city":"Oslo"}' });
      assert.match(call?.id ?? '', /^[\w-]{1,40}$/);
      assert.is(asked.headers.get('x-gatehouse-ignored'), null);
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.equal([answer.finish, answer.message.content], ['stop', 'It rains.']);
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: weather is fine']);
      assert.equal([sessionsMade(world).length, prompts(world).length], [1, 1]);
    }),
  );

  check('go on with the system message that comes with the results, as where an agent hands over to another one', () =>
    withBridge(usual, async (world) => {
      const asked = await chatWith(world, [system('You are the desk.'), ...QUESTION]);
      await chatWith(world, [system('You are the forecast.'), ...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      const instructions = world.agent.asked.map((request) => JSON.stringify(request.system));
      assert.match(instructions[0] ?? '', 'You are the desk.');
      assert.match(instructions[1] ?? '', 'You are the forecast.');
      assert.is(instructions[1]?.includes('You are the desk.'), false);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('go on in the same conversation after the answer', () =>
    withBridge(given(calling(weather), replying('It rains.'), replying('Bye.')), async (world) => {
      const asked = await chatWith(world, QUESTION);
      const withResults = [...QUESTION, asked.message, ...resultsOf(asked.calls)];
      const answer = await chatWith(world, withResults);
      const last = await chatWith(world, [...withResults, answer.message, user('Thanks')]);
      assert.is(last.message.content, 'Bye.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('are known by clients that write the arguments anew', () =>
    withBridge(usual, async (world) => {
      const { message, calls } = await chatWith(world, QUESTION);
      const rewritten = calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: '{"city": "\\u004fslo"}' },
      }));
      const answer = await chatWith(world, [...QUESTION, { ...message, tool_calls: rewritten }, ...resultsOf(calls)]);
      assert.is(answer.message.content, 'It rains.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('may be called several at once, and again after the results', () =>
    withBridge(given(calling(weather, clock), calling(clock), replying('Noon.')), async (world) => {
      const first = await chatWith(world, QUESTION);
      assert.equal(
        first.calls.map(({ function: { name } }) => name),
        ['weather', 'clock'],
      );
      const messages = [...QUESTION, first.message, ...resultsOf(first.calls)];
      const second = await chatWith(world, messages);
      assert.equal([second.finish, second.calls.length], ['tool_calls', 1]);
      assert.not(first.calls.some(({ id }) => id === second.calls[0]?.id));
      const last = await chatWith(world, [...messages, second.message, ...resultsOf(second.calls)]);
      assert.is(last.message.content, 'Noon.');
      assert.equal([sessionsMade(world).length, world.agent.asked.length], [1, 3]);
    }),
  );

  check('come after an approval that a tool of the agent needs beside them', () => {
    const { given: place, paid } = paying([calling({ name: 'pay', input: { amount: 5 } }, weather), replying('Paid.')]);
    return withBridge(place, async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const request = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      assert.is(request.finish, 'stop');
      const approval = `approve ${idIn(String(request.message.content))}`;
      const asked = await chatWith(world, [user(approval)], { tools: TOOLS }, headers);
      assert.equal([asked.finish, asked.calls.length], ['tool_calls', 1]);
      const answer = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.is(answer.message.content, 'Paid.');
      assert.equal([paid.length, resultsTo(world.agent.asked[1]).length], [1, 2]);
    });
  });

  check('stand beside the tools of the agent, which run once', () => {
    let looked = 0;
    const look = toolNamed('look', async () => {
      looked += 1;
      return outcome('-3 degrees');
    });
    const scripts = [calling({ name: 'look', input: {} }, weather), replying('Cold rain.')];
    return withBridge({ scripts, tools: [look] }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      assert.equal(toolNames(world.agent.asked[0]), ['look', 'weather', 'clock']);
      assert.equal(
        asked.calls.map(({ function: { name } }) => name),
        ['weather'],
      );
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.is(answer.message.content, 'Cold rain.');
      assert.is(looked, 1);
      assert.equal(resultsTo(world.agent.asked[1]), ['look: -3 degrees', 'weather: weather is fine']);
    });
  });

  check('come in a stream with their indexes, ids and a finish reason', () =>
    withBridge(given(calling(weather, clock), replying('Rain at noon.')), async (world) => {
      const stream = await streamed(world, QUESTION);
      const calls = stream.deltas.flatMap(({ tool_calls = [] }) => tool_calls);
      assert.equal(
        calls.map(({ index, type, function: { name, arguments: input } }) => [index, type, name, input]),
        [
          [0, 'function', 'weather', '{"city":"Oslo"}'],
          [1, 'function', 'clock', '{}'],
        ],
      );
      assert.equal(stream.finishes, ['tool_calls']);
      assert.is(stream.text.trim().endsWith('data: [DONE]'), true);
      const message = { role: 'assistant', content: null, tool_calls: calls.map(({ index: _index, ...call }) => call) };
      const answer = await streamed(world, [...QUESTION, message, ...resultsOf(calls)]);
      assert.is(answer.deltas.map(({ content = '' }) => content).join(''), 'Rain at noon.');
      assert.equal(answer.finishes, ['stop']);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('come after the words that the model says before', () =>
    withBridge(
      given(async function* (request, signal) {
        yield { kind: 'text', delta: 'Let me see.' };
        yield* calling(weather)(request, signal);
      }, replying('It rains.')),
      async (world) => {
        const asked = await chatWith(world, QUESTION);
        assert.equal([asked.message.content, asked.calls.length], ['Let me see.', 1]);
        const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
        assert.is(answer.message.content, 'It rains.');
        assert.is(sessionsMade(world).length, 1);
      },
    ),
  );

  check('are what tool_choice and parallel_tool_calls say', () =>
    withBridge(given(replying('Fine.')), async (world) => {
      const namesFor = async (more: object) => {
        await chatWith(world, QUESTION, { tools: TOOLS, ...more });
        return toolNames(world.agent.asked.at(-1));
      };
      assert.equal(await namesFor({ tool_choice: 'auto' }), ['weather', 'clock']);
      assert.equal(await namesFor({ tool_choice: 'none' }), []);
      const allowed = { mode: 'auto', tools: [{ type: 'function', function: { name: 'clock' } }] };
      assert.equal(await namesFor({ tool_choice: { type: 'allowed_tools', allowed_tools: allowed } }), ['clock']);
      assert.equal(await namesFor({ tools: [CLOCK], tool_choice: 'auto', parallel_tool_calls: false }), ['clock']);
      const sent = begins(world).at(-1)?.body as { readonly clientTools: object } | undefined;
      const { tools: _tools, ...rest } = (sent?.clientTools ?? {}) as { readonly tools?: unknown };
      assert.equal(rest, { choice: 'auto', parallel: false });
    }),
  );

  check('are forced, whichever of several', () =>
    withBridge(usual, async (world) => {
      const asked = await chatWith(world, QUESTION, { tools: TOOLS, tool_choice: 'required' });
      assert.is(world.agent.asked[0]?.toolChoice, 'required');
      assert.is(asked.calls[0]?.function.name, 'weather');
    }),
  );

  check('stay apart in two chats with the same words', () =>
    withBridge(given(calling(weather), calling(weather), replying('First.'), replying('Second.')), async (world) => {
      const [one, other] = [await chatWith(world, QUESTION), await chatWith(world, QUESTION)];
      const answers = [
        await chatWith(world, [...QUESTION, one.message, ...resultsOf(one.calls)]),
        await chatWith(world, [...QUESTION, other.message, ...resultsOf(other.calls)]),
      ];
      assert.equal(
        answers.map(({ message }) => message.content),
        ['First.', 'Second.'],
      );
      assert.equal([sessionsMade(world).length, resultRequests(world).length], [2, 2]);
    }),
  );
});

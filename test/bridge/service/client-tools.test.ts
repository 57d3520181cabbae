import * as assert from 'uvu/assert';
import type { ModelRequest } from '../../../src/agent/model/types.ts';
import { calling, outcome, replying, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { dictated, messagesTo } from '../harness/model-scripts.ts';
import { idIn, paying } from '../harness/recharge-world.ts';
import {
  CLOCK,
  chatWith,
  functionNamed,
  QUESTION,
  resultsOf,
  streamed,
  TOOLS,
  WEATHER,
} from '../harness/tools-world.ts';
import {
  aborts,
  type BridgeGiven,
  type BridgeWorld,
  dataIn,
  prompts,
  quietTime,
  sessionsMade,
  system,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const weather = { name: 'weather', input: { city: 'Oslo' } };
const clock = { name: 'clock', input: {} };
const given = (...scripts: readonly Script[]): BridgeGiven => ({ scripts });
const usual = given(calling(weather), replying('It rains.'));

/** The results that a model was given last, as `name: output`. */
const resultsTo = (request: ModelRequest | undefined): readonly string[] => {
  const last = request?.messages.at(-1);
  return last?.role === 'tool' ? last.results.map(({ name, output }) => `${name}: ${String(output)}`) : [];
};
const toolNames = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name);
const resultRequests = ({ calls }: BridgeWorld) => calls.filter(({ path }) => path.endsWith('/client-tool-results'));

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
      assert.not.match(instructions[1] ?? '', 'You are the desk.');
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

  check('are refused together where the agent takes no more', () =>
    withBridge({}, async (world) => {
      const long = (index: number) => functionNamed(`f${index}`, { type: 'object', description: 'x'.repeat(60_000) });
      const { status, error } = await chatWith(world, QUESTION, { tools: [0, 1, 2, 3, 4].map(long) });
      assert.equal([status, error?.param], [400, 'tools']);
    }),
  );

  check('reach the model with a result that belongs to no call', () =>
    withBridge(usual, async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const stray = { role: 'tool', tool_call_id: 'call_of_nobody', content: 'a stray result' };
      const answer = await chatWith(world, [...resultsOf(asked.calls), stray], { tools: TOOLS }, headers);
      assert.is(answer.message.content, 'It rains.');
      assert.match(messagesTo(world.agent.asked[1]), 'a stray result');
      assert.match(messagesTo(world.agent.asked[1]), 'weather is fine');
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
      const sent = prompts(world).at(-1)?.body as { readonly clientTools: object } | undefined;
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

  check('are refused with their place where the agent has such a tool, in a stream, too', () =>
    withBridge({ tools: [toolNamed('look')] }, async (world) => {
      const tools = [WEATHER, functionNamed('look')];
      const { status, error } = await chatWith(world, QUESTION, { tools });
      assert.equal([status, error?.code, error?.param], [400, 'invalid_value', 'tools[1].function.name']);
      const stream = await streamed(world, QUESTION, { tools });
      assert.is(stream.status, 400);
      assert.is(JSON.parse(stream.text).error.param, 'tools[1].function.name');
      assert.is(world.agent.asked.length, 0);
    }),
  );

  check('are refused with what is missing where results of some calls lack, and lose nothing', () =>
    withBridge(given(calling(weather, clock), replying('Noon.')), async (world) => {
      const asked = await chatWith(world, QUESTION);
      const results = resultsOf(asked.calls);
      const partly = await chatWith(world, [...QUESTION, asked.message, ...results.slice(0, 1)]);
      assert.equal([partly.status, partly.error?.code], [400, 'missing_tool_result']);
      assert.match(partly.error?.message ?? '', asked.calls[1]?.id ?? 'none');
      const answer = await chatWith(world, [...QUESTION, asked.message, ...results]);
      assert.is(answer.message.content, 'Noon.');
      assert.is(world.agent.asked.length, 2);
    }),
  );

  check('count once: of two results for a call the first', () =>
    withBridge(given(calling(weather), replying('It rains.'), replying('Never.')), async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const first = await chatWith(
        world,
        resultsOf(asked.calls, () => 'rain'),
        {},
        headers,
      );
      const second = await chatWith(
        world,
        resultsOf(asked.calls, () => 'sun'),
        {},
        headers,
      );
      assert.equal([first.message.content, second.message.content], ['It rains.', 'It rains.']);
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: rain']);
      assert.is(world.agent.asked.length, 2);
    }),
  );

  check('may be followed by words of the user, which are a prompt', () =>
    withBridge(given(calling(weather), replying('Bye.'), replying('Again.')), async (world) => {
      const asked = await chatWith(world, QUESTION);
      const messages = [...QUESTION, asked.message, ...resultsOf(asked.calls), user('Never mind')];
      const answer = await chatWith(world, messages);
      assert.is(answer.message.content, 'Bye.');
      assert.match(messagesTo(world.agent.asked[1]), 'weather is fine');
      assert.match(messagesTo(world.agent.asked[1]), 'Never mind');
      await chatWith(world, [...messages, answer.message, user('Still there?')]);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('reach a new session with the whole history where no session waits for their results', () =>
    withBridge(given(replying('It rains.')), async (world) => {
      const call = { id: 'call_of_another', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const answer = await chatWith(world, [...QUESTION, message, ...resultsOf([call])]);
      assert.is(answer.message.content, 'It rains.');
      assert.match(messagesTo(world.agent.asked[0]), '[weather returned]');
      assert.match(messagesTo(world.agent.asked[0]), '[called weather');
      assert.is(resultRequests(world).length, 0);
    }),
  );

  check('are found by the name of a conversation, with the results alone', () =>
    withBridge(usual, async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const answer = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.is(answer.message.content, 'It rains.');
      assert.is(sessionsMade(world).length, 1);
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

describe('functions of a client in front of a server without them', (check) => {
  /** As OpenCode's own server: it names no features, and knows nothing of calls of clients. */
  const withPlainServer = (body: (world: BridgeWorld) => Promise<void>) =>
    withBridge(given(replying('Hello.')), async (world) => {
      world.replaceAgent(async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === '/global/health') return Response.json({ healthy: true, version: '1.18.33' });
        if (pathname.endsWith('/client-tool-results')) return new Response('<html></html>', { status: 404 });
        return world.agent.server.handler(request);
      });
      await body(world);
    });

  check('are ignored, and the header says so', () =>
    withPlainServer(async (world) => {
      const answer = await chatWith(world, QUESTION, { tools: TOOLS, temperature: 0.5 });
      assert.equal([answer.message.content, answer.finish], ['Hello.', 'stop']);
      assert.is(answer.headers.get('x-gatehouse-ignored'), 'temperature, tools');
      assert.not.match(JSON.stringify(prompts(world)[0]?.body), 'clientTools');
    }),
  );

  check('are refused where one of several is forced, with what is missing', () =>
    withPlainServer(async (world) => {
      const { status, error } = await chatWith(world, QUESTION, { tools: TOOLS, tool_choice: 'required' });
      assert.equal([status, error?.code, error?.param], [400, 'unsupported_value', 'tool_choice']);
      assert.match(error?.message ?? '', 'the agent server takes no functions of clients');
      assert.is(prompts(world).length, 0);
    }),
  );

  check('reach the model in words where the client sends results', () =>
    withPlainServer(async (world) => {
      const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const answer = await chatWith(world, [...QUESTION, message, ...resultsOf([call])]);
      assert.is(answer.message.content, 'Hello.');
      assert.match(messagesTo(world.agent.asked[0]), 'weather is fine');
    }),
  );
});

describe('a call without its result', (check) => {
  check('ends with its time, and a result that comes later is a prompt in words', () => {
    const short = { clientToolTimeoutMs: 20 };
    return withBridge({ ...usual, changes: short }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      await quietTime(40);
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.is(answer.message.content, 'It rains.');
      const told = messagesTo(world.agent.asked[1]);
      assert.match(told, 'did not come in time');
      assert.match(told, '[weather returned]');
      assert.is(sessionsMade(world).length, 1);
    });
  });

  check('ends with the next words of the user, and a result that comes later is not lost', () =>
    withBridge(given(calling(weather), replying('As you like.'), replying('Rain, I see.')), async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      await chatWith(world, [user('Never mind')], { tools: TOOLS }, headers);
      const late = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.is(late.message.content, 'Rain, I see.');
      assert.match(messagesTo(world.agent.asked[2]), 'weather is fine');
    }),
  );
});

describe('a client that leaves while its turn goes on with results', (check) => {
  const leaveDuring = async (world: BridgeWorld, begun: Promise<void>) => {
    const asked = await chatWith(world, QUESTION);
    const messages = [...QUESTION, asked.message, ...resultsOf(asked.calls)];
    const leaving = new AbortController();
    const headers = { 'idempotency-key': 'results-1' };
    const left = world
      .send('/v1/chat/completions', { messages, tools: TOOLS }, headers, leaving.signal)
      .then((response) => response.text())
      .catch(() => '');
    await begun;
    leaving.abort();
    await left;
    return () => chatWith(world, messages, { tools: TOOLS }, headers);
  };

  check('gets its answer when it comes back in time', () => {
    const dictation = dictated();
    const settings = { onDisconnect: { kind: 'grace', ms: 5000 } } as const;
    return withBridge({ ...given(calling(weather), dictation.script), settings }, async (world) => {
      const retry = await leaveDuring(world, dictation.begun);
      const answer = retry();
      dictation.addReply('It rains.');
      dictation.end();
      assert.is((await answer).message.content, 'It rains.');
      assert.equal([world.agent.asked.length, aborts(world).length], [2, 0]);
    });
  });

  check('has its turn aborted, and gives the results in words when it comes back', () => {
    const dictation = dictated();
    return withBridge(given(calling(weather), dictation.script, replying('It rains.')), async (world) => {
      const retry = await leaveDuring(world, dictation.begun);
      await until(() => aborts(world).length === 1, 'the abort');
      assert.is((await retry()).message.content, 'It rains.');
      assert.match(messagesTo(world.agent.asked[2]), '[weather returned]');
    });
  });
});

describe('a request with results', (check) => {
  const asking = async (world: BridgeWorld) => {
    const asked = await chatWith(world, QUESTION);
    return [...QUESTION, asked.message, ...resultsOf(asked.calls)];
  };

  check('gets the same answer when it is sent again', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const headers = { 'idempotency-key': 'results-1' };
      const first = await chatWith(world, messages, { tools: TOOLS }, headers);
      const again = await chatWith(world, messages, { tools: TOOLS }, headers);
      assert.equal([first.message.content, again.message.content], ['It rains.', 'It rains.']);
      assert.is(world.agent.asked.length, 2);
    }),
  );

  check('is answered after a restart of the bridge', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const later = await world.restart();
      const answer = await chatWith(later, messages);
      assert.is(answer.message.content, 'It rains.');
      assert.equal([world.agent.asked.length, sessionsMade(later).length], [2, 0]);
    }),
  );

  check('is answered after the agent was killed and started again', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      world.killAgent();
      const agent = await world.startAgent({ scripts: [replying('It still rains.')] });
      const answer = await chatWith(world, messages);
      assert.is(answer.message.content, 'It still rains.');
      assert.equal(resultsTo(agent.asked[0]), ['weather: weather is fine']);
    }),
  );

  check('joins its turn when it comes again to a bridge that was started anew', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const headers = { 'idempotency-key': 'results-1' };
      const first = await chatWith(world, messages, { tools: TOOLS }, headers);
      const later = await world.restartKilled();
      const again = await chatWith(later, messages, { tools: TOOLS }, headers);
      assert.equal([first.message.content, again.message.content], ['It rains.', 'It rains.']);
      assert.is(world.agent.asked.length, 2);
    }),
  );
});

const RESPONSE_TOOLS = TOOLS.map(({ function: one }) => ({ type: 'function', ...one }));
type Item = { readonly type: string; readonly call_id?: string; readonly name?: string; readonly arguments?: string };
const respond = async (world: BridgeWorld, body: object) => {
  const response = await world.send('/v1/responses', { tools: RESPONSE_TOOLS, ...body });
  const json = JSON.parse(await response.text());
  return { status: response.status, json, output: (json.output ?? []) as readonly Item[] };
};
const callsIn = (output: readonly Item[]) => output.filter(({ type }) => type === 'function_call');
const outputsFor = (output: readonly Item[]) =>
  callsIn(output).map(({ call_id, name }) => ({ type: 'function_call_output', call_id, output: `${name} is fine` }));

describe('functions of a client in a response', (check) => {
  check('are items, and their outputs continue it by its id', () =>
    withBridge(given(calling(weather, clock), replying('Rain at noon.')), async (world) => {
      const { json, output } = await respond(world, { input: 'How is the weather?' });
      assert.is(json.status, 'completed');
      assert.equal(
        callsIn(output).map(({ name, arguments: input }) => [name, input]),
        [
          ['weather', '{"city":"Oslo"}'],
          ['clock', '{}'],
        ],
      );
      const next = await respond(world, { previous_response_id: json.id, input: outputsFor(output) });
      assert.match(JSON.stringify(next.output), 'Rain at noon.');
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: weather is fine', 'clock: clock is fine']);
      assert.is(sessionsMade(world).length, 1);
      const last = await respond(world, { previous_response_id: next.json.id, input: 'Thanks' });
      assert.is(last.status, 200);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('are continued by the whole history, too', () =>
    withBridge(usual, async (world) => {
      const question = { role: 'user', content: 'How is the weather?' };
      const { output } = await respond(world, { input: [question] });
      const next = await respond(world, { input: [question, ...output, ...outputsFor(output)] });
      assert.match(JSON.stringify(next.output), 'It rains.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('come in a stream as events of their items', () =>
    withBridge(given(calling(weather, clock), replying('Rain.')), async (world) => {
      const response = await world.send('/v1/responses', { tools: RESPONSE_TOOLS, input: 'Weather?', stream: true });
      const events = dataIn(await response.text()).map((line) => JSON.parse(line));
      const ofCalls = events.filter(({ type }) => /function_call|output_item/.test(type));
      assert.equal(
        ofCalls.map(({ type, output_index }) => `${output_index} ${type}`),
        [0, 1].flatMap((index) => [
          `${index} response.output_item.added`,
          `${index} response.function_call_arguments.delta`,
          `${index} response.function_call_arguments.done`,
          `${index} response.output_item.done`,
        ]),
      );
      const done = events.at(-1);
      assert.is(done.type, 'response.completed');
      const ids = callsIn(done.response.output).map(({ call_id }) => call_id);
      assert.is(new Set(ids).size, 2);
      const next = await respond(world, {
        previous_response_id: done.response.id,
        input: outputsFor(done.response.output),
      });
      assert.match(JSON.stringify(next.output), 'Rain.');
    }),
  );

  check('are in the response when it is read again, and so is the answer to their outputs', () =>
    withBridge(given(calling(weather), calling(clock), replying('Rain at noon.')), async (world) => {
      const first = await respond(world, { input: 'How is the weather?' });
      const second = await respond(world, { previous_response_id: first.json.id, input: outputsFor(first.output) });
      const last = await respond(world, { previous_response_id: second.json.id, input: outputsFor(second.output) });
      for (const { json } of [first, second, last]) {
        const again = JSON.parse(await (await world.send(`/v1/responses/${json.id}`)).text());
        assert.equal(again.output, json.output);
        assert.equal([again.status, again.usage], ['completed', json.usage]);
      }
    }),
  );

  check('come in the background, too, and are continued there', () =>
    withBridge(usual, async (world) => {
      const finished = async (body: object) => {
        const { json } = await respond(world, { ...body, background: true });
        for (;;) {
          const state = JSON.parse(await (await world.send(`/v1/responses/${json.id}`)).text());
          if (state.status !== 'queued' && state.status !== 'in_progress') return state;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const asked = await finished({ input: 'How is the weather?' });
      assert.equal(callsIn(asked.output).length, 1);
      const answer = await finished({ previous_response_id: asked.id, input: outputsFor(asked.output) });
      assert.match(JSON.stringify(answer.output), 'It rains.');
      assert.is(answer.status, 'completed');
    }),
  );

  check('are refused with their place where the agent has such a tool', () =>
    withBridge({ tools: [toolNamed('look')] }, async (world) => {
      const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
      const { status, json } = await respond(world, { input: 'Hello', tools });
      assert.equal([status, json.error?.param], [400, 'tools[0].name']);
    }),
  );
});

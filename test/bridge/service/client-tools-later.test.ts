import * as assert from 'uvu/assert';
import { calling, replying, type Script } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { messagesTo } from '../harness/model-scripts.ts';
import { idIn, paying } from '../harness/recharge-world.ts';
import {
  CLOCK,
  chatWith,
  functionNamed,
  QUESTION,
  type Reply,
  resultsOf,
  TOOLS,
  WEATHER,
} from '../harness/tools-world.ts';
import { type BridgeWorld, sessionsMade, user, withBridge } from '../harness/world.ts';
import { callsTo } from './client-tools/world.ts';

// What comes in a turn after the calls of a client: approvals, other functions, another form of the answer.

const weather = { name: 'weather', input: { city: 'Oslo' } };
const pay = { name: 'pay', input: { amount: 5 } };
const headers = { 'x-session-id': 'chat-1' };

describe('an approval that is asked for after the calls of a client', (check) => {
  /** Asks, gives the results of the calls, and approves what the agent asks for then. `between`: what happens before that. */
  const approveAfterCalls = async (first: BridgeWorld, between = async (world: BridgeWorld) => world) => {
    const asked = await chatWith(first, QUESTION, { tools: TOOLS }, headers);
    const request = await chatWith(first, resultsOf(asked.calls), { tools: TOOLS }, headers);
    assert.is(request.finish, 'stop');
    const world = await between(first);
    const approval = user(`approve ${idIn(String(request.message.content))}`);
    return { world, answer: await chatWith(world, [approval], { tools: TOOLS }, headers) };
  };
  const wordless = (...more: readonly Script[]) => paying([calling(weather), calling(pay), ...more]);

  check('is followed by the answer of the agent, and not by the calls that were made before', () => {
    const { given, paid } = wordless(replying('Paid.'));
    return withBridge(given, async (world) => {
      const { answer } = await approveAfterCalls(world);
      assert.equal([answer.finish, answer.message.content, paid.length], ['stop', 'Paid.', 1]);
    });
  });

  check('is followed by it also at a bridge that was started anew', () => {
    const { given, paid } = wordless(replying('Paid.'));
    return withBridge(given, async (first) => {
      const { answer } = await approveAfterCalls(first, (world) => world.restart());
      assert.equal([answer.finish, answer.message.content, paid.length], ['stop', 'Paid.', 1]);
    });
  });

  check('may be followed by further calls of the client', () =>
    withBridge(wordless(calling(weather), replying('Rain.')).given, async (first) => {
      const { world, answer } = await approveAfterCalls(first);
      assert.equal([answer.finish, answer.calls.length], ['tool_calls', 1]);
      const last = await chatWith(world, resultsOf(answer.calls), { tools: TOOLS }, headers);
      assert.equal([last.finish, last.message.content], ['stop', 'Rain.']);
      assert.is(world.agent.asked.length, 4);
    }),
  );
});

describe('a request with results', (check) => {
  const RAIN = { type: 'object', properties: { rain: { type: 'boolean' } }, required: ['rain'] };
  const inJson = { response_format: { type: 'json_schema', json_schema: { name: 'rain', schema: RAIN } } };
  const value: Script = calling({ name: 'StructuredOutput', input: { rain: true } });
  /** Asks with `first`, and sends the results with `second`. Returns the answer, and the tools that the model had for it. */
  const goOn = async (end: Script, first: object, second: object) => {
    const seen: { answer?: Reply; tools?: readonly string[] } = {};
    await withBridge({ scripts: [calling(weather), end] }, async (world) => {
      const asked = await chatWith(world, QUESTION, first);
      seen.answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)], second);
      seen.tools = world.agent.asked[1]?.tools.map(({ name }) => name) ?? [];
      assert.equal([sessionsMade(world).length, world.agent.asked.length], [1, 2]);
    });
    return seen;
  };
  const rains = replying('It rains.');

  check('offers the model the functions that it brings, and none where it brings none', async () => {
    assert.equal((await goOn(rains, { tools: TOOLS }, { tools: [CLOCK] })).tools, ['clock']);
    assert.equal((await goOn(rains, { tools: TOOLS }, {})).tools, []);
    assert.equal((await goOn(rains, { tools: TOOLS }, { tools: TOOLS, tool_choice: 'none' })).tools, []);
  });

  check('gets the answer in the form that it asks for', async () => {
    const { answer } = await goOn(value, { tools: TOOLS }, { tools: TOOLS, ...inJson });
    assert.equal([answer?.finish, answer?.message.content], ['stop', '{"rain":true}']);
  });

  check('gets a text where only the request before it asked for a form', async () => {
    const { answer, tools } = await goOn(rains, { tools: TOOLS, ...inJson }, { tools: TOOLS });
    assert.equal([answer?.message.content, tools], ['It rains.', ['weather', 'clock']]);
  });

  check('tells the model of a result that is a file alone where that is', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    return withBridge({ scripts: [calling(weather), replying('Fine.')] }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      const results = resultsOf(asked.calls).map((result) => ({ ...result, content: [image] }));
      await chatWith(world, [...QUESTION, asked.message, ...results]);
      assert.match(messagesTo(world.agent.asked[1]), '[files, which follow]');
    });
  });

  check('is answered where the results were stored for a prompt that never came', () =>
    withBridge({ scripts: [calling(weather), replying('It rains.')] }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      const [session] = (await world.agent.get('/session')) as readonly { readonly id: string }[];
      const results = asked.calls.map(({ id }) => ({ callID: id, output: 'rain' }));
      await world.agent.post(`/session/${session?.id}/client-tool-results`, { results, noReply: true });
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.equal([answer.status, answer.message?.content], [200, 'It rains.']);
    }),
  );

  check('may force a call of one function as the end of the turn', async () => {
    const report = functionNamed('report', RAIN);
    const choice = { type: 'function', function: { name: 'report' } };
    const { answer } = await goOn(
      calling({ name: 'report', input: { rain: true } }),
      { tools: [WEATHER, report] },
      { tools: [WEATHER, report], tool_choice: choice },
    );
    assert.equal(
      answer?.calls.map(({ function: { name, arguments: input } }) => [name, input]),
      [['report', '{"rain":true}']],
    );
  });
});

describe('a response that goes on after calls of its client', (check) => {
  const FUNCTIONS = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }];
  type Response = {
    readonly id: string;
    readonly output: readonly { readonly type: string; readonly call_id: string }[];
  };
  const respond = async (world: BridgeWorld, body: object): Promise<Response> => {
    const response = await world.send('/v1/responses', { tools: FUNCTIONS, ...body });
    return JSON.parse(await response.text()) as Response;
  };
  /** Goes on after a response with results of its calls, and with words of the user. */
  const goOnWith = (
    world: BridgeWorld,
    { id, output }: Response,
    result: string,
    words: readonly object[] = [],
  ): Promise<Response> => {
    const results = output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: result }));
    return respond(world, { previous_response_id: id, input: [...results, ...words] });
  };
  const WORDS = [{ role: 'user', content: 'Look again.' }];

  check(
    'a second time with words of the user begins a session in which the calls are, and nothing that came after them',
    () =>
      withBridge({ scripts: [calling(weather), replying('It rains.'), replying('Sun.')] }, async (world) => {
        const first = await respond(world, { input: 'How is the weather?' });
        await goOnWith(world, first, 'rain');
        await goOnWith(world, first, 'sunshine', WORDS);
        const told = messagesTo(world.agent.asked[2]);
        assert.match(told, 'How is the weather?');
        assert.equal(
          callsTo(world.agent.asked[2]).map(({ name }) => name),
          ['weather'],
        );
        assert.match(told, 'sunshine');
        assert.not.match(told, 'rain');
        assert.is(sessionsMade(world).length, 2);
      }),
  );

  check('a second time with words later in the turn has the calls before with their results', () =>
    withBridge(
      { scripts: [calling(weather), calling(weather), replying('Done.'), replying('Again.')] },
      async (world) => {
        const first = await respond(world, { input: 'How is the weather?' });
        const second = await goOnWith(world, first, 'the first result');
        await goOnWith(world, second, 'the second result');
        await goOnWith(world, second, 'another result', WORDS);
        const told = messagesTo(world.agent.asked[3]);
        for (const text of ['the first result', 'another result']) assert.match(told, text);
        for (const text of ['the second result', 'Done.']) assert.not.match(told, text);
      },
    ),
  );
});

describe('the schema of a function', (check) => {
  const withSchema = (a: object) => ({ tools: [functionNamed('report', { type: 'object', properties: { a } })] });

  check('may have a pattern that is none with the flag u, which is not checked', () =>
    withBridge({ scripts: [calling({ name: 'report', input: { a: 'x y' } })] }, async (world) => {
      const asked = await chatWith(world, QUESTION, withSchema({ type: 'string', pattern: '^[\\w-.]+$' }));
      assert.equal([asked.status, asked.finish], [200, 'tool_calls']);
    }),
  );

  check('is refused with what is wrong in it', () =>
    withBridge({}, async (world) => {
      const { status, error } = await chatWith(world, QUESTION, withSchema({ exclusiveMinimum: true }));
      assert.equal([status, error?.param], [400, 'tools[0].function.parameters']);
      assert.match(error?.message ?? '', '/properties/a/exclusiveMinimum: expected a number');
    }),
  );
});

describe('the arguments of a call', (check) => {
  check('have long numbers with all their digits, and the conversation goes on after them', () => {
    const raw = '{"id":12345678901234567890,"city":"Oslo"}';
    const long: Script = async function* (request, signal) {
      for await (const event of calling({ name: 'report', input: {} })(request, signal))
        yield event.kind === 'call' ? { ...event, input: JSON.parse(raw), raw } : event;
    };
    return withBridge({ scripts: [long, replying('Done.'), replying('Bye.')] }, async (world) => {
      const more = { tools: [functionNamed('report')] };
      const asked = await chatWith(world, QUESTION, more);
      assert.is(asked.calls[0]?.function.arguments, raw);
      const messages = [...QUESTION, asked.message, ...resultsOf(asked.calls)];
      const answer = await chatWith(world, messages, more);
      assert.is(answer.message.content, 'Done.');
      await chatWith(world, [...messages, answer.message, user('Thanks')], more);
      assert.is(sessionsMade(world).length, 1);
    });
  });
});

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { FAILURE } from '../../../harness/recorded-outputs.ts';
import { createResponsesWorld, type ResponsesWorld } from '../world.ts';
import {
  AFTER,
  BROKEN,
  BROKEN_AT_ONCE,
  CUT,
  inShort,
  MORE,
  REPORTED,
  repeated,
  THINKING,
  WORDS,
  WORKING,
} from './world.ts';

describe("Vercel's AI SDK", (check) => {
  const modelOver = ({ baseURL, fetch }: ResponsesWorld, name = 'acme/small') =>
    createOpenAI({ apiKey: 'sk-test', baseURL, fetch })(name);
  const streamed = async (world: ResponsesWorld) => {
    const errors: string[] = [];
    const result = streamText({
      model: modelOver(world),
      prompt: 'Hello',
      onError: ({ error }) => void errors.push(error instanceof Error ? error.message : 'not an error'),
    });
    const parts: string[] = [];
    for await (const { type } of result.fullStream) parts.push(type);
    return { result, parts, errors };
  };

  check('reads a stream and what was thought', async () => {
    const { result, errors } = await streamed(createResponsesWorld(...THINKING));
    assert.equal(
      [await result.text, await result.reasoningText, await result.finishReason],
      ['Hello', 'Let me think', 'stop'],
    );
    assert.equal([errors, (await result.usage).totalTokens], [[], 37]);
    const whole = await generateText({ model: modelOver(createResponsesWorld(...THINKING)), prompt: 'Hello' });
    assert.equal([whole.text, whole.reasoningText], ['Hello', 'Let me think']);
  });

  check("shows the agent's calls, and runs none of them", async () => {
    const world = createResponsesWorld(...WORKING);
    const { result, parts } = await streamed(world);
    assert.is(await result.text, WORDS);
    const calls = await result.toolCalls;
    assert.equal(
      calls.map(({ toolName, providerExecuted, dynamic }) => [toolName, providerExecuted, dynamic]),
      [
        ['mcp.bash', true, true],
        ['mcp.relay-admin_list_users', true, true],
      ],
    );
    assert.is(parts.filter((part) => part === 'tool-result').length, 2);
    assert.not.ok(parts.includes('tool-error'));
    assert.equal([(await result.steps).length, world.asked.length], [1, 1]);
  });

  check('runs no tool of its own that is called as one of the agent', async () => {
    let ran = 0;
    const run = { inputSchema: jsonSchema({ type: 'object' }), execute: async () => ++ran };
    const world = createResponsesWorld(...WORKING);
    const tools = { bash: tool(run), 'relay-admin_list_users': tool(run), mcp_bash: tool(run) };
    await generateText({ model: modelOver(world), prompt: 'Hello', tools });
    assert.equal([ran, world.asked.length], [0, 1]);
  });

  check('learns of a failure once, and does not ask again', async () => {
    for (const outputEvents of [BROKEN, BROKEN_AT_ONCE]) {
      const world = createResponsesWorld(...outputEvents);
      const { result, errors } = await streamed(world);
      assert.equal([errors, await result.finishReason, world.asked.length], [[FAILURE.message], 'error', 1]);
    }
  });

  check('knows an answer that is not whole', async () => {
    const { result } = await streamed(createResponsesWorld(...CUT));
    assert.equal([await result.text, await result.finishReason], ['I look', 'length']);
  });

  check('goes on with ids in place of the conversation, and is understood', async () => {
    const world = createResponsesWorld(...WORKING);
    const { result } = await streamed(world);
    const messages: ModelMessage[] = [
      { role: 'user', content: 'Hello' },
      ...(await result.response).messages,
      { role: 'user', content: 'More' },
    ];
    await generateText({ model: modelOver(world), messages });
    assert.not.match(JSON.stringify(world.bodies[1]), 'Five');
    const [, asked] = world.asked;
    assert.equal([asked?.conversation, asked?.history, inShort(asked?.input)], [AFTER, [], MORE]);
  });

  check('goes on with the conversation for models that it takes for reasoning ones, and is understood', async () => {
    const world = createResponsesWorld(...WORKING.slice(1));
    const model = modelOver(world, 'gpt-5');
    const { response } = await generateText({ model, prompt: 'Hello' });
    await generateText({
      model,
      messages: [{ role: 'user', content: 'Hello' }, ...response.messages, { role: 'user', content: 'More' }],
    });
    assert.equal([world.asked[1]?.conversation.kind, repeated(world)], ['unnamed', REPORTED]);
  });
});

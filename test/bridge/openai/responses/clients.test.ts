import { createOpenAI } from '@ai-sdk/openai';
import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool as toolOfAgents, user } from '@openai/agents';
import { generateText, jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import OpenAI, { APIError, BadRequestError, InternalServerError } from 'openai';
import * as assert from 'uvu/assert';
import { normalizeMessages } from '../../../../src/bridge/conversation/fingerprint.ts';
import { runAtOnce } from '../../../../src/core/time-slices.ts';
import { describe, rejection } from '../../../check.ts';
import { ended, FAILURE, failed, textEvents, thought } from '../../harness/recorded-outputs.ts';
import { BESIDE, createResponsesWorld, type ResponsesWorld, responseID } from './world.ts';

setTracingDisabled(true);

const PLAIN = [textEvents('a', 'Hel', 'lo 👨‍👩‍👧'), ended()] as const;
const THINKING = [thought('r', 'Let me ', 'think'), textEvents('a', 'Hello'), ended()] as const;
const WORKING = [thought('r', 'Hm'), textEvents('a', 'I look.'), BESIDE, textEvents('b', 'Five.'), ended()] as const;
const SILENT = [BESIDE, ended()] as const;
const BROKEN = [textEvents('a', 'I look.'), failed()] as const;
const BROKEN_AT_ONCE = [failed()] as const;
const CUT = [textEvents('a', 'I look'), ended({ finish: 'length' })] as const;

const WORDS = 'I look.\n\nFive.';
const AFTER = { kind: 'after', responseID: responseID() };
const asText = (text: string) => [{ type: 'text', text }];

/** What a client has said once more, as conversations are recognised by it. */
const repeated = ({ asked }: ResponsesWorld) => runAtOnce(normalizeMessages(asked[1]?.history ?? []));
const REPORTED = [
  { role: 'user', text: 'Hello' },
  { role: 'assistant', text: 'I look. Five.' },
];

const openaiOver = ({ baseURL, fetch }: ResponsesWorld): OpenAI => new OpenAI({ apiKey: 'sk-test', baseURL, fetch });

describe("OpenAI's own client", (check) => {
  const ASKING = { model: 'acme/small', input: 'Hello' };
  const streamed = async (world: ResponsesWorld) => {
    const types: string[] = [];
    let words = '';
    for await (const event of await openaiOver(world).responses.create({ ...ASKING, stream: true })) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') words += event.delta;
    }
    return { words, types };
  };

  check('reads a response in one piece', async () => {
    const made = await openaiOver(createResponsesWorld(...WORKING)).responses.create(ASKING);
    assert.equal([made.id, made.status, made.output_text], [responseID(), 'completed', WORDS]);
    assert.equal(
      made.output.map(({ type }) => type),
      ['reasoning', 'message', 'mcp_call', 'mcp_call', 'message'],
    );
    assert.is(made.usage?.total_tokens, 37);
  });

  check('reads a stream, event by event', async () => {
    const { words, types } = await streamed(createResponsesWorld(...PLAIN));
    assert.is(words, 'Hello 👨‍👩‍👧');
    assert.equal([types[0], types.at(-1)], ['response.created', 'response.completed']);
  });

  check('puts a stream together, and has the same text in the end', async () => {
    for (const outputEvents of [PLAIN, THINKING, WORKING, SILENT, CUT]) {
      const world = createResponsesWorld(...outputEvents);
      const stream = openaiOver(world).responses.stream(ASKING);
      const snapshots: string[] = [];
      stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
      const made = await stream.finalResponse();
      const whole = await openaiOver(world).responses.create(ASKING);
      assert.is(made.output_text, whole.output_text);
      const types = (output: readonly { type: string }[]) => output.map(({ type }) => type);
      assert.equal(types(made.output), types(whole.output));
      assert.equal([made.status, made.incomplete_details], [whole.status, whole.incomplete_details]);
      if (outputEvents === WORKING) assert.equal(snapshots, ['I look.', '\n\nFive.']);
    }
  });

  check('learns of a failure amid a stream, and does not ask again', async () => {
    for (const outputEvents of [BROKEN, BROKEN_AT_ONCE]) {
      const world = createResponsesWorld(...outputEvents);
      const raw = await rejection(streamed(world));
      const helped = await rejection(openaiOver(world).responses.stream(ASKING).finalResponse());
      for (const error of [raw, helped]) {
        assert.instance(error, APIError);
        assert.match((error as APIError).message, FAILURE.message);
        assert.is((error as APIError).code, FAILURE.code);
      }
      assert.is(world.asked.length, 2);
    }
  });

  check('learns of a failure that came before anything was sent, and does not ask again', async () => {
    const world = createResponsesWorld(...BROKEN);
    const error = await rejection(openaiOver(world).responses.create(ASKING));
    assert.instance(error, InternalServerError);
    assert.is((error as InternalServerError).code, FAILURE.code);
    assert.is(world.asked.length, 1);
  });

  check('learns what was wrong with a request', async () => {
    const wrong = { ...ASKING, background: true, store: false };
    const error = await rejection(openaiOver(createResponsesWorld(...PLAIN)).responses.create(wrong));
    assert.instance(error, BadRequestError);
    assert.equal(
      [(error as BadRequestError).code, (error as BadRequestError).param],
      ['unsupported_value', 'background'],
    );
  });

  check('goes on with the id of a response, or with its items', async () => {
    const world = createResponsesWorld(...WORKING);
    const client = openaiOver(world);
    const { id, output } = await client.responses.create(ASKING);
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'Hello' },
      ...(output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user', content: 'More' },
    ];
    await client.responses.create({ ...ASKING, input });
    assert.equal(repeated(world), REPORTED);
    const made = await client.responses.create({ ...ASKING, previous_response_id: id });
    assert.equal([made.previous_response_id, world.asked[2]?.conversation], [id, AFTER]);
  });
});

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
    const { conversation: place, history, prompt } = world.asked[1] ?? {};
    assert.equal([place, history, prompt], [AFTER, [], asText('More')]);
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

describe('LangChain', (check) => {
  const modelOver = ({ baseURL, fetch }: ResponsesWorld): ChatOpenAI =>
    new ChatOpenAI({
      model: 'acme/small',
      apiKey: 'sk-test',
      useResponsesApi: true,
      configuration: { baseURL, fetch },
      maxRetries: 0,
    });
  const streamed = async (world: ResponsesWorld): Promise<AIMessageChunk> => {
    let all: AIMessageChunk | undefined;
    for await (const chunk of await modelOver(world).stream('Hello'))
      all = all === undefined ? chunk : all.concat(chunk);
    if (all === undefined) throw new Error('nothing was said');
    return all;
  };

  check('reads a stream and what was thought', async () => {
    const { text, content, usage_metadata } = await streamed(createResponsesWorld(...THINKING));
    assert.is(text, 'Hello');
    assert.equal((content as { reasoning?: string }[])[0]?.reasoning, 'Let me think');
    assert.match(JSON.stringify(usage_metadata), '"total_tokens":37');
  });

  check("shows the agent's calls, and runs none of them", async () => {
    const { text, tool_calls, additional_kwargs } = await streamed(createResponsesWorld(...WORKING));
    assert.equal([text, tool_calls], [WORDS, []]);
    assert.equal(
      (additional_kwargs.tool_outputs as { type: string }[]).map(({ type }) => type),
      ['mcp_call', 'mcp_call'],
    );
    const whole = await modelOver(createResponsesWorld(...WORKING)).invoke('Hello');
    assert.equal([whole.text, whole.tool_calls], [WORDS, []]);
  });

  check('learns of a failure, and does not ask again', async () => {
    for (const outputEvents of [BROKEN, BROKEN_AT_ONCE]) {
      const world = createResponsesWorld(...outputEvents);
      assert.match(((await rejection(streamed(world))) as Error).message, FAILURE.message);
      assert.is(world.asked.length, 1);
    }
  });

  check('knows an answer that is not whole', async () => {
    const { text, response_metadata } = await streamed(createResponsesWorld(...CUT));
    assert.equal([text, response_metadata.status], ['I look', 'incomplete']);
  });

  check('goes on with the conversation, and is understood', async () => {
    const world = createResponsesWorld(...WORKING);
    const answer = await streamed(world);
    await modelOver(world).invoke([new HumanMessage('Hello'), answer, new HumanMessage('More')]);
    assert.equal([repeated(world), world.asked[1]?.prompt], [REPORTED, asText('More')]);
  });
});

describe("OpenAI's agents", (check) => {
  const agent = new Agent({ name: 'someone', model: 'acme/small' });
  const runnerOver = (world: ResponsesWorld): Runner =>
    new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openaiOver(world), useResponses: true }) });
  const streamed = async (world: ResponsesWorld, asker = agent) => {
    const result = await runnerOver(world).run(asker, 'Hello', { stream: true });
    const items: string[] = [];
    let words = '';
    for await (const event of result) {
      if (event.type === 'run_item_stream_event') items.push(event.name);
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') words += event.data.delta;
    }
    await result.completed;
    return { result, items, words };
  };

  check('read a stream and what was thought', async () => {
    const { result, items, words } = await streamed(createResponsesWorld(...THINKING));
    assert.equal([words, result.finalOutput], ['Hello', 'Hello']);
    assert.equal(items, ['reasoning_item_created', 'message_output_created']);
  });

  check("show the agent's calls, run none of them, and end with its last words", async () => {
    const world = createResponsesWorld(...WORKING);
    const { result, items, words } = await streamed(world);
    assert.equal([words, result.finalOutput?.trim()], [WORDS, 'Five.']);
    assert.equal(items.slice(2, 4), ['tool_called', 'tool_called']);
    assert.not.ok(items.includes('tool_output'));
    assert.is(world.asked.length, 1);
  });

  check('run no tool of their own that is called as one of the agent', async () => {
    let ran = 0;
    const bash = toolOfAgents({
      name: 'bash',
      description: 'Runs a command',
      strict: false,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      execute: () => `${++ran}`,
    });
    const world = createResponsesWorld(...WORKING);
    await streamed(world, new Agent({ name: 'someone', model: 'acme/small', tools: [bash] }));
    assert.equal([ran, world.asked.length], [0, 1]);
  });

  check('do not ask again where the agent said nothing', async () => {
    const world = createResponsesWorld(...SILENT);
    assert.is((await streamed(world)).result.finalOutput, '');
    assert.is(world.asked.length, 1);
  });

  check('learn of a failure and of an answer that is not whole, and do not ask again', async () => {
    for (const [outputEvents, words] of [
      [BROKEN, FAILURE.message],
      [BROKEN_AT_ONCE, FAILURE.message],
      [CUT, 'response.incomplete'],
    ] as const) {
      const world = createResponsesWorld(...outputEvents);
      assert.match(((await rejection(streamed(world))) as Error).message, words);
      assert.is(world.asked.length, 1);
    }
  });

  check('go on with the conversation, or with an id, and are understood', async () => {
    const world = createResponsesWorld(...WORKING);
    const { result } = await streamed(world);
    await runnerOver(world).run(agent, [...result.history, user('More')]);
    assert.equal([repeated(world), world.asked[1]?.prompt], [REPORTED, asText('More')]);
    await runnerOver(world).run(agent, 'More', { previousResponseId: responseID() });
    assert.equal(world.asked[2]?.conversation, AFTER);
  });
});

import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { generateObject, jsonSchema, type LanguageModel, streamObject } from 'ai';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { asked, newText } from './clients.ts';
import { BRIDGE_KEY, type BridgeProcess, sharedBridgeWorld } from './world.ts';

const MODEL = 'demo/main';
const beside = sharedBridgeWorld();
const City = z.object({ name: z.string() });
const CITY = { name: 'Oslo' };
const SCHEMA = jsonSchema<typeof CITY>({
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
});

type Place = Pick<BridgeProcess, 'baseURL'>;
const openaiAt = ({ baseURL }: Place): OpenAI => new OpenAI({ baseURL, apiKey: BRIDGE_KEY });
const chatAt = ({ baseURL }: Place): ChatOpenAI =>
  new ChatOpenAI({ model: MODEL, apiKey: BRIDGE_KEY, maxRetries: 0, configuration: { baseURL } });
const runnerAt = (place: Place, useResponses: boolean): Runner =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: openaiAt(place), useResponses }),
    tracingDisabled: true,
  });
const agentRun = async (place: Place, words: string, useResponses: boolean) =>
  (await runnerAt(place, useResponses).run(new Agent({ name: 'someone', model: MODEL, outputType: City }), words))
    .finalOutput;

const AI_MODELS: Readonly<Record<string, (place: Place) => LanguageModel>> = {
  'openai-compatible': ({ baseURL }) =>
    createOpenAICompatible({ name: 'gatehouse', baseURL, apiKey: BRIDGE_KEY, supportsStructuredOutputs: true })(MODEL),
  'openai responses': ({ baseURL }) => createOpenAI({ baseURL, apiKey: BRIDGE_KEY })(MODEL),
  'openai chat': ({ baseURL }) => createOpenAI({ baseURL, apiKey: BRIDGE_KEY }).chat(MODEL),
};

const aiSdkCalls = Object.entries(AI_MODELS).flatMap(([name, modelOf]) => [
  [
    `Vercel's AI SDK, ${name}`,
    async (place: Place, prompt: string) =>
      (await generateObject({ model: modelOf(place), schema: SCHEMA, prompt, maxRetries: 0 })).object,
  ] as const,
  [
    `Vercel's AI SDK, ${name}, streamed`,
    async (place: Place, prompt: string) => {
      const result = streamObject({ model: modelOf(place), schema: SCHEMA, prompt, maxRetries: 0 });
      for await (const _ of result.partialObjectStream);
      return result.object;
    },
  ] as const,
]);

type Ask = (place: Place, words: string) => Promise<unknown>;
const FUNCTION_CALLING = 'LangChain, functionCalling';

/** Each in the way in which its library asks by default, and in the others that it has. */
const CALLS: readonly (readonly [string, Ask])[] = [
  [
    "OpenAI's own client, a chat completion",
    async (place, words) => {
      const messages = [{ role: 'user' as const, content: words }];
      const format = { response_format: zodResponseFormat(City, 'city') };
      const { choices } = await openaiAt(place).chat.completions.parse({ model: MODEL, messages, ...format });
      return choices[0]?.message.parsed;
    },
  ],
  [
    "OpenAI's own client, a streamed chat completion",
    async (place, words) => {
      const messages = [{ role: 'user' as const, content: words }];
      const format = { response_format: zodResponseFormat(City, 'city') };
      const stream = openaiAt(place).chat.completions.stream({ model: MODEL, messages, ...format });
      return (await stream.finalChatCompletion()).choices[0]?.message.parsed;
    },
  ],
  [
    "OpenAI's own client, a response",
    async (place, words) => {
      const text = { format: zodTextFormat(City, 'city') };
      return (await openaiAt(place).responses.parse({ model: MODEL, input: words, text })).output_parsed;
    },
  ],
  ...aiSdkCalls,
  ['LangChain', (place, words) => chatAt(place).withStructuredOutput(City).invoke(words)],
  ...(['functionCalling', 'jsonSchema', 'jsonMode'] as const).map(
    (method) =>
      [
        method === 'functionCalling' ? FUNCTION_CALLING : `LangChain, ${method}`,
        (place: Place, words: string) => chatAt(place).withStructuredOutput(City, { method }).invoke(words),
      ] as const,
  ),
  ["OpenAI's agents, responses", (place, words) => agentRun(place, words, true)],
  ["OpenAI's agents, chat completions", (place, words) => agentRun(place, words, false)],
];

describe('a structured output', (check) => {
  for (const [name, ask] of CALLS) {
    check(
      `reaches ${name}`,
      beside(async (world) => {
        const tool = name === FUNCTION_CALLING ? 'extract' : 'StructuredOutput';
        world.model.addReply(answer(calls({ name: tool, arguments: CITY })), isNoTitle);
        assert.equal(await ask(world.bridge, newText()), CITY);
        assert.is(asked(world).length, 1);
      }),
    );
  }
});

describe("OpenAI's own client, a response in the background", (check) => {
  check(
    'is fetched when it is complete',
    beside(async (world) => {
      const { responses } = openaiAt(world.bridge);
      world.model.addReply('Good day.', isNoTitle);
      let response = await responses.create({ model: MODEL, input: newText(), background: true });
      assert.match(response.status ?? '', /^(?:queued|in_progress)$/);
      while (response.status === 'queued' || response.status === 'in_progress') {
        await new Promise((resolve) => setTimeout(resolve, 20));
        response = await responses.retrieve(response.id);
      }
      assert.equal([response.status, response.output_text, asked(world).length], ['completed', 'Good day.', 1]);
    }),
  );

  check(
    'is cancelled, and its model hears of it',
    beside(async (world) => {
      const { responses } = openaiAt(world.bridge);
      world.model.addReply(answer([{ kind: 'hang' }]), isNoTitle);
      const { id } = await responses.create({ model: MODEL, input: newText(), background: true });
      await until('it runs', () => asked(world).length === 1);
      assert.is((await responses.cancel(id)).status, 'cancelled');
      await until('the model sees that nobody listens', () => asked(world)[0]?.isAborted() === true);
      assert.is((await responses.retrieve(id)).status, 'cancelled');
    }),
  );
});

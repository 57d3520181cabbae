import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, jsonSchema, type LanguageModel, type ModelMessage, streamText, tool } from 'ai';
import * as assert from 'uvu/assert';
import { answer, refusal, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import {
  asked,
  type ChatNeeds,
  type Client,
  checkClient,
  countedFetch,
  newText,
  OWN_PARAMETERS,
  OWN_TOOL,
  type Received,
} from './clients.ts';
import { checkOwnTools } from './own-tools.ts';
import { BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

type Asking = { readonly model: LanguageModel; readonly messages: ModelMessage[]; readonly needs: ChatNeeds };
type Reported = Received & { readonly messages: readonly ModelMessage[] };
type Usage = {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly totalTokens?: number | undefined;
};

const beside = sharedBridgeWorld({ bridge: { BRIDGE_ON_DISCONNECT: '200' } });

const toolsOf = ({ onOwnTool }: ChatNeeds) => ({
  [OWN_TOOL]: tool({ inputSchema: jsonSchema(OWN_PARAMETERS), execute: async (input) => onOwnTool(input) }),
});
/** More than any check takes: without a limit it sends no result back. */
const STEPS = isStepCount(5);
const tokensIn = ({ inputTokens, outputTokens, totalTokens }: Usage) => [inputTokens, outputTokens, totalTokens];

const streamed = async ({ model, messages, needs }: Asking): Promise<Reported> => {
  const result = streamText({
    model,
    messages,
    tools: toolsOf(needs),
    stopWhen: STEPS,
    maxRetries: 0,
    onError: () => {},
  });
  const pieces: string[] = [];
  for await (const part of result.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') pieces.push(part.text);
  }
  return {
    words: await result.text,
    pieces,
    thoughts: (await result.reasoningText) ?? '',
    tokens: tokensIn(await result.usage),
    finish: await result.finishReason,
    messages: await result.responseMessages,
  };
};

const whole = async ({ model, messages, needs }: Asking): Promise<Reported> => {
  const result = await generateText({ model, messages, tools: toolsOf(needs), stopWhen: STEPS, maxRetries: 0 });
  return {
    words: result.text,
    pieces: [result.text],
    thoughts: result.reasoningText ?? '',
    tokens: tokensIn(result.usage),
    finish: result.finishReason,
    messages: result.responseMessages,
  };
};

type How = { readonly isStreamed: boolean; readonly ask: (asking: Asking) => Promise<Reported> };
const STREAMED: How = { isStreamed: true, ask: streamed };
const WHOLE: How = { isStreamed: false, ask: whole };

const clientOf = (name: string, { isStreamed, ask }: How, modelOf: (needs: ChatNeeds) => LanguageModel): Client => ({
  name,
  isStreamed,
  hasThoughts: true,
  runsTools: true,
  startChat(needs) {
    const model = modelOf(needs);
    const messages: ModelMessage[] = [];
    return {
      async sendText(words) {
        messages.push({ role: 'user', content: words });
        const reported = await ask({ model, messages: [...messages], needs });
        messages.push(...reported.messages);
        return reported;
      },
    };
  },
});

const compatible = ({ baseURL, apiKey, fetch, model }: ChatNeeds): LanguageModel =>
  createOpenAICompatible({ name: 'gatehouse', baseURL, apiKey, fetch, includeUsage: true })(model);
const responses = ({ baseURL, apiKey, fetch, model }: ChatNeeds): LanguageModel =>
  createOpenAI({ baseURL, apiKey, fetch })(model);
const chat = ({ baseURL, apiKey, fetch, model }: ChatNeeds): LanguageModel =>
  createOpenAI({ baseURL, apiKey, fetch }).chat(model);

const CLIENTS = [
  clientOf('openai-compatible, streamed', STREAMED, compatible),
  clientOf('openai-compatible, whole', WHOLE, compatible),
  clientOf('openai responses, streamed', STREAMED, responses),
  clientOf('openai responses, whole', WHOLE, responses),
  { ...clientOf('openai chat, streamed', STREAMED, chat), hasThoughts: false },
  { ...clientOf('openai chat, whole', WHOLE, chat), hasThoughts: false },
];

for (const client of CLIENTS)
  describe(`Vercel's AI SDK, ${client.name}`, (check) => {
    checkClient(check, { beside, client });
    checkOwnTools(check, { beside, client });
  });

describe("Vercel's AI SDK, a client that leaves", (check) => {
  for (const [name, modelOf] of Object.entries({ compatible, responses })) {
    check(
      `by its abort signal ends the run at the agent (${name})`,
      beside(async (world) => {
        world.model.addReply(answer([...text('so far '), { kind: 'hang' }]), isNoTitle);
        const leaving = new AbortController();
        const place = { baseURL: world.bridge.baseURL, apiKey: BRIDGE_KEY, model: 'demo/main', fetch };
        const result = streamText({
          model: modelOf({ ...place, onOwnTool: () => '' }),
          prompt: newText(),
          abortSignal: leaving.signal,
        });
        const parts: string[] = [];
        for await (const part of result.fullStream) {
          parts.push(part.type);
          if (part.type === 'text-delta') leaving.abort();
        }
        assert.is(parts.at(-1), 'abort');
        await until('the model sees that nobody listens', () => asked(world)[0]?.isAborted() === true);
        assert.is(asked(world).length, 1);
      }),
    );
  }
});

describe("Vercel's AI SDK, asking again of its own accord", (check) => {
  check(
    'has one turn all the same if it is given an Idempotency-Key',
    beside(async (world) => {
      world.model.alwaysReply(refusal(400, 'bad_request'), isNoTitle);
      const { fetch, sent } = countedFetch();
      const place = { baseURL: world.bridge.baseURL, apiKey: BRIDGE_KEY, model: 'demo/main', fetch };
      const asking = (words: string) => ({
        prompt: words,
        // It takes no notice of x-should-retry.
        maxRetries: 1,
        headers: { 'idempotency-key': words.replaceAll(' ', '-') },
      });
      const needs = { ...place, onOwnTool: () => '' };
      const calls = [compatible, responses].map((modelOf) =>
        generateText({ model: modelOf(needs), ...asking(newText()) }),
      );
      for (const error of await Promise.all(calls.map(rejection))) assert.match(String(error), "agent's model failed");
      assert.equal([sent.length, asked(world).length], [4, 2]);
    }),
  );
});

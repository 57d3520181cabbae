import { type AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import * as assert from 'uvu/assert';
import { refusal } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import {
  asked,
  type ChatNeeds,
  type Client,
  checkClient,
  countedFetch,
  newText,
  OWN_TOOL,
  type Received,
} from './clients.ts';
import { BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

const beside = sharedBridgeWorld();

/** It runs no tools itself, so it is told of one and must not be asked to call it. */
const TOOLS = [
  { type: 'function' as const, function: { name: OWN_TOOL, parameters: { type: 'object', properties: {} } } },
];

const modelOf = ({ baseURL, apiKey, fetch, model }: ChatNeeds, useResponsesApi: boolean) =>
  new ChatOpenAI({ model, apiKey, useResponsesApi, maxRetries: 0, configuration: { baseURL, fetch } }).bindTools(TOOLS);

type Message = AIMessage | AIMessageChunk;
type Cost = { readonly input_tokens: number; readonly output_tokens: number; readonly total_tokens: number };

const thoughtsIn = ({ content, additional_kwargs }: Message): string => {
  const { reasoning_content: inChat, reasoning } = additional_kwargs as {
    reasoning_content?: string;
    reasoning?: { summary?: readonly { text: string }[] };
  };
  const parts = Array.isArray(content) ? (content as { reasoning?: string }[]) : [];
  const inContent = parts.map(({ reasoning: words = '' }) => words).join('');
  return inChat ?? (inContent === '' ? (reasoning?.summary ?? []).map(({ text }) => text).join('') : inContent);
};

const receivedIn = (message: Message, pieces: readonly string[] = [message.text]): Received => {
  const { tool_calls = [], response_metadata: facts } = message;
  const usage = message.usage_metadata as Cost | undefined;
  if (tool_calls.length > 0) throw new Error('the client is to call something');
  const { finish_reason, status } = facts as { finish_reason?: string; status?: string };
  return {
    words: message.text,
    pieces,
    thoughts: thoughtsIn(message),
    tokens: [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens],
    finish: finish_reason ?? (status === 'completed' ? 'stop' : status),
  };
};

type Reported = { readonly collected: Received; readonly message: BaseMessage };
type Model = ReturnType<typeof modelOf>;

const invoked = async (model: Model, messages: readonly BaseMessage[]): Promise<Reported> => {
  const message = await model.invoke([...messages]);
  return { collected: receivedIn(message), message };
};
const streamed = async (model: Model, messages: readonly BaseMessage[]): Promise<Reported> => {
  const pieces: string[] = [];
  let all: AIMessageChunk | undefined;
  for await (const chunk of await model.stream([...messages])) {
    if (chunk.text !== '') pieces.push(chunk.text);
    all = all === undefined ? chunk : all.concat(chunk);
  }
  if (all === undefined) throw new Error('nothing was said');
  return { collected: receivedIn(all, pieces), message: all };
};

type How = { readonly isStreamed: boolean; readonly isResponses: boolean };

const clientOf = (name: string, { isStreamed, isResponses }: How): Client => ({
  name,
  isStreamed,
  hasThoughts: true,
  startChat(needs) {
    const model = modelOf(needs, isResponses);
    const messages: BaseMessage[] = [];
    return {
      async sendText(words) {
        messages.push(new HumanMessage(words));
        const { collected, message } = await (isStreamed ? streamed : invoked)(model, messages);
        messages.push(message);
        return collected;
      },
    };
  },
});

const CLIENTS = [
  clientOf('chat, streamed', { isStreamed: true, isResponses: false }),
  clientOf('chat, invoked', { isStreamed: false, isResponses: false }),
  clientOf('responses, streamed', { isStreamed: true, isResponses: true }),
  clientOf('responses, invoked', { isStreamed: false, isResponses: true }),
];

for (const client of CLIENTS) describe(`LangChain, ${client.name}`, (check) => checkClient(check, { beside, client }));

describe('LangChain, asking again of its own accord', (check) => {
  check(
    'has one turn all the same if it is given an Idempotency-Key',
    beside(async (world) => {
      world.model.alwaysReply(refusal(400, 'bad_request'), isNoTitle);
      const { fetch, sent } = countedFetch();
      // It takes no notice of x-should-retry.
      const model = new ChatOpenAI({
        model: 'demo/main',
        apiKey: BRIDGE_KEY,
        maxRetries: 1,
        configuration: { baseURL: world.bridge.baseURL, fetch },
      });
      const words = newText();
      const headers = { 'idempotency-key': words.replaceAll(' ', '-') };
      assert.match(String(await rejection(model.invoke(words, { options: { headers } }))), "agent's model failed");
      assert.equal([sent.length, asked(world).length], [2, 1]);
    }),
  );
});

import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from '@langchain/core/messages';
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
  OWN_PARAMETERS,
  OWN_TOOL,
  type Received,
} from './clients.ts';
import { checkOwnTools } from './own-tools.ts';
import { BRIDGE_KEY, sharedBridgeWorld } from './world.ts';

const beside = sharedBridgeWorld();

const TOOLS = [{ type: 'function' as const, function: { name: OWN_TOOL, parameters: OWN_PARAMETERS } }];

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
  const { response_metadata: facts } = message;
  const usage = message.usage_metadata as Cost | undefined;
  const { finish_reason, status } = facts as { finish_reason?: string; status?: string };
  return {
    words: message.text,
    pieces,
    thoughts: thoughtsIn(message),
    tokens: [usage?.input_tokens, usage?.output_tokens, usage?.total_tokens],
    finish: finish_reason ?? (status === 'completed' ? 'stop' : status),
  };
};

type Reported = { readonly collected: Received; readonly message: Message };
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
  runsTools: true,
  startChat(needs) {
    const model = modelOf(needs, isResponses);
    const messages: BaseMessage[] = [];
    return {
      async sendText(words) {
        messages.push(new HumanMessage(words));
        // A model by itself runs no tools: this is the loop that programs write around it.
        for (;;) {
          const { collected, message } = await (isStreamed ? streamed : invoked)(model, messages);
          messages.push(message);
          const { tool_calls: calls = [] } = message;
          if (calls.length === 0) return collected;
          for (const { id = '', args } of calls)
            messages.push(new ToolMessage({ tool_call_id: id, content: needs.onOwnTool(args) }));
        }
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

for (const client of CLIENTS)
  describe(`LangChain, ${client.name}`, (check) => {
    checkClient(check, { beside, client });
    checkOwnTools(check, { beside, client });
  });

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

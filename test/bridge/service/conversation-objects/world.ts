import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { rejection } from '../../../check.ts';
import { answering } from '../../harness/model-scripts.ts';
import { type BridgeWorld, KEY, withBridge } from '../../harness/world.ts';

export const clientOf = (world: BridgeWorld, apiKey = KEY): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });

/** An agent that answers with the number of texts that it was told. */
const counting = answering((words, { messages }) => `${words}: ${messages.length}`);

export const withClient = (body: (client: OpenAI, world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: Array(12).fill(counting) }, (world) => body(clientOf(world), world));

export const failureOf = async (promise: PromiseLike<unknown>) => {
  const error = (await rejection(Promise.resolve(promise))) as APIError;
  assert.instance(error, APIError);
  return `${error.status} ${error.code} ${error.param ?? ''}`.trim();
};

export const said = (role: 'user' | 'assistant' | 'system', content: string) => ({
  type: 'message' as const,
  role,
  content,
});

type Listed = Awaited<ReturnType<OpenAI['conversations']['items']['list']>>['data'][number];

export const lineOf = (item: Listed): string => {
  if (item.type !== 'message') return item.type;
  const [content] = item.content;
  return `${item.role}: ${content !== undefined && 'text' in content ? content.text : content?.type}`;
};

export const linesIn = async (
  client: OpenAI,
  id: string,
  query: object = { order: 'asc' },
): Promise<readonly string[]> => {
  const lines: string[] = [];
  for await (const item of client.conversations.items.list(id, query)) lines.push(lineOf(item));
  return lines;
};

import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import type { Fetcher } from '../../../src/agent/model/http.ts';
import {
  type ChatModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelTarget,
} from '../../../src/agent/model/types.ts';
import { soon } from '../../core/http/local-server.ts';
import { createControlledModel, type ModelControl } from '../../demo/model/control.ts';
import { createFakeClock, type FakeClock } from '../../fake-clock.ts';

export const ADAPTERS = ['@ai-sdk/openai-compatible', '@ai-sdk/openai', '@ai-sdk/anthropic'] as const;
/** No sentence may hold it. */
export const CANARY = 'sk-canary-5e1f00d';
export const TOOLS: ModelRequest['tools'] = [
  {
    name: 'weather',
    description: 'Tells the weather',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  },
  { name: 'time', description: 'Tells the time', inputSchema: { type: 'object', properties: {} } },
];

export const target = (more: Partial<ModelTarget> = {}): ModelTarget => ({
  providerID: 'acme',
  npm: '@ai-sdk/openai-compatible',
  baseURL: 'http://model.test/v1',
  apiKey: CANARY,
  headers: {},
  upstreamID: 'acme-large',
  options: {},
  maxOutputTokens: undefined,
  temperature: undefined,
  topP: undefined,
  ...more,
});

export const question = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  target: target(),
  system: 'Be brief.',
  messages: [{ role: 'user', content: [{ kind: 'text', text: 'hello' }] }],
  tools: [],
  sessionID: 'ses_1',
  ...more,
});

type ModelWorld = {
  readonly model: ChatModel;
  readonly control: ModelControl;
  readonly clock: FakeClock;
  /** All that one question brings. */
  readonly ask: (more?: Partial<ModelRequest>, signal?: AbortSignal) => Promise<ModelEvent[]>;
  /** What a question that fails fails with. Anything but a `ModelError` fails the check. */
  readonly problem: (more?: Partial<ModelRequest>) => Promise<ModelError>;
};

export const collected = async (events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> => {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** The AI SDK before the scripted model, without a network, on a clock that stands still. */
export const createModelWorld = (bend: (direct: Fetcher) => Fetcher = (direct) => direct): ModelWorld => {
  const clock = createFakeClock();
  const { handler, control } = createControlledModel({ clock });
  const fetcher = bend((url, init) => handler(new Request(url, init)));
  const model = createAiModel({ fetcher, clock, version: '1.2.3' });
  const ask = (more: Partial<ModelRequest> = {}, signal = new AbortController().signal) =>
    collected(model(question(more), signal));
  return {
    model,
    control,
    clock,
    ask,
    async problem(more) {
      try {
        await ask(more);
      } catch (error) {
        if (error instanceof ModelError) return error;
        throw error;
      }
      throw new Error('Expected a problem, but the model answered');
    },
  };
};

/** Everything of one kind that was said. */
export const textIn = (events: readonly ModelEvent[], kind: 'text' | 'reasoning'): string =>
  events.map((event) => (event.kind === kind ? event.delta : '')).join('');

/** Settles once it is so, and fails when that takes so long that it never will be. */
export const until = async (isSo: () => boolean, what: string): Promise<void> => {
  const waiting = async () => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
  };
  await soon(waiting(), what);
};

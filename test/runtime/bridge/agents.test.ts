import { Agent, type AgentInputItem, OpenAIProvider, Runner, setTracingDisabled, tool, user } from '@openai/agents';
import OpenAI from 'openai';
import { describe } from '../../check.ts';
import { type Client, checkClient, type Heard, type TalkNeeds, TOOL } from './clients.ts';
import { sharedBridgeWorld } from './world.ts';

setTracingDisabled(true);

const beside = sharedBridgeWorld();

const agentOf = ({ model, onOwnTool }: TalkNeeds) =>
  new Agent({
    name: 'someone',
    model,
    tools: [
      tool({
        name: TOOL,
        description: 'Says it again',
        strict: false,
        parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
        execute: onOwnTool,
      }),
    ],
  });

const runnerOf = ({ baseURL, apiKey, fetch }: TalkNeeds, useResponses: boolean): Runner =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey, fetch }), useResponses }),
    tracingDisabled: true,
  });

type Asking = { readonly agent: ReturnType<typeof agentOf>; readonly items: AgentInputItem[]; readonly runner: Runner };
type Told = { readonly heard: Heard; readonly history: readonly AgentInputItem[] };

const thoughtsIn = (items: readonly AgentInputItem[]): string =>
  items.flatMap((item) => (item.type === 'reasoning' ? item.content.map(({ text }) => text) : [])).join('');
const wordsIn = (items: readonly AgentInputItem[]): string =>
  items
    .flatMap((item) => ('role' in item && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
const tokensIn = (usage: { inputTokens: number; outputTokens: number; totalTokens: number }) => [
  usage.inputTokens,
  usage.outputTokens,
  usage.totalTokens,
];

const whole = async ({ runner, agent, items }: Asking): Promise<Told> => {
  const { history, state } = await runner.run(agent, items);
  const said = history.slice(items.length);
  const words = wordsIn(said);
  const tokens = tokensIn(state.usage);
  return { heard: { words, pieces: [words], thoughts: thoughtsIn(said), tokens, finish: 'stop' }, history };
};

const streamed = async ({ runner, agent, items }: Asking): Promise<Told> => {
  const result = await runner.run(agent, items, { stream: true });
  const pieces: string[] = [];
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
      pieces.push(event.data.delta);
  await result.completed;
  const said = result.history.slice(items.length);
  const heard = { words: wordsIn(said), pieces, thoughts: thoughtsIn(said), tokens: tokensIn(result.state.usage) };
  return { heard: { ...heard, finish: 'stop' }, history: result.history };
};

const clientOf = (name: string, isStreamed: boolean, useResponses: boolean): Client => ({
  name,
  isStreamed,
  hasThoughts: useResponses,
  talk(needs) {
    const runner = runnerOf(needs, useResponses);
    const agent = agentOf(needs);
    let items: AgentInputItem[] = [];
    return {
      async say(words) {
        const asked = [...items, user(words)];
        const { heard, history } = await (isStreamed ? streamed : whole)({ runner, agent, items: asked });
        items = [...history];
        return heard;
      },
    };
  },
});

const CLIENTS = [
  clientOf('chat completions, streamed', true, false),
  clientOf('chat completions, whole', false, false),
  clientOf('responses, streamed', true, true),
  clientOf('responses, whole', false, true),
];

for (const client of CLIENTS)
  describe(`OpenAI's agents, ${client.name}`, (check) => checkClient(check, { beside, client }));

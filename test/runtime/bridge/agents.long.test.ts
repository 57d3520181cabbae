import { Agent, type AgentInputItem, OpenAIProvider, Runner, setTracingDisabled, tool, user } from '@openai/agents';
import OpenAI from 'openai';
import { describe } from '../../check.ts';
import { type ChatNeeds, type Client, checkClient, OWN_PARAMETERS, OWN_TOOL, type Received } from './clients.ts';
import { checkOwnTools } from './own-tools.ts';
import { sharedBridgeWorld } from './world.ts';

setTracingDisabled(true);

const beside = sharedBridgeWorld();

const agentOf = ({ model, onOwnTool }: ChatNeeds) =>
  new Agent({
    name: 'someone',
    model,
    tools: [
      tool({
        name: OWN_TOOL,
        description: 'Says it again',
        parameters: OWN_PARAMETERS,
        execute: onOwnTool,
      }),
    ],
  });

const runnerOf = ({ baseURL, apiKey, fetch }: ChatNeeds, useResponses: boolean): Runner =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey, fetch }), useResponses }),
    tracingDisabled: true,
  });

type Asking = { readonly agent: ReturnType<typeof agentOf>; readonly items: AgentInputItem[]; readonly runner: Runner };
type Reported = { readonly collected: Received; readonly history: readonly AgentInputItem[] };

const thoughtsIn = (items: readonly AgentInputItem[]): string =>
  items.flatMap((item) => (item.type === 'reasoning' ? item.content.map(({ text }) => text) : [])).join('');
const matchesIn = (items: readonly AgentInputItem[]): string =>
  items
    .flatMap((item) => ('role' in item && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
const tokensIn = (usage: { inputTokens: number; outputTokens: number; totalTokens: number }) => [
  usage.inputTokens,
  usage.outputTokens,
  usage.totalTokens,
];

const whole = async ({ runner, agent, items }: Asking): Promise<Reported> => {
  const { history, state } = await runner.run(agent, items);
  const outputText = history.slice(items.length);
  const words = matchesIn(outputText);
  const tokens = tokensIn(state.usage);
  return { collected: { words, pieces: [words], thoughts: thoughtsIn(outputText), tokens, finish: 'stop' }, history };
};

const streamed = async ({ runner, agent, items }: Asking): Promise<Reported> => {
  const result = await runner.run(agent, items, { stream: true });
  const pieces: string[] = [];
  for await (const event of result)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
      pieces.push(event.data.delta);
  await result.completed;
  const outputText = result.history.slice(items.length);
  const collected = {
    words: matchesIn(outputText),
    pieces,
    thoughts: thoughtsIn(outputText),
    tokens: tokensIn(result.state.usage),
  };
  return { collected: { ...collected, finish: 'stop' }, history: result.history };
};

const clientOf = (name: string, isStreamed: boolean, useResponses: boolean): Client => ({
  name,
  isStreamed,
  hasThoughts: useResponses,
  runsTools: true,
  startChat(needs) {
    const runner = runnerOf(needs, useResponses);
    const agent = agentOf(needs);
    let items: AgentInputItem[] = [];
    return {
      async sendText(words) {
        const asked = [...items, user(words)];
        const { collected, history } = await (isStreamed ? streamed : whole)({ runner, agent, items: asked });
        items = [...history];
        return collected;
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
  describe(`OpenAI's agents, ${client.name}`, (check) => {
    checkClient(check, { beside, client });
    checkOwnTools(check, { beside, client });
  });

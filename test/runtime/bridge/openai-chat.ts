import OpenAI from 'openai';
import { type ChatNeeds, type Client, OWN_PARAMETERS, OWN_TOOL, type Received } from './clients.ts';

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type ChatUsage = OpenAI.CompletionUsage | null | undefined;
type Thoughtful = { readonly reasoning_content?: string };

const openaiOf = ({ baseURL, apiKey, fetch }: ChatNeeds): OpenAI => new OpenAI({ baseURL, apiKey, fetch });
const costOf = (usage: ChatUsage) => [usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens];

type Asking = {
  readonly openai: OpenAI;
  readonly asking: { model: string; messages: Message[] };
  readonly needs: ChatNeeds;
};
/** `history`: all messages with those of tools, where the library has them. */
type Answered = Received & { readonly history?: readonly Message[] };

/** A client that sends the whole chat each time. */
const chatClient = (
  name: string,
  {
    isStreamed,
    hasThoughts = true,
    runsTools = false,
  }: { readonly isStreamed: boolean; readonly hasThoughts?: boolean; readonly runsTools?: boolean },
  ask: (given: Asking) => Promise<Answered>,
): Client => ({
  name,
  isStreamed,
  hasThoughts,
  runsTools,
  startChat(needs) {
    const openai = openaiOf(needs);
    let messages: readonly Message[] = [];
    return {
      async sendText(words) {
        const asked: Message[] = [...messages, { role: 'user', content: words }];
        const { history, ...received } = await ask({ openai, asking: { model: needs.model, messages: asked }, needs });
        messages = history ?? [...asked, { role: 'assistant', content: received.words }];
        return received;
      },
    };
  },
});

const toolOf = ({ onOwnTool }: ChatNeeds) =>
  ({
    type: 'function',
    function: {
      name: OWN_TOOL,
      description: 'Says it again',
      parameters: OWN_PARAMETERS,
      parse: JSON.parse,
      function: onOwnTool,
    },
  }) as const;

const inert = {
  type: 'function',
  function: { name: OWN_TOOL, parameters: OWN_PARAMETERS },
} as const;

const whole = chatClient('whole', { isStreamed: false }, async ({ openai, asking }) => {
  const { choices, usage } = await openai.chat.completions.create({ ...asking, tools: [inert] });
  const message = choices[0]?.message;
  const words = message?.content ?? '';
  const thoughts = (message as Thoughtful | undefined)?.reasoning_content ?? '';
  return { words, pieces: [words], thoughts, tokens: costOf(usage), finish: choices[0]?.finish_reason };
});

const streamed = chatClient('streamed', { isStreamed: true }, async ({ openai, asking }) => {
  const stream = await openai.chat.completions.create({
    ...asking,
    tools: [inert],
    stream: true,
    stream_options: { include_usage: true },
  });
  const pieces: string[] = [];
  let thoughts = '';
  let finish: unknown;
  let cost: ChatUsage;
  for await (const { choices, usage } of stream) {
    if (choices[0]?.delta.content) pieces.push(choices[0].delta.content);
    thoughts += (choices[0]?.delta as Thoughtful | undefined)?.reasoning_content ?? '';
    finish ??= choices[0]?.finish_reason ?? undefined;
    cost = usage;
  }
  return { words: pieces.join(''), pieces, thoughts, tokens: costOf(cost), finish };
});

const helped = chatClient(
  'its helper for streams',
  { isStreamed: true, hasThoughts: false },
  async ({ openai, asking }) => {
    const stream = openai.chat.completions.stream({
      ...asking,
      tools: [inert],
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    stream.on('content', (delta) => pieces.push(delta));
    const { choices, usage } = await stream.finalChatCompletion();
    const words = choices[0]?.message.content ?? '';
    return { words, pieces, thoughts: '', tokens: costOf(usage), finish: choices[0]?.finish_reason };
  },
);

const withTools = chatClient(
  'its runner of tools',
  { isStreamed: false, runsTools: true },
  async ({ openai, asking, needs }) => {
    const runner = openai.chat.completions.runTools({ ...asking, tools: [toolOf(needs)] });
    const words = (await runner.finalContent()) ?? '';
    const { choices } = await runner.finalChatCompletion();
    const thoughts = (choices[0]?.message as Thoughtful | undefined)?.reasoning_content ?? '';
    const tokens = costOf(await runner.totalUsage());
    return { history: runner.messages, words, pieces: [words], thoughts, tokens, finish: choices[0]?.finish_reason };
  },
);

const withToolsStreamed = chatClient(
  'its runner of tools, streamed',
  { isStreamed: true, hasThoughts: false, runsTools: true },
  async ({ openai, asking, needs }) => {
    const options = { include_usage: true };
    const runner = openai.chat.completions.runTools({
      ...asking,
      stream: true,
      stream_options: options,
      tools: [toolOf(needs)],
    });
    const pieces: string[] = [];
    runner.on('content', (delta) => pieces.push(delta));
    const words = (await runner.finalContent()) ?? '';
    const { choices, usage } = await runner.finalChatCompletion();
    return {
      history: runner.messages,
      words,
      pieces,
      thoughts: '',
      tokens: costOf(usage),
      finish: choices[0]?.finish_reason,
    };
  },
);

/** OpenAI's own client before chat completions, in every way in which it asks. */
export const CHAT_CLIENTS = { whole, streamed, helped, withTools, withToolsStreamed } as const;

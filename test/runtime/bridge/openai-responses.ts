import OpenAI from 'openai';
import { type ChatNeeds, type Client, OWN_TOOL, type Received } from './clients.ts';

type Item = OpenAI.Responses.ResponseInputItem;
type Made = OpenAI.Responses.Response;
type Onward = {
  readonly model: string;
  readonly input: string | Item[];
  readonly previous_response_id?: string;
  readonly conversation?: string;
};
type Output = Omit<Onward, 'model'>;
type Reported = { readonly made: Made; readonly pieces: readonly string[] };

const tools = [
  { type: 'function' as const, name: OWN_TOOL, strict: false, parameters: { type: 'object', properties: {} } },
];
const asking = (onward: Onward) => ({ tools, ...onward });

const whole = async (openai: OpenAI, onward: Onward): Promise<Reported> => {
  const made = await openai.responses.create(asking(onward));
  return { made, pieces: [made.output_text] };
};
const streamed = async (openai: OpenAI, onward: Onward): Promise<Reported> => {
  const pieces: string[] = [];
  let made: Made | undefined;
  for await (const event of await openai.responses.create({ ...asking(onward), stream: true })) {
    if (event.type === 'response.output_text.delta') pieces.push(event.delta);
    if (event.type === 'response.completed') made = event.response;
  }
  if (made === undefined) throw new Error('the stream ended without a response');
  return { made, pieces };
};
const helped = async (openai: OpenAI, onward: Onward): Promise<Reported> => {
  const pieces: string[] = [];
  const stream = openai.responses.stream(asking(onward));
  stream.on('response.output_text.delta', ({ delta }) => pieces.push(delta));
  return { made: await stream.finalResponse(), pieces };
};

/** All that a response says. */
export const matchesIn = ({ output }: Made): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

const receivedIn = ({ made, pieces }: Reported): Received => ({
  words: matchesIn(made),
  pieces,
  thoughts: made.output
    .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
    .join(),
  tokens: [made.usage?.input_tokens, made.usage?.output_tokens, made.usage?.total_tokens],
  finish: made.status === 'completed' ? 'stop' : made.status,
});

const openaiOf = ({ baseURL, apiKey, fetch }: ChatNeeds): OpenAI => new OpenAI({ baseURL, apiKey, fetch });

let conversations = 0;
/** How the next request goes on after what was said, by what was made of it. */
const ONWARDS = {
  id: () => {
    let last: string | undefined;
    return {
      onward: (words: string): Output => ({
        input: words,
        ...(last === undefined ? {} : { previous_response_id: last }),
      }),
      keep({ id }: Made) {
        last = id;
      },
    };
  },
  name: () => {
    conversations += 1;
    const conversation = `conversation ${conversations}`;
    return { onward: (words: string): Output => ({ input: words, conversation }), keep: () => {} };
  },
  items: () => {
    const items: Item[] = [];
    return {
      onward(words: string): Output {
        items.push({ role: 'user', content: words });
        return { input: [...items] };
      },
      keep: ({ output }: Made) => void items.push(...(output as Item[])),
    };
  },
} as const;

type How = {
  readonly isStreamed: boolean;
  readonly ask: typeof whole;
  readonly onwards: (typeof ONWARDS)[keyof typeof ONWARDS];
};

const clientOf = (name: string, { isStreamed, ask, onwards }: How): Client => ({
  name,
  isStreamed,
  hasThoughts: true,
  startChat(needs) {
    const openai = openaiOf(needs);
    const { onward, keep } = onwards();
    return {
      async sendText(words) {
        const reported = await ask(openai, { model: needs.model, ...onward(words) });
        keep(reported.made);
        return receivedIn(reported);
      },
    };
  },
});

/** OpenAI's own client before responses: in every way in which it asks, and in which it goes on. */
export const RESPONSES_CLIENTS = {
  whole: clientOf('whole, going on by id', { isStreamed: false, ask: whole, onwards: ONWARDS.id }),
  streamed: clientOf('streamed, in a named conversation', { isStreamed: true, ask: streamed, onwards: ONWARDS.name }),
  helped: clientOf('its helper, with all items again', { isStreamed: true, ask: helped, onwards: ONWARDS.items }),
} as const;

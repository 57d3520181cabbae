import { type BridgeWorld, dataIn, user } from './world.ts';

// A client that brings functions of its own, over chat completions.

export type Call = {
  readonly id: string;
  readonly type: string;
  readonly function: { name: string; arguments: string };
};
export type ChatMessage = {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly Call[];
  readonly tool_call_id?: string;
};
export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly message: ChatMessage;
  readonly finish: string;
  readonly calls: readonly Call[];
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null } | undefined;
};

export const functionNamed = (name: string, parameters: object = { type: 'object' }) => ({
  type: 'function',
  function: { name, description: `The function ${name}`, parameters },
});
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const WEATHER = functionNamed('weather', CITY);
export const CLOCK = functionNamed('clock');
export const TOOLS = [WEATHER, CLOCK];

export const QUESTION = [user('How is the weather in Oslo?')];

/** A chat completion, whatever comes of it. */
export const chatWith = async (
  world: Pick<BridgeWorld, 'send'>,
  messages: readonly object[],
  more: object = { tools: TOOLS },
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> => {
  const response = await world.send('/v1/chat/completions', { messages, ...more }, headers);
  const json = JSON.parse(await response.text());
  const choice = json.choices?.[0];
  return {
    status: response.status,
    headers: response.headers,
    message: choice?.message,
    finish: choice?.finish_reason ?? '',
    calls: choice?.message.tool_calls ?? [],
    error: json.error,
  };
};

/** The results of all calls of an answer. */
export const resultsOf = (
  calls: readonly Call[],
  output = (name: string): string => `${name} is fine`,
): ChatMessage[] =>
  calls.map(({ id, function: { name } }) => ({ role: 'tool', tool_call_id: id, content: output(name) }));

type Delta = { readonly content?: string; readonly tool_calls?: readonly (Call & { readonly index: number })[] };
/** The deltas of a stream, and how it ended. */
export const streamed = async (
  world: Pick<BridgeWorld, 'send'>,
  messages: readonly object[],
  more: object = { tools: TOOLS },
) => {
  const response = await world.send('/v1/chat/completions', { messages, ...more, stream: true });
  const text = await response.text();
  const chunks = dataIn(text)
    .filter((line) => line !== '[DONE]')
    .map((line) => JSON.parse(line));
  return {
    status: response.status,
    text,
    deltas: chunks.flatMap(({ choices }) => (choices ?? []).map(({ delta }: { delta: Delta }) => delta)) as Delta[],
    finishes: chunks.flatMap(({ choices }) =>
      (choices ?? []).flatMap((one: { finish_reason: string | null }) => one.finish_reason ?? []),
    ),
  };
};

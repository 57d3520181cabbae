import * as v from 'valibot';
import { badInput, filesOfParts, type HistoryMessage, type PromptPart, textOfParts } from '../../request.ts';
import { partsFrom, withTextsJoined } from '../content.ts';

const maybeText = v.nullish(v.string());
const FunctionCall = v.object({ name: v.string(), arguments: maybeText });

/** Messages of chat completions. Content is read later, each by its own rules. */
export const Messages = v.array(
  v.object({
    role: v.picklist(['developer', 'system', 'user', 'assistant', 'tool', 'function']),
    content: v.nullish(v.unknown()),
    name: maybeText,
    refusal: maybeText,
    tool_call_id: maybeText,
    tool_calls: v.nullish(
      v.array(
        v.object({
          id: maybeText,
          function: v.nullish(FunctionCall),
          custom: v.nullish(v.object({ name: v.string(), input: maybeText })),
        }),
      ),
    ),
    function_call: v.nullish(FunctionCall),
  }),
);
type Message = v.InferOutput<typeof Messages>[number];

export type Transcript = {
  readonly system: string;
  readonly history: readonly HistoryMessage[];
  readonly prompt: readonly PromptPart[];
};

/** A message whose content was read; `index` is its place in the body. */
type ReadMessage = { readonly message: Message; readonly parts: readonly PromptPart[]; readonly index: number };

type Call = { readonly id: string | undefined; readonly name: string; readonly input: string };

const callsOf = ({ tool_calls, function_call }: Message): readonly Call[] => [
  ...(tool_calls ?? []).map((call) => ({
    id: call.id ?? undefined,
    name: call.function?.name ?? call.custom?.name ?? 'a tool',
    input: call.function?.arguments ?? call.custom?.input ?? '',
  })),
  ...(function_call ? [{ id: undefined, name: function_call.name, input: function_call.arguments ?? '' }] : []),
];

const text = (words: string): PromptPart => ({ type: 'text', text: words });

/** What a client's own tools did, in words: nothing else of it could be told to an agent that lacks these tools. */
const createToolTeller = () => {
  const names = new Map<string, string>();
  return {
    called: (message: Message): readonly PromptPart[] =>
      callsOf(message).map(({ id, name, input }) => {
        if (id !== undefined) names.set(id, name);
        return text(`[called ${name}${input === '' ? '' : ` with ${input}`}]`);
      }),
    returned: ({ message, parts }: ReadMessage): readonly PromptPart[] => {
      const name = names.get(message.tool_call_id ?? '') ?? message.name ?? 'a tool';
      return [text(`[${name} returned]\n${textOfParts(parts)}`), ...filesOfParts(parts)];
    },
  };
};

type Voiced = { readonly role: HistoryMessage['role']; readonly parts: readonly PromptPart[] };

const voicedIn = (messages: readonly ReadMessage[]): readonly Voiced[] => {
  const tools = createToolTeller();
  return messages.map((read) => {
    const { message, parts } = read;
    if (message.role === 'user') return { role: 'user', parts };
    if (message.role !== 'assistant') return { role: 'assistant', parts: tools.returned(read) };
    const refusal = message.refusal ? [text(message.refusal)] : [];
    return { role: 'assistant', parts: [...parts, ...refusal, ...tools.called(message)] };
  });
};

const saidFrom = ({ role, parts }: Voiced): HistoryMessage => {
  const files = filesOfParts(parts);
  return { role, text: textOfParts(parts), ...(files.length === 0 ? {} : { files }) };
};

/** What one side said without the other in between is one thing said: as a prompt, and as an answer, it was one. */
const takingTurns = (voiced: readonly Voiced[]): readonly HistoryMessage[] => {
  const turns: { role: HistoryMessage['role']; parts: PromptPart[] }[] = [];
  for (const { role, parts } of voiced) {
    const last = turns.at(-1);
    const turn = last?.role === role ? last : { role, parts: [] };
    if (turn !== last) turns.push(turn);
    for (const part of parts) turn.parts.push(part);
  }
  return turns.map(saidFrom);
};

const isInstruction = ({ message }: ReadMessage): boolean => message.role === 'system' || message.role === 'developer';

/** Instructions, what was said before, and the user's words since the last answer; a fault where there are none. */
export const transcriptOf = (messages: readonly Message[]): Transcript => {
  if (messages.length === 0) throw badInput('empty_array', 'messages', "Expected at least one message at 'messages'");
  const read = messages.map((message, index) => ({
    message,
    parts: partsFrom(message.content, `messages[${index}].content`),
    index,
  }));
  const said = read.filter((one) => !isInstruction(one));
  const start = said.findLastIndex(({ message }) => message.role !== 'user') + 1;
  const last = said.at(-1);
  if (last === undefined) throw badInput('invalid_value', 'messages', "Expected a user message at 'messages'");
  if (start === said.length) {
    const at = `messages[${last.index}].role`;
    throw badInput('unsupported_value', at, `Expected the user's message to be the last one at '${at}'`);
  }
  const prompt = withTextsJoined(said.slice(start).flatMap(({ parts }) => parts));
  if (prompt.length === 0) {
    const at = `messages[${last.index}].content`;
    throw badInput('invalid_value', at, `Expected something to answer at '${at}': it is empty`);
  }
  const instructions = read.filter(isInstruction).map(({ parts }) => textOfParts(parts));
  return {
    system: instructions.filter((words) => words !== '').join('\n\n'),
    history: takingTurns(voicedIn(said.slice(0, start))),
    prompt,
  };
};

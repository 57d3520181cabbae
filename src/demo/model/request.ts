import * as v from 'valibot';

export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
    }
  | { readonly role: 'tool'; readonly id: string; readonly name: string; readonly text: string };

/** What a model is asked, whatever the dialect. */
export type Question = {
  readonly model: string;
  readonly system: string;
  readonly turns: readonly Turn[];
  /** The names of the tools that are offered. */
  readonly tools: readonly string[];
  readonly isStreamed: boolean;
};

const Words = v.fallback(v.string(), '');
const Block = v.looseObject({ type: Words, text: v.optional(Words, '') });
type Block = v.InferOutput<typeof Block>;
const Content = v.pipe(
  v.nullish(v.union([v.string(), v.array(Block)]), ''),
  v.transform((content): readonly Block[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  ),
);
const textOf = (content: readonly Block[]): string =>
  content
    .filter(({ type }) => type === 'text' || type === 'input_text' || type === 'output_text')
    .map(({ text }) => text)
    .join('\n');
const Names = v.fallback(v.array(v.looseObject({ name: Words })), []);
const Common = { model: v.string(), stream: v.nullish(v.boolean(), false) };

/** Results name only the call that they belong to. */
const withNames = (turns: readonly Turn[]): readonly Turn[] => {
  const names = new Map(
    turns.flatMap((turn) => (turn.role === 'assistant' ? turn.calls.map(({ id, name }) => [id, name] as const) : [])),
  );
  return turns.map((turn) => (turn.role === 'tool' ? { ...turn, name: names.get(turn.id) ?? '' } : turn));
};

const Chat = v.object({
  ...Common,
  messages: v.array(
    v.object({
      role: v.string(),
      content: Content,
      tool_call_id: v.optional(v.string(), ''),
      tool_calls: v.nullish(
        v.array(v.object({ id: v.string(), function: v.object({ name: v.string(), arguments: v.string() }) })),
        [],
      ),
    }),
  ),
  tools: v.nullish(v.array(v.object({ function: v.object({ name: v.string() }) })), []),
});

const readChat = (body: unknown): Question => {
  const { model, stream, messages, tools } = v.parse(Chat, body);
  const turnOf = (message: v.InferOutput<typeof Chat>['messages'][number]): Turn[] => {
    const text = textOf(message.content);
    if (message.role === 'user') return [{ role: 'user', text }];
    if (message.role === 'tool') return [{ role: 'tool', id: message.tool_call_id, name: '', text }];
    if (message.role !== 'assistant') return [];
    const calls = message.tool_calls.map(({ id, function: { name, arguments: given } }) => ({
      id,
      name,
      arguments: given,
    }));
    return [{ role: 'assistant', text, calls }];
  };
  const systems = messages.filter(({ role }) => role === 'system' || role === 'developer');
  return {
    model,
    system: systems.map(({ content }) => textOf(content)).join('\n'),
    turns: withNames(messages.flatMap(turnOf)),
    tools: tools.map((tool) => tool.function.name),
    isStreamed: stream,
  };
};

const Responses = v.object({
  ...Common,
  instructions: v.nullish(v.string(), ''),
  input: v.union([
    v.string(),
    v.array(
      v.looseObject({
        type: v.optional(Words, 'message'),
        role: v.optional(Words, ''),
        content: v.fallback(Content, []),
        call_id: v.optional(Words, ''),
        name: v.optional(Words, ''),
        arguments: v.optional(Words, ''),
        output: v.fallback(v.string(), ''),
      }),
    ),
  ]),
  tools: v.nullish(Names, []),
});

const readResponses = (body: unknown): Question => {
  const { model, stream, instructions, input, tools } = v.parse(Responses, body);
  const items = typeof input === 'string' ? [] : input;
  const turnOf = (item: (typeof items)[number]): Turn[] => {
    const { type, role, call_id: id, name } = item;
    if (type === 'function_call') {
      return [{ role: 'assistant', text: '', calls: [{ id, name, arguments: item.arguments }] }];
    }
    if (type === 'function_call_output') return [{ role: 'tool', id, name: '', text: item.output }];
    const text = textOf(item.content);
    if (role === 'user') return [{ role, text }];
    return role === 'assistant' ? [{ role, text, calls: [] }] : [];
  };
  const systems = items.filter(({ role }) => role === 'system' || role === 'developer');
  return {
    model,
    system: [instructions, ...systems.map(({ content }) => textOf(content))].filter((words) => words !== '').join('\n'),
    turns: typeof input === 'string' ? [{ role: 'user', text: input }] : withNames(items.flatMap(turnOf)),
    tools: tools.map(({ name }) => name),
    isStreamed: stream,
  };
};

const ToolUse = v.object({ type: v.literal('tool_use'), id: v.string(), name: v.string(), input: v.unknown() });
const ToolResult = v.object({ type: v.literal('tool_result'), tool_use_id: v.string(), content: Content });
const Messages = v.object({
  ...Common,
  system: Content,
  messages: v.array(v.object({ role: v.string(), content: Content })),
  tools: v.nullish(Names, []),
});

const blocksOf = <Schema extends v.GenericSchema>(schema: Schema, content: readonly Block[]): v.InferOutput<Schema>[] =>
  content.flatMap((block) => {
    const read = v.safeParse(schema, block);
    return read.success ? [read.output] : [];
  });

const readMessages = (body: unknown): Question => {
  const { model, stream, system, messages, tools } = v.parse(Messages, body);
  const turnsOf = ({ role, content }: (typeof messages)[number]): Turn[] => {
    const text = textOf(content);
    if (role === 'assistant') {
      const calls = blocksOf(ToolUse, content).map(({ id, name, input }) => ({ id, name, arguments: input }));
      return [{ role, text, calls }];
    }
    const results = blocksOf(ToolResult, content).map(
      (result): Turn => ({ role: 'tool', id: result.tool_use_id, name: '', text: textOf(result.content) }),
    );
    return text === '' ? results : [...results, { role: 'user', text }];
  };
  return {
    model,
    system: textOf(system),
    turns: withNames(messages.flatMap(turnsOf)),
    tools: tools.map(({ name }) => name),
    isStreamed: stream,
  };
};

/** How each dialect is read. They throw for a body that is none of theirs. */
export const READERS = { chat: readChat, responses: readResponses, messages: readMessages } as const;
export type DialectName = keyof typeof READERS;

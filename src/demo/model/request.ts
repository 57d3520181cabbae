import * as v from 'valibot';

/** One message of a conversation. */
export type DemoModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
    }
  | { readonly role: 'tool'; readonly id: string; readonly name: string; readonly text: string };

/** A request to a model, in no dialect. */
export type DemoModelRequest = {
  readonly model: string;
  readonly system: string;
  readonly turns: readonly DemoModelMessage[];
  /** The names of the offered tools. */
  readonly tools: readonly string[];
  readonly isStreamed: boolean;
};

/** A request as it was received. */
export type ReceivedRequest = DemoModelRequest & {
  readonly dialect: ModelDialect;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Whether the caller disconnected before the end of the answer. */
  readonly isAborted: () => boolean;
};

const Text = v.fallback(v.string(), '');
const Block = v.looseObject({ type: Text, text: v.optional(Text, '') });
type Block = v.InferOutput<typeof Block>;
const Content = v.pipe(
  v.nullish(v.union([v.string(), v.array(Block)]), ''),
  v.transform((content): readonly Block[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  ),
);
const joinText = (content: readonly Block[]): string =>
  content
    .filter(({ type }) => type === 'text' || type === 'input_text' || type === 'output_text')
    .map(({ text }) => text)
    .join('\n');
const Names = v.fallback(v.array(v.looseObject({ name: Text })), []);
const Common = { model: v.string(), stream: v.nullish(v.boolean(), false) };

/** Tool results name only their call; this adds the name of its tool. */
const addToolNames = (turns: readonly DemoModelMessage[]): readonly DemoModelMessage[] => {
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

const parseChatRequest = (body: unknown): DemoModelRequest => {
  const { model, stream, messages, tools } = v.parse(Chat, body);
  const turnOf = (message: v.InferOutput<typeof Chat>['messages'][number]): DemoModelMessage[] => {
    const text = joinText(message.content);
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
    system: systems.map(({ content }) => joinText(content)).join('\n'),
    turns: addToolNames(messages.flatMap(turnOf)),
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
        type: v.optional(Text, 'message'),
        role: v.optional(Text, ''),
        content: v.fallback(Content, []),
        call_id: v.optional(Text, ''),
        name: v.optional(Text, ''),
        arguments: v.optional(Text, ''),
        output: v.fallback(v.string(), ''),
      }),
    ),
  ]),
  tools: v.nullish(Names, []),
});

const parseResponsesRequest = (body: unknown): DemoModelRequest => {
  const { model, stream, instructions, input, tools } = v.parse(Responses, body);
  const items = typeof input === 'string' ? [] : input;
  const turnOf = (item: (typeof items)[number]): DemoModelMessage[] => {
    const { type, role, call_id: id, name } = item;
    if (type === 'function_call') {
      return [{ role: 'assistant', text: '', calls: [{ id, name, arguments: item.arguments }] }];
    }
    if (type === 'function_call_output') return [{ role: 'tool', id, name: '', text: item.output }];
    const text = joinText(item.content);
    if (role === 'user') return [{ role, text }];
    return role === 'assistant' ? [{ role, text, calls: [] }] : [];
  };
  const systems = items.filter(({ role }) => role === 'system' || role === 'developer');
  return {
    model,
    system: [instructions, ...systems.map(({ content }) => joinText(content))]
      .filter((words) => words !== '')
      .join('\n'),
    turns: typeof input === 'string' ? [{ role: 'user', text: input }] : addToolNames(items.flatMap(turnOf)),
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

const filterBlocks = <Schema extends v.GenericSchema>(
  schema: Schema,
  content: readonly Block[],
): v.InferOutput<Schema>[] =>
  content.flatMap((block) => {
    const read = v.safeParse(schema, block);
    return read.success ? [read.output] : [];
  });

const parseMessagesRequest = (body: unknown): DemoModelRequest => {
  const { model, stream, system, messages, tools } = v.parse(Messages, body);
  const turnsOf = ({ role, content }: (typeof messages)[number]): DemoModelMessage[] => {
    const text = joinText(content);
    if (role === 'assistant') {
      const calls = filterBlocks(ToolUse, content).map(({ id, name, input }) => ({ id, name, arguments: input }));
      return [{ role, text, calls }];
    }
    const results = filterBlocks(ToolResult, content).map(
      (result): DemoModelMessage => ({
        role: 'tool',
        id: result.tool_use_id,
        name: '',
        text: joinText(result.content),
      }),
    );
    return text === '' ? results : [...results, { role: 'user', text }];
  };
  return {
    model,
    system: joinText(system),
    turns: addToolNames(messages.flatMap(turnsOf)),
    tools: tools.map(({ name }) => name),
    isStreamed: stream,
  };
};

/** Parses the requests of each dialect. Throws for a body of another form. */
export const REQUEST_PARSERS = {
  chat: parseChatRequest,
  responses: parseResponsesRequest,
  messages: parseMessagesRequest,
} as const;
/** The APIs that the model serves. */
export type ModelDialect = keyof typeof REQUEST_PARSERS;

import fc from 'fast-check';
import type {
  AssistantMessage,
  MessageError,
  Tokens,
  ToolState,
  UserMessage,
} from '../../../src/agent/protocol/types.ts';
import { codePoint } from '../../code-points.ts';

/** Any JavaScript text: halves of surrogate pairs, control characters, and names that objects have of themselves. */
export const text = fc.oneof(
  fc.string({ unit: fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('\ud800', '\udfff', '\0', '"')) }),
  fc.constantFrom('constructor', '__proto__', 'toString'),
);

/** A time, in ms. */
export const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
const count = fc.nat(100_000);
/** A price. */
export const cost = fc.double({ min: 0, max: 100, noNaN: true }).map((value) => value + 0);

/** What JSON can hold, and what it holds the same when it is read back. */
export const named = fc
  .dictionary(text, fc.jsonValue())
  .map((value): Readonly<Record<string, unknown>> => JSON.parse(JSON.stringify(value)));

/** What a message took. */
export const tokens: fc.Arbitrary<Tokens> = fc.record({
  input: count,
  output: count,
  reasoning: count,
  cache: fc.record({ read: count, write: count }),
});

const spent = fc.record({ tokens, total: fc.option(count) }).map(({ tokens: held, total }) => ({
  ...held,
  ...(total === null ? {} : { total }),
}));

const finish = fc.constantFrom(
  'stop' as const,
  'length' as const,
  'tool-calls' as const,
  'content-filter' as const,
  'error' as const,
  'other' as const,
  'unknown' as const,
);

const error: fc.Arbitrary<MessageError> = fc.oneof(
  fc.record({
    name: fc.constant('ProviderAuthError' as const),
    data: fc.record({ providerID: text, message: text }),
  }),
  fc.record({
    name: fc.constant('UnknownError' as const),
    data: fc.record({ message: text, ref: text }, { requiredKeys: ['message'] }),
  }),
  fc.record({ name: fc.constant('MessageOutputLengthError' as const), data: fc.constant({}) }),
  fc.record({
    name: fc.constantFrom(
      'MessageAbortedError' as const,
      'ContextOverflowError' as const,
      'ContentFilterError' as const,
    ),
    data: fc.record({ message: text }),
  }),
  fc.record({
    name: fc.constant('APIError' as const),
    data: fc.record(
      { message: text, statusCode: count, isRetryable: fc.boolean() },
      { requiredKeys: ['message', 'isRetryable'] },
    ),
  }),
) as fc.Arbitrary<MessageError>;

const lasting = fc.record({ start: time, end: time });
const withText = fc.record({ start: time, end: time }, { requiredKeys: ['start'] });

const state: fc.Arbitrary<ToolState> = fc.oneof(
  fc.record({ status: fc.constant('pending' as const), input: named, raw: text }),
  fc.record(
    {
      status: fc.constant('running' as const),
      input: named,
      title: text,
      metadata: named,
      time: fc.record({ start: time }),
    },
    { requiredKeys: ['status', 'input', 'time'] },
  ),
  fc.record({
    status: fc.constant('completed' as const),
    input: named,
    output: text,
    title: text,
    metadata: named,
    time: lasting,
  }),
  fc.record(
    { status: fc.constant('error' as const), input: named, error: text, metadata: named, time: lasting },
    { requiredKeys: ['status', 'input', 'error', 'time'] },
  ),
);

/** A part without its place. */
const body = fc.oneof(
  fc.record(
    { type: fc.constant('text' as const), text, synthetic: fc.boolean(), metadata: named, time: withText },
    { requiredKeys: ['type', 'text'] },
  ),
  fc.record({ type: fc.constant('reasoning' as const), text, time: withText }),
  fc.record(
    {
      type: fc.constant('file' as const),
      mime: text,
      filename: text,
      url: text.map((data) => `data:text/plain,${data}`),
      metadata: named,
    },
    { requiredKeys: ['type', 'mime', 'url'] },
  ),
  fc.record({ type: fc.constant('tool' as const), callID: text, tool: text, state }),
  fc.record({ type: fc.constant('step-start' as const) }),
  fc.record({ type: fc.constant('step-finish' as const), reason: finish, cost, tokens: spent }),
  fc.record({ type: fc.constant('retry' as const), attempt: count, error, time: fc.record({ created: time }) }),
  fc.record({ type: fc.constant('compaction' as const), auto: fc.boolean() }),
);

const part = fc.record({ body, output: fc.option(text) });
type Loose<M> = Omit<M, 'id' | 'sessionID' | 'parentID'>;

const user: fc.Arbitrary<Loose<UserMessage>> = fc.record(
  {
    role: fc.constant('user' as const),
    time: fc.record({ created: time, resumed: time }, { requiredKeys: ['created'] }),
    agent: text,
    model: fc.record({ providerID: text, modelID: text, variant: text }, { requiredKeys: ['providerID', 'modelID'] }),
    system: text,
    tools: fc.dictionary(text, fc.boolean()).map((value) => JSON.parse(JSON.stringify(value))),
    clientTools: fc.record({
      tools: fc.array(fc.record({ name: text, description: text, inputSchema: named })),
      choice: fc.oneof(
        fc.constantFrom('auto' as const, 'required' as const, 'none' as const),
        fc.record({ name: text }),
      ),
      parallel: fc.boolean(),
    }),
  },
  { requiredKeys: ['role', 'time', 'agent', 'model'] },
);

const assistant: fc.Arbitrary<Loose<AssistantMessage>> = fc.record(
  {
    role: fc.constant('assistant' as const),
    mode: text,
    agent: text,
    modelID: text,
    providerID: text,
    variant: text,
    path: fc.record({ cwd: text, root: text }),
    time: fc.record({ created: time, completed: time }, { requiredKeys: ['created'] }),
    cost,
    tokens: spent,
    finish,
    error,
    summary: fc.boolean(),
  },
  { requiredKeys: ['role', 'mode', 'agent', 'modelID', 'providerID', 'path', 'time', 'cost', 'tokens'] },
);

/** A message that is complete has no call that runs. */
export const message = fc
  .record({ info: fc.oneof(user, assistant), parts: fc.array(part, { maxLength: 4 }) })
  .map(({ info, parts }) => {
    const isOpen = info.role === 'assistant' && info.time.completed === undefined;
    return {
      info,
      parts: isOpen ? parts : parts.filter((one) => !/"status":"(?:pending|running)"/.test(JSON.stringify(one))),
    };
  });

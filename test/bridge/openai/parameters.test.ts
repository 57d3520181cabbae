import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { parseChatRequest } from '../../../src/bridge/openai/chat/request.ts';
import { parseCompletionRequest } from '../../../src/bridge/openai/completions.ts';
import { parseResponsesRequest } from '../../../src/bridge/openai/responses/request.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import { read } from '../../docs/pages.ts';

// The tables of parameters in docs/bridge.md, held against two sources: the types that OpenAI publishes for its clients (a new
// parameter there turns this red), and what the bridge does with a value that is not the default.

type Members = Readonly<Record<string, unknown>>;
type Api = {
  /** The heading on the page, and the column of its table. */
  readonly table: readonly [heading: string, column: number];
  readonly file: string;
  /** Interfaces of the published types, by the path of their members in a body. */
  readonly interfaces: Readonly<Record<string, string>>;
  readonly required: Members;
  readonly parse: (body: Members) => Members & { readonly ignored: readonly string[] };
  /** For each parameter a value that would change an answer of OpenAI's, or its cost, storage or form. */
  readonly samples: Readonly<Record<string, unknown>>;
  /** What a sample needs beside it. */
  readonly beside: Readonly<Record<string, Members>>;
};

const FUNCTION_TOOL = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const CHAT_TOOLS = { tools: [{ type: 'function', function: { name: 'look' } }] };
const SHARED_SAMPLES = {
  metadata: { purpose: 'test' },
  model: 'acme/large',
  parallel_tool_calls: false,
  prompt_cache_key: 'chat-1',
  prompt_cache_options: { mode: 'explicit' },
  prompt_cache_retention: '24h',
  safety_identifier: 'user-1',
  service_tier: 'flex',
  store: false,
  stream: true,
  'stream_options.include_obfuscation': false,
  temperature: 0.2,
  top_logprobs: 3,
  top_p: 0.5,
  user: 'user-1',
};

const APIS: Readonly<Record<'chat completions' | 'responses' | 'completions', Api>> = {
  'chat completions': {
    table: ['Parameters', 0],
    file: 'chat/completions/completions.d.ts',
    interfaces: { '': 'ChatCompletionCreateParamsBase', stream_options: 'ChatCompletionStreamOptions' },
    required: { messages: [{ role: 'user', content: 'Hello' }] },
    parse: (body) => parseChatRequest(body, new Headers()),
    samples: {
      ...SHARED_SAMPLES,
      audio: { format: 'mp3', voice: 'alloy' },
      frequency_penalty: 1,
      function_call: { name: 'look' },
      functions: [{ name: 'look' }],
      logit_bias: { 50256: -100 },
      logprobs: true,
      max_completion_tokens: 10,
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Something else' }],
      modalities: ['text', 'audio'],
      moderation: { model: 'omni-moderation-latest' },
      n: 2,
      prediction: { type: 'content', content: 'Hello' },
      presence_penalty: 1,
      reasoning_effort: 'high',
      response_format: { type: 'json_object' },
      seed: 7,
      stop: ['.'],
      'stream_options.include_usage': true,
      tool_choice: 'required',
      tools: [{ type: 'function', function: { name: 'look' } }],
      verbosity: 'low',
      web_search_options: {},
    },
    beside: { parallel_tool_calls: CHAT_TOOLS, tool_choice: CHAT_TOOLS },
  },
  responses: {
    table: ['Parameters', 1],
    file: 'responses/responses.d.ts',
    interfaces: {
      '': 'ResponseCreateParamsBase',
      reasoning: 'Reasoning',
      stream_options: 'StreamOptions',
      text: 'ResponseTextConfig',
    },
    required: { input: 'Hello' },
    parse: (body) => parseResponsesRequest(body, new Headers()),
    samples: {
      ...SHARED_SAMPLES,
      access_programs: { program: 'a' },
      background: true,
      context_management: [{ type: 'compaction' }],
      conversation: 'my-chat',
      image: { quality: 'high' },
      include: ['message.output_text.logprobs'],
      input: 'Something else',
      instructions: 'Be brief.',
      max_output_tokens: 10,
      max_tool_calls: 1,
      moderation: { model: 'omni-moderation-latest' },
      previous_response_id: 'resp_1',
      prompt: { id: 'pmpt_1' },
      'reasoning.context': 'all_turns',
      'reasoning.effort': 'high',
      'reasoning.generate_summary': 'detailed',
      'reasoning.mode': 'pro',
      'reasoning.summary': 'detailed',
      'text.format': { type: 'json_object' },
      'text.verbosity': 'low',
      tool_choice: 'required',
      tools: [FUNCTION_TOOL],
      truncation: 'auto',
    },
    beside: { parallel_tool_calls: { tools: [FUNCTION_TOOL] }, tool_choice: { tools: [FUNCTION_TOOL] } },
  },
  completions: {
    table: ['Completions', 0],
    file: 'completions.d.ts',
    interfaces: { '': 'CompletionCreateParamsBase', stream_options: 'ChatCompletionStreamOptions' },
    required: { prompt: 'Hello' },
    parse: (body) => parseCompletionRequest(body, new Headers()),
    samples: {
      best_of: 2,
      echo: true,
      frequency_penalty: 1,
      logit_bias: { 50256: -100 },
      logprobs: 3,
      max_tokens: 10,
      model: 'acme/large',
      n: 2,
      presence_penalty: 1,
      prompt: 'Something else',
      seed: 7,
      stop: ['.'],
      stream: true,
      'stream_options.include_obfuscation': false,
      'stream_options.include_usage': true,
      suffix: 'world',
      temperature: 0.2,
      top_p: 0.5,
      user: 'user-1',
    },
    beside: {},
  },
};

const RESOURCES = fileURLToPath(new URL('../../../node_modules/openai/resources/', import.meta.url));
const SHARED_FILES = ['shared.d.ts', 'chat/completions/completions.d.ts'].map((name) => RESOURCES + name);

/** The names of an interface's members. */
const membersOf = (types: string, name: string): readonly string[] => {
  // Those in a namespace are indented; a name may be used at both levels.
  const [, indent = '', body = ''] =
    ['', '    ']
      .map((indent) =>
        new RegExp(`^(${indent})(?:export )?interface ${name} \\{\\n([^]*?)\\n${indent}\\}`, 'm').exec(types),
      )
      .find((match) => match !== null) ?? [];
  const members = [...body.matchAll(new RegExp(`^${indent} {4}(\\w+)\\??:`, 'gm'))].map(([, member = '']) => member);
  assert.ok(members.length > 0, `the types of the package openai have no ${name}`);
  return members;
};

/** All parameters of the published types, those of nested objects by their path. */
const publishedParameters = ({ file, interfaces }: Api): readonly string[] => {
  const types = [RESOURCES + file, ...SHARED_FILES].map((path) => readFileSync(path, 'utf8')).join('\n');
  const paths = Object.entries(interfaces).flatMap(([at, name]) =>
    membersOf(types, name).map((member) => (at === '' ? member : `${at}.${member}`)),
  );
  return paths.filter((path) => !(path in interfaces)).sort();
};

const bodyWith = (required: Members, path: string, value: unknown): Members => {
  const [name = '', inner] = path.split('.');
  return { ...required, [name]: inner === undefined ? value : { [inner]: value } };
};

/** A parsed request as JSON, without the values that a response only repeats. */
const effectOf = ({ echo, ...request }: Members): string => {
  const { background, conversation, instructions, metadata, previous_response_id, store } = (echo ?? {}) as Members;
  return JSON.stringify([request, { background, conversation, instructions, metadata, previous_response_id, store }]);
};

/** What the bridge does with a parameter. `accepted`: it is neither used nor named, as it changes no answer at OpenAI either. */
const outcomeOf = ({ parse, required, samples, beside }: Api, path: string): string => {
  try {
    const parsed = parse(bodyWith({ ...required, ...beside[path] }, path, samples[path]));
    if (parsed.ignored.includes(path)) return 'ignored';
    return effectOf(parsed) === effectOf(parse({ ...required, ...beside[path] })) ? 'accepted' : 'supported';
  } catch (error) {
    const isRefusal = error instanceof Fault && error.detail.kind === 'bad-input' && error.detail.param === path;
    if (!isRefusal) throw error;
    return 'refused';
  }
};

/** The rows of the page: the outcome of each parameter that the API has. */
const rowsOfPage = ({ table: [heading, column] }: Api): ReadonlyMap<string, string> => {
  const section = read('docs/bridge.md').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = [...section.matchAll(/^\| `([\w.]+)` \| (\w+) \|(?: (\w+) \|)?/gm)];
  const outcomes = rows.map(([, name = '', ...columns]) => [name, columns[column] ?? ''] as const);
  return new Map(outcomes.filter(([, outcome]) => outcome !== 'none'));
};

describe('the table of parameters', (check) => {
  for (const [name, api] of Object.entries(APIS)) {
    check(`has each parameter of ${name} that OpenAI publishes, and a value for it here`, () => {
      const published = publishedParameters(api);
      assert.equal(Object.keys(api.samples).sort(), published);
      assert.equal([...rowsOfPage(api).keys()].sort(), published);
    });

    check(`says what the bridge does with those of ${name}`, () => {
      const rows = rowsOfPage(api);
      for (const path of Object.keys(api.samples)) assert.is(rows.get(path), outcomeOf(api, path), path);
    });
  }
});

import * as assert from 'uvu/assert';
import { parseChatRequest } from '../../../src/bridge/openai/chat/request.ts';
import { parseCompletionRequest } from '../../../src/bridge/openai/completions.ts';
import { parseResponsesRequest } from '../../../src/bridge/openai/responses/request.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

type Body = Readonly<Record<string, unknown>>;
/** By parameter: values that are taken, those of another type, and those that are too small or too large. */
type Table = Readonly<Record<string, readonly [taken: unknown[], otherTypes: unknown[], outOfRange: unknown[]]>>;

const NO_TEXT = [1, true, [], {}];
const NO_NUMBER = ['hot', '1', true, [1], {}];
const PENALTY = [[-2, -0.5, 0, 2], NO_NUMBER, [-2.1, 3]] as const;
const AMOUNT = [[0, 1, 16, 1_000_000], [...NO_NUMBER, 1.5], [-1]] as const;
const FLAG = [[true, false], ['true', 1, [], {}], []] as const;
const TEXT = [['auto', 'of another maker'], NO_TEXT, []] as const;
const LIST = [[[], ['text']], ['text', 1, {}], []] as const;
const OBJECT = [[{}, { type: 'other' }], ['x', 1, true, []], []] as const;

const SAMPLING = {
  temperature: [[0, 0.7, 2], NO_NUMBER, [-0.1, 2.1]],
  top_p: [[0, 0.5, 1], NO_NUMBER, [-0.1, 1.1]],
} as const;
const COMPLETION = {
  ...SAMPLING,
  frequency_penalty: PENALTY,
  presence_penalty: PENALTY,
  max_tokens: AMOUNT,
  seed: [[-1, 0, 7], [...NO_NUMBER, 1.5], []],
  stop: [['.', [], ['a', 'b', 'c', 'd', 'e']], [1, true, [1], {}], []],
  logit_bias: [[{}, { 50256: -100 }], ['x', [], { 1: 'much' }], [{ 1: 101 }]],
} as const;

const ENDPOINTS: Readonly<Record<string, readonly [parse: (body: Body) => unknown, table: Table]>> = {
  'chat completions': [
    (body) => parseChatRequest({ messages: [{ role: 'user', content: 'Hi' }], ...body }, new Headers()),
    {
      ...COMPLETION,
      audio: OBJECT,
      functions: [[[]], ['x', 1, {}], []],
      logprobs: FLAG,
      max_completion_tokens: AMOUNT,
      modalities: LIST,
      parallel_tool_calls: FLAG,
      prediction: OBJECT,
      service_tier: TEXT,
      top_logprobs: [
        [0, 20],
        [...NO_NUMBER, 1.5],
        [-1, 21],
      ],
      verbosity: TEXT,
      web_search_options: OBJECT,
    } as unknown as Table,
  ],
  completions: [
    (body) => parseCompletionRequest({ prompt: 'Hi', ...body }, new Headers()),
    {
      ...COMPLETION,
      best_of: [[1, 20], NO_NUMBER, [-1, 21]],
      logprobs: [
        [0, 5],
        [...NO_NUMBER, 1.5],
        [-1, 6],
      ],
    } as unknown as Table,
  ],
  responses: [
    (body) => parseResponsesRequest({ input: 'Hi', ...body }, new Headers()),
    {
      ...SAMPLING,
      include: LIST,
      max_output_tokens: AMOUNT,
      max_tool_calls: AMOUNT,
      parallel_tool_calls: FLAG,
      service_tier: TEXT,
      text: [[{}, { verbosity: 'low' }], ['x', 1, true, []], []],
      top_logprobs: [
        [0, 20],
        [...NO_NUMBER, 1.5],
        [-1, 21],
      ],
      truncation: TEXT,
    } as unknown as Table,
  ],
};

describe('a value of a parameter', (check) => {
  for (const [name, [parse, table]] of Object.entries(ENDPOINTS)) {
    check(`of ${name} is refused where its type or its range is another one, and taken else`, () => {
      for (const [parameter, [taken, otherTypes, outOfRange]] of Object.entries(table)) {
        const refused = (value: unknown) => refusalOf(() => parse({ [parameter]: value }));
        for (const value of [...taken, null]) parse({ [parameter]: value });
        for (const value of otherTypes) assert.is(refused(value), `invalid_type at ${parameter}`, String(value));
        for (const value of outOfRange) assert.is(refused(value), `invalid_value at ${parameter}`, String(value));
      }
    });

    check(`of ${name} is ignored where the parameter is unknown`, () => {
      parse({ top_k: 'hot', min_p: -5, options: { num_ctx: 'x' }, user: 17 });
    });
  }
});

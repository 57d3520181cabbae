import * as assert from 'uvu/assert';
import { parseMember } from '../../../src/bridge/openai/body.ts';
import { parseChatRequest } from '../../../src/bridge/openai/chat/request.ts';
import {
  CompletionRequestBody,
  createCompletion,
  createCompletionEncoder,
  parseCompletionRequest,
} from '../../../src/bridge/openai/completions.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe } from '../../check.ts';
import {
  ended,
  failed,
  type Reported,
  ranTool,
  refusalOf,
  reporting,
  textEvents,
  thought,
} from '../harness/recorded-outputs.ts';

const HEADERS = { 'x-session-id': 'chat-1' };
const asked = (body: Record<string, unknown>) => parseCompletionRequest(body, new Headers(HEADERS));
const refused = (body: unknown) => refusalOf(() => parseCompletionRequest(body, new Headers()));

describe('a completion request', (check) => {
  check('is a chat with the prompt as its only message, also if that is the only one of a list', () => {
    const members = { model: 'acme/small', stream: true, stream_options: { include_usage: true }, max_tokens: 16 };
    const messages = [{ role: 'user', content: 'Hello' }];
    const chat = parseChatRequest({ ...members, messages }, new Headers(HEADERS));
    assert.equal(asked({ ...members, prompt: 'Hello' }), chat);
    assert.equal(asked({ ...members, prompt: ['Hello'] }), chat);
  });

  check('needs one text as its prompt', () => {
    assert.is(refused({}), 'missing_required_parameter at prompt');
    for (const prompt of [null, 5, {}]) assert.is(refused({ prompt }), 'invalid_type at prompt');
    for (const prompt of ['', ' ', [], [''], [null], [{}]])
      assert.is(refused({ prompt }), 'invalid_value at prompt', JSON.stringify(prompt));
    for (const prompt of [['a', 'b'], [1, 2], [[1, 2]]])
      assert.is(refused({ prompt }), 'unsupported_value at prompt', JSON.stringify(prompt));
  });

  check('of many tokens is refused without a look at each', () => {
    let reads = 0;
    const prompt = new Proxy(Array(1000).fill(1), {
      get(list, name) {
        reads += 1;
        return Reflect.get(list, name);
      },
    });
    parseMember(CompletionRequestBody, { prompt });
    assert.ok(reads < 10, `${reads} reads`);
  });

  check('is refused where it asks for a text that no answer here has', () => {
    assert.is(refused({ prompt: 'Hello', echo: true }), 'unsupported_value at echo');
    assert.is(refused({ prompt: 'Hello', suffix: 'world' }), 'unsupported_value at suffix');
    assert.is(refused({ prompt: 'Hello', n: 2 }), 'unsupported_value at n');
    const nothing = { echo: false, suffix: '', n: 1, best_of: 1, logprobs: null };
    assert.equal(asked({ prompt: 'Hello', ...nothing }), asked({ prompt: 'Hello' }));
  });

  check('takes no messages and no tools', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }];
    const forced = { tools, tool_choice: 'required', messages: 5, response_format: { type: 'json_object' } };
    assert.equal(asked({ prompt: 'Hello', ...forced }), asked({ prompt: 'Hello' }));
  });
});

const FACTS = { id: 'cmpl-1', model: 'acme/small', createdSeconds: 1_700_000_000, fingerprint: 'fp_1' };
const ANSWER = [thought('r', 'Hm.'), textEvents('a', 'I ', 'look.'), ranTool('search'), textEvents('b', 'Five.')];

describe('a completion in one piece', (check) => {
  check('has the text of the whole turn, without reasoning and calls, and what it cost', async () => {
    const output = reporting(...ANSWER, ended({ finish: 'length' }));
    assert.equal(await createCompletion(output, FACTS), {
      id: 'cmpl-1',
      object: 'text_completion',
      created: 1_700_000_000,
      model: 'acme/small',
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      choices: [{ index: 0, text: 'I look.\n\nFive.', logprobs: null, finish_reason: 'length' }],
      usage: {
        prompt_tokens: 30,
        completion_tokens: 7,
        total_tokens: 37,
        prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });
});

const encoderOf = (includeUsage: boolean) =>
  createCompletionEncoder({
    ...FACTS,
    includeUsage,
  });

/** The data of the events, parsed where it is JSON. */
const streamed = (outputEvents: readonly Reported[], includeUsage = false): readonly unknown[] => {
  const encoder = encoderOf(includeUsage);
  return outputEvents
    .flat()
    .flatMap((event) => encoder.eventsFor(event))
    .map((encoded) => ('data' in encoded && encoded.data !== '[DONE]' ? JSON.parse(encoded.data) : '[DONE]'));
};
const opening = {
  ...{ id: 'cmpl-1', object: 'text_completion', created: 1_700_000_000, model: 'acme/small' },
  ...{ service_tier: 'default', system_fingerprint: 'fp_1' },
};
const chunk = (text: string, finish: string | null = null) => ({
  ...opening,
  choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
});

describe('a streamed completion', (check) => {
  check('is its text in pieces, then why it ended', () => {
    assert.equal(streamed([...ANSWER, ended()]), [
      chunk('I '),
      chunk('look.'),
      chunk('\n\nFive.'),
      chunk('', 'stop'),
      '[DONE]',
    ]);
  });

  check('ends with what it cost, if asked to', () => {
    const events = streamed([textEvents('a', 'Hi'), ended()], true);
    assert.equal(events[0], { ...chunk('Hi'), usage: null });
    const { choices, usage } = events[2] as { choices: readonly unknown[]; usage: { total_tokens: number } };
    assert.equal([choices, usage.total_tokens, events[3]], [[], 37, '[DONE]']);
  });

  check('ends with the error of an answer that failed', async () => {
    const encoder = encoderOf(false);
    let error: unknown;
    try {
      encoder.eventsFor(failed());
    } catch (thrown) {
      error = thrown;
    }
    assert.instance(error, Fault);
    const [event] = await encoder.errorEvents(error);
    assert.match(JSON.stringify(event), 'model_error');
  });
});

import * as assert from 'uvu/assert';
import { parseMember } from '../../../../src/bridge/openai/body.ts';
import { parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { CompletionRequestBody, parseCompletionRequest } from '../../../../src/bridge/openai/completions.ts';
import { describe } from '../../../check.ts';
import { refusalOf } from '../../harness/recorded-outputs.ts';

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

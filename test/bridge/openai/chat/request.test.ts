import * as assert from 'uvu/assert';
import { parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { describe } from '../../../check.ts';
import { refusalOf } from '../../harness/recorded-outputs.ts';

const HELLO = { role: 'user', content: 'Hello' };

const asked = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  parseChatRequest({ messages: [HELLO], ...body }, new Headers(headers));
const refused = (body: unknown, headers: Record<string, string> = {}) =>
  refusalOf(() => parseChatRequest(body, new Headers(headers)));
const refusedWith = (members: Record<string, unknown>) => refused({ messages: [HELLO], ...members });

describe('a chat completion request', (check) => {
  check('says what it wishes for', () => {
    const {
      model,
      isStreamed,
      includeUsage,
      effort,
      isStored: isKept,
    } = asked({
      model: 'acme/small',
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'high',
      store: false,
    });
    assert.equal([model, isStreamed, includeUsage, effort, isKept], ['acme/small', true, true, 'high', false]);
  });

  check('wishes for nothing where a member is null', () => {
    const members = ['model', 'stream', 'stream_options', 'reasoning_effort', 'store', 'n', 'tools', 'tool_choice'];
    const others = ['metadata', 'session_id', 'prompt_cache_key', 'temperature', 'response_format', 'function_call'];
    const nothing = Object.fromEntries([...members, ...others].map((name) => [name, null]));
    assert.equal(asked(nothing), asked({}));
  });

  check('is of the default model when it names none, and of no effort when that is none', () => {
    assert.is(asked({ model: ' ' }).model, undefined);
    assert.is(asked({ reasoning_effort: 'none' }).effort, undefined);
    assert.is(asked({ reasoning_effort: '' }).effort, undefined);
  });

  check('carries its conversation and its approval', () => {
    const { conversation: place, approval: verdict } = asked(
      {},
      { 'x-session-id': 'one', 'x-approval': 'approve abc123' },
    );
    assert.equal(place, { kind: 'named', id: 'one', isIncremental: true });
    assert.equal(verdict, { isApproved: true, ids: ['abc123'] });
  });

  check('that is a job of a front end belongs to no conversation', () => {
    const job = '### Task:\nName it.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>';
    const { isBackgroundTask: isTask, conversation: place } = asked(
      { messages: [{ role: 'user', content: job }] },
      { 'x-session-id': 'one' },
    );
    assert.is(isTask, true);
    assert.equal(place, { kind: 'unnamed' });
  });

  check('that goes on with a conversation is no such job, whatever it says', () => {
    const words = 'Analyze this conversation and provide:\n1. The detected language of the conversation\n';
    const alone = { role: 'user', content: words };
    assert.is(asked({ messages: [alone] }).isBackgroundTask, true);
    assert.is(asked({ messages: [HELLO, { role: 'assistant', content: 'Hi' }, alone] }).isBackgroundTask, false);
  });

  check('does not name members no one knows, nor who the user is', () => {
    assert.equal(asked({ user: 'u', safety_identifier: 's', frobnicate: 1, metadata: { a: 'b' } }).ignored, []);
  });

  check('does not name what asks for nothing', () => {
    const neutral = {
      frequency_penalty: 0,
      function_call: 'auto',
      functions: [],
      logit_bias: {},
      logprobs: false,
      modalities: ['text'],
      n: 1,
      parallel_tool_calls: true,
      presence_penalty: 0,
      response_format: { type: 'text' },
      service_tier: 'auto',
      stop: [],
      temperature: 1,
      tool_choice: 'none',
      tools: [],
      top_p: 1,
    };
    assert.equal(asked(neutral).ignored, []);
  });

  check('is refused for wanting several answers', () => {
    assert.is(refusedWith({ n: 2 }), 'unsupported_value at n');
    assert.is(refusedWith({ n: 0 }), 'unsupported_value at n');
  });

  check('is refused for wanting a tool of its own called, and not for leaving that open', () => {
    const named = { type: 'function', function: { name: 'f' } };
    const allowed = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [] } });
    assert.is(refusedWith({ tool_choice: 'required' }), 'unsupported_value at tool_choice');
    assert.is(refusedWith({ tool_choice: named }), 'unsupported_value at tool_choice');
    assert.is(refusedWith({ tool_choice: allowed('required') }), 'unsupported_value at tool_choice');
    assert.is(refusedWith({ function_call: { name: 'f' } }), 'unsupported_value at function_call');
    for (const free of ['auto', 'none', allowed('auto')])
      assert.is(asked({ tool_choice: free }).isBackgroundTask, false);
  });

  check('is refused by its place when a type is wrong', () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [undefined, 'invalid_type at null'],
      [null, 'invalid_type at null'],
      ['text', 'invalid_type at null'],
      [[HELLO], 'invalid_type at null'],
      [{}, 'missing_required_parameter at messages'],
      [{ messages: null }, 'invalid_type at messages'],
      [{ messages: 'Hello' }, 'invalid_type at messages'],
      [{ messages: [] }, 'empty_array at messages'],
      [{ messages: ['Hello'] }, 'invalid_type at messages[0]'],
      [{ messages: [HELLO, { content: 'x' }] }, 'missing_required_parameter at messages[1].role'],
      [{ messages: [{ role: 'robot', content: 'x' }] }, 'invalid_value at messages[0].role'],
      [{ messages: [HELLO, HELLO, { role: 'user', content: 3 }] }, 'invalid_type at messages[2].content'],
      [
        { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
        'missing_required_parameter at messages[0].content[0].text',
      ],
      [
        { messages: [{ role: 'user', content: [{ type: 'text', text: 3 }] }] },
        'invalid_type at messages[0].content[0].text',
      ],
      [{ messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'invalid_value at messages[0].content[0].type'],
      [{ messages: [{ role: 'user', content: ['x'] }] }, 'invalid_type at messages[0].content[0]'],
      [
        { messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: '{}' } }] }, HELLO] },
        'missing_required_parameter at messages[0].tool_calls[0].function.name',
      ],
    ];
    for (const [body, refusal] of cases) assert.is(refused(body), refusal, JSON.stringify(body));
    assert.is(refusedWith({ model: 3 }), 'invalid_type at model');
    assert.is(refusedWith({ stream: 'yes' }), 'invalid_type at stream');
    assert.is(refusedWith({ stream_options: { include_usage: 1 } }), 'invalid_type at stream_options.include_usage');
    assert.is(refusedWith({ store: 0 }), 'invalid_type at store');
    assert.is(refusedWith({ n: '1' }), 'invalid_type at n');
    assert.is(refusedWith({ reasoning_effort: {} }), 'invalid_type at reasoning_effort');
  });

  check('is never quoted in a refusal', () => {
    const secret = 'sk-very-secret-value';
    const bodies = [
      { messages: secret },
      { messages: [{ role: secret, content: 'x' }] },
      { messages: [{ role: 'user', content: [{ type: secret }] }] },
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: secret } }] }] },
      {
        messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: secret, format: secret } }] }],
      },
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data: secret } }] }] },
      { messages: [HELLO], n: secret },
      { messages: [HELLO], tool_choice: secret },
      { messages: [HELLO], session_id: `${secret}\u0000` },
      { messages: [HELLO], metadata: secret },
    ];
    for (const body of bodies) {
      try {
        parseChatRequest(body, new Headers());
        assert.unreachable();
      } catch (thrown) {
        assert.not.match(JSON.stringify(thrown), secret);
        assert.match(JSON.stringify(thrown), 'bad-input');
      }
    }
  });
});

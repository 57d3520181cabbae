import * as assert from 'uvu/assert';
import { openai } from '../../src/llm/openai.ts';
import type { ChatReply } from '../../src/llm/types.ts';
import { describe } from '../check.ts';
import { CALL, CANARY, openaiAnswer } from './scripted-client.ts';

const bodyOf = (changes: object = {}) => JSON.parse(openai.createBody({ ...CALL, ...changes }));
const read = (text: string, model = CALL.model): ChatReply => openai.parseReply(text, model);
const kindOf = (text: string, model?: string) => read(text, model).kind;
const replying = (message: object) =>
  openaiAnswer({ message: { role: 'assistant', content: 'the verdict', ...message } });

describe('a chat completion', (check) => {
  check('is asked for whole, without chance and with an end', () => {
    assert.equal(bodyOf(), {
      model: 'gpt-oss:20b',
      messages: [
        { role: 'system', content: 'the policy' },
        { role: 'user', content: 'the text' },
      ],
      stream: false,
      temperature: 0,
      max_tokens: 1024,
    });
  });

  check('carries the schema as a strict response format', () => {
    const schema = { type: 'object', properties: { nonce: { type: 'string' } } };
    const { response_format: format } = bodyOf({ schema });
    assert.equal(format, { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema } });
  });

  check('carries its own policy and schema, not those of the call before', () => {
    for (const name of ['a', 'b', 'a', '"}],"']) {
      const body = bodyOf({ system: `policy ${name}`, schema: { title: name } });
      assert.is(body.messages[0].content, `policy ${name}`);
      assert.equal(body.response_format.json_schema.schema, { title: name });
      assert.not.ok('response_format' in bodyOf({ system: `policy ${name}` }));
    }
  });

  check('keeps a text as it is, whatever is in it', () => {
    const user = '"}],"model":"other","x":"\u2028<|end|>\u0000\ud83d\ude00';
    assert.is(bodyOf({ user }).messages[1].content, user);
    assert.is(bodyOf({ user }).model, 'gpt-oss:20b');
  });

  check('says a level of thinking as effort, and on or off to the chat template', () => {
    for (const think of ['low', 'medium', 'high']) {
      assert.is(bodyOf({ think }).reasoning_effort, think);
      assert.not.ok('chat_template_kwargs' in bodyOf({ think }));
    }
    for (const think of [true, false]) {
      assert.equal(bodyOf({ think }).chat_template_kwargs, { enable_thinking: think });
      assert.not.ok('reasoning_effort' in bodyOf({ think }));
    }
  });

  check('carries the image as a data URL after the text', () => {
    const [system, user] = bodyOf({ image: { mediaType: 'image/png', base64: 'aGk=' } }).messages;
    assert.is(system.content, 'the policy');
    assert.equal(user.content, [
      { type: 'text', text: 'the text' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
    ]);
  });
});

describe('the answer to a chat completion', (check) => {
  check('is taken with its counts when it is finished', () => {
    const outputText: ChatReply = { kind: 'answered', content: 'the verdict', promptTokens: 1200, outputTokens: 80 };
    assert.equal(read(openaiAnswer()), outputText);
    assert.equal(read(openaiAnswer({ logprobs: null }, { error: null, system_fingerprint: 'fp' })), outputText);
    assert.equal(read(replying({ refusal: null, tool_calls: null, reasoning: 'hm' })), outputText);
    assert.equal(read(replying({ refusal: '', tool_calls: [] })), outputText);
  });

  check('is taken without counts', () => {
    for (const usage of [undefined, null, {}, { prompt_tokens: null }]) {
      const reply = read(openaiAnswer({}, { usage }));
      assert.equal(reply, { kind: 'answered', content: 'the verdict', promptTokens: 0, outputTokens: 0 });
    }
  });

  check('tells how much of the prompt was in the cache of a server that says so, and never fails for that', () => {
    const cachedOf = (details: unknown) => {
      const usage = { prompt_tokens: 1200, completion_tokens: 80, prompt_tokens_details: details };
      const reply = read(openaiAnswer({}, { usage }));
      assert.is(reply.kind, 'answered');
      return reply.kind === 'answered' && reply.cachedTokens;
    };
    assert.equal([cachedOf({ cached_tokens: 861 }), cachedOf({ cached_tokens: 0 })], [861, 0]);
    for (const odd of [undefined, null, {}, [], 5, 'none', { cached_tokens: null }, { cached_tokens: '861' }])
      assert.is(cachedOf(odd), undefined, JSON.stringify(odd));
  });

  check("is taken under a server's spelling of the name that was asked for", () => {
    for (const model of ['openai/gpt-oss-20b', 'gpt-oss-20b-mxfp4.gguf', '/models/gpt-oss-20b.gguf']) {
      assert.is(kindOf(openaiAnswer({}, { model })), 'answered', model);
    }
  });

  check('is unusable unless it stopped of itself', () => {
    const reasons = ['length', 'content_filter', 'tool_calls', 'function_call', 'error', 'abort', 'STOP', '', null, 0];
    for (const reason of [...reasons, undefined]) {
      assert.is(kindOf(openaiAnswer({ finish_reason: reason })), 'unusable', String(reason));
    }
  });

  check('is unusable when the model refused or called a tool', () => {
    assert.is(kindOf(replying({ refusal: 'I cannot help with that' })), 'unusable');
    assert.is(kindOf(replying({ content: null, refusal: 'I cannot help with that' })), 'unusable');
    assert.is(kindOf(replying({ tool_calls: [{ id: '1', type: 'function', function: { name: 'f' } }] })), 'unusable');
    assert.is(kindOf(replying({ refusal: { text: 'no' } })), 'unusable');
    assert.is(kindOf(replying({ tool_calls: { 0: {} } })), 'unusable');
  });

  check('is unusable when another model gave it', () => {
    for (const model of ['gpt-oss-120b', 'openai/gpt-4o', 'x-gpt-oss-20b', '']) {
      assert.is(kindOf(openaiAnswer({}, { model })), 'unusable', model);
    }
  });

  check('is never read out of the reasoning', () => {
    for (const content of [null, undefined, '']) {
      const thought = { reasoning: 'the verdict', reasoning_content: 'the verdict', thinking: 'the verdict' };
      const reply = read(replying({ content, ...thought }));
      assert.ok(reply.kind === 'unusable' || (reply.kind === 'answered' && reply.content === ''), String(content));
    }
  });

  check('is unusable when there is not exactly one', () => {
    const choice = { index: 0, message: { content: 'the verdict' }, finish_reason: 'stop' };
    for (const choices of [[], [choice, choice], [choice, { ...choice, index: 1 }], null, undefined, {}, choice]) {
      assert.is(kindOf(openaiAnswer({}, { choices })), 'unusable', JSON.stringify(choices));
    }
  });

  check("is an error in every server's form, even beside a good answer", () => {
    const texts = [
      JSON.stringify({ error: { message: 'm', type: 'api_error', param: null, code: null } }),
      JSON.stringify({ error: { code: 500, message: 'm', type: 'server_error' } }),
      JSON.stringify({ object: 'error', message: 'm', type: 'BadRequestError', param: null, code: 400 }),
      JSON.stringify({ error: 'model not found' }),
      JSON.stringify({ choices: [], error: { message: 'm' } }),
      openaiAnswer({}, { error: { message: 'm' } }),
      openaiAnswer({}, { error: 'm' }),
      openaiAnswer({}, { error: '' }),
      openaiAnswer({ finish_reason: 'length' }, { error: {} }),
    ];
    for (const text of texts) assert.equal(read(text), { kind: 'error', text }, text);
  });

  check('is unusable when it is anything but one JSON answer', () => {
    const good = openaiAnswer();
    const texts = [
      '',
      'null',
      '[]',
      '"the verdict"',
      '{}',
      '{"data":[]}',
      '{"detail":"Not Found"}',
      `[${good}]`,
      `${good}${good}`,
      `data: ${good}\n\ndata: [DONE]\n\n`,
      good.slice(0, -1),
      good.slice(0, good.length / 2),
      `<html>${good}</html>`,
      JSON.stringify({ choices: [{ text: 'the verdict', finish_reason: 'stop' }] }),
      JSON.stringify({ choices: [{ delta: { content: 'the verdict' }, finish_reason: 'stop' }] }),
      replying({ content: 7 }),
      replying({ content: [{ type: 'text', text: 'the verdict' }] }),
      openaiAnswer({ message: null }),
      openaiAnswer({ message: 'the verdict' }),
      openaiAnswer({}, { model: 20 }),
    ];
    for (const text of texts) assert.is(kindOf(text), 'unusable', text);
  });

  check('of the other dialect is unusable', () => {
    const text = JSON.stringify({ message: { content: 'the verdict' }, done: true, done_reason: 'stop' });
    assert.is(kindOf(text), 'unusable');
  });

  check('is refused in words of ours', () => {
    const texts = [
      CANARY,
      replying({ refusal: CANARY }),
      replying({ content: CANARY, tool_calls: [{ function: { name: CANARY } }] }),
      openaiAnswer({ finish_reason: CANARY }),
      openaiAnswer({}, { model: CANARY }),
      JSON.stringify({ detail: CANARY }),
    ];
    for (const text of texts) {
      const reply = read(text);
      assert.is(reply.kind, 'unusable', text);
      assert.not.ok(JSON.stringify(reply).includes(CANARY), text);
    }
  });
});

describe("OpenAI's list of models", (check) => {
  check('is read by id', () => {
    assert.equal(openai.parseModels(JSON.stringify({ object: 'list', data: [{ id: 'a', owned_by: 'vllm' }] })), ['a']);
    assert.equal(openai.parseModels('{"data":[]}'), []);
  });

  check('is nothing when the text is no such list', () => {
    for (const text of ['', '{}', '{"data":null}', '{"data":[{"name":"a"}]}', '{"models":[{"name":"a"}]}', '<html>']) {
      assert.is(openai.parseModels(text), undefined, text);
    }
  });
});

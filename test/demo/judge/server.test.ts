import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { createDemoJudge } from '../../../src/demo/judge/server.ts';
import { describe, rejection } from '../../check.ts';

const judge = createDemoJudge();
const NONCE = '482913057261';
const marked = (text: string): string => `The text:\n[[text ${NONCE}]]\n${text}\n[[end ${NONCE}]]\nJSON only.`;
const THREAT = marked('I will kill you');

const get = (path: string): Promise<Response> => judge(new Request(`http://judge${path}`));
const post = (path: string, body: unknown): Promise<Response> =>
  judge(
    new Request(`http://judge${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer anything' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  );

const ollamaCall = { model: 'demo-judge', stream: false, messages: [{ role: 'user', content: THREAT }] };
const openAiCall = { model: 'demo-judge', messages: [{ role: 'user', content: THREAT }] };

type OllamaReply = {
  readonly model: string;
  readonly created_at: string;
  readonly message: { readonly role: string; readonly content: string };
  readonly done: boolean;
  readonly done_reason: string;
  readonly total_duration: number;
  readonly prompt_eval_count: number;
  readonly eval_count: number;
};
type OpenAiError = { readonly type: string; readonly code: string; readonly param: string | null };

const chat = async (call: object): Promise<OllamaReply> =>
  (await (await post('/api/chat', { ...ollamaCall, ...call })).json()) as OllamaReply;
const failure = async <Shape>(reply: Promise<Response>): Promise<readonly [number, Shape]> => {
  const response = await reply;
  return [response.status, ((await response.json()) as { error: Shape }).error];
};

describe('demo judge as Ollama', (check) => {
  check('answers a chat with a verdict in the shape of Ollama', async () => {
    const body = await chat({
      messages: [{ role: 'system', content: 'You judge.' }, ...ollamaCall.messages],
      format: { type: 'object' },
      think: 'low',
      truncate: false,
      shift: false,
      options: { temperature: 0, num_ctx: 4096 },
    });
    const { VI, VIG, nonce } = JSON.parse(body.message.content);
    assert.equal([VI, VIG, nonce], [95, 0, NONCE]);
    assert.is(body.message.role, 'assistant');
    assert.is(body.model, 'demo-judge');
    assert.is(body.done, true);
    assert.is(body.done_reason, 'stop');
    assert.is(body.prompt_eval_count, Math.ceil(('You judge.'.length + THREAT.length) / 4));
    assert.is(body.eval_count, Math.ceil(body.message.content.length / 4));
    assert.ok(Number.isInteger(body.total_duration) && body.total_duration >= 0);
    assert.is(new Date(body.created_at).toISOString(), body.created_at);
  });
  check('judges a text whose image it cannot read', async () => {
    const body = await chat({ messages: [{ role: 'user', content: THREAT, images: ['aGk='] }] });
    assert.is(JSON.parse(body.message.content).VI, 95);
  });
  check('finds the marked text in an earlier turn and ignores what others said', async () => {
    const messages = [
      { role: 'system', content: marked('I want to end my life') },
      ...ollamaCall.messages,
      { role: 'assistant', content: 'hm' },
      { role: 'user', content: 'Once more' },
    ];
    const body = await chat({ messages });
    const { VI, SH } = JSON.parse(body.message.content);
    assert.equal([VI, SH], [95, 0]);
  });
  check('refuses to stream, which is what Ollama does unless asked not to', async () => {
    const { stream: _, ...open } = ollamaCall;
    for (const call of [open, { ...open, stream: true }, { ...open, stream: null }]) {
      const [status, error] = await failure<string>(post('/api/chat', call));
      assert.is(status, 400);
      assert.match(error, /"stream": false/);
    }
  });
  check('answers an unknown model with the 404 of Ollama', async () => {
    assert.equal(await failure(post('/api/chat', { ...ollamaCall, model: 'gpt-oss:20b' })), [
      404,
      "model 'gpt-oss:20b' not found",
    ]);
  });
  check('answers what it cannot read with a 400 in one sentence', async () => {
    for (const body of [
      '{"model":',
      '',
      '[]',
      '{}',
      { ...ollamaCall, messages: 'hi' },
      { ...ollamaCall, messages: [{ content: 'hi' }] },
    ]) {
      const [status, error] = await failure<string>(post('/api/chat', body));
      assert.is(status, 400, JSON.stringify(body));
      assert.type(error, 'string');
    }
  });
  check('lists its model and its version', async () => {
    const tags = (await (await get('/api/tags')).json()) as { models: { name: string; model: string }[] };
    assert.equal(
      tags.models.map(({ name, model }) => [name, model]),
      [['demo-judge', 'demo-judge']],
    );
    const { version } = (await (await get('/api/version')).json()) as { version: string };
    assert.match(version, /^\d+\.\d+\.\d+/);
  });
});

describe('demo judge as OpenAI', (check) => {
  const client = new OpenAI({
    apiKey: 'none',
    baseURL: 'http://judge/v1',
    maxRetries: 0,
    fetch: (url, init) => judge(new Request(url, init)),
  });
  const ask = (content: string | OpenAI.ChatCompletionContentPart[], model = 'demo-judge') =>
    client.chat.completions.create({ model, messages: [{ role: 'user', content }] });

  check('answers the official client with a verdict', async () => {
    const completion = await ask(THREAT);
    const [choice] = completion.choices;
    const content = choice?.message.content ?? '';
    const { HRT, SX, nonce } = JSON.parse(content);
    assert.equal([HRT, SX, nonce], [95, 0, NONCE]);
    assert.is(choice?.finish_reason, 'stop');
    assert.is(completion.object, 'chat.completion');
    assert.is(completion.model, 'demo-judge');
    const prompt = Math.ceil(THREAT.length / 4);
    const answer = Math.ceil(content.length / 4);
    assert.equal(completion.usage, { prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer });
  });
  check('reads the text of a content in parts and passes over its image', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } } as const;
    const completion = await ask([{ type: 'text', text: THREAT }, image]);
    assert.is(JSON.parse(completion.choices[0]?.message.content ?? '').VI, 95);
  });
  check('lets the official client see that a model is unknown', async () => {
    const thrown = await rejection(ask(THREAT, 'gpt-5'));
    assert.instance(thrown, OpenAI.NotFoundError);
    assert.is((thrown as InstanceType<typeof OpenAI.NotFoundError>).code, 'model_not_found');
  });
  check('answers bad JSON, a wrong shape and a stream with a 400 in the shape of OpenAI', async () => {
    const cases = [
      ['{"model":', 'invalid_json', null],
      ['7', 'invalid_type', null],
      ['{}', 'invalid_type', 'model'],
      [{ model: 'demo-judge' }, 'invalid_type', 'messages'],
      [{ ...openAiCall, messages: [{ role: 'user', content: 7 }] }, 'invalid_type', 'messages[0].content'],
      [{ ...openAiCall, stream: true }, 'stream_unsupported', 'stream'],
    ] as const;
    for (const [body, code, param] of cases) {
      const [status, error] = await failure<OpenAiError>(post('/v1/chat/completions', body));
      assert.equal([status, error.type, error.code, error.param], [400, 'invalid_request_error', code, param]);
    }
  });
});

describe('demo judge', (check) => {
  check('answers even when the caller breaks off, and shows nothing of what went wrong', async () => {
    const body = new ReadableStream({
      start: (controller) => controller.error(new Error('secret')),
    });
    const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' };
    const response = await judge(new Request('http://judge/api/chat', init));
    assert.is(response.status, 499);
    assert.not.match(await response.text(), /secret/);
  });
});

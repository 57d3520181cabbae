import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { streamText } from 'ai';
import OpenAI, { APIError, BadRequestError, InternalServerError } from 'openai';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../check.ts';
import { ASK, ended, failed, ranTool, textEvents, thought } from '../../harness/recorded-outputs.ts';
import { type ChatWorld, createChatWorld } from './world.ts';

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const MODEL = 'acme/small';
const ASKING = { model: MODEL, messages: MESSAGES };

const ANSWER = [
  thought('r', 'Hm.'),
  textEvents('a', 'I ', 'look.'),
  ranTool('search'),
  textEvents('b', 'Found 👨‍👩‍👧.'),
  ended({ approvalRequests: [ASK] }),
] as const;
const WORDS = 'I look.\n\nFound 👨‍👩‍👧.';
const THOUGHTS = 'Hm.\n\n[tool search] started\n\n[tool search] finished';
const BROKEN = [textEvents('a', 'I look.'), failed()] as const;

const openaiOver = ({ baseURL, fetch }: ChatWorld): OpenAI => new OpenAI({ apiKey: 'sk-test', baseURL, fetch });

const aiOver = ({ baseURL, fetch }: ChatWorld) =>
  createOpenAICompatible({ name: 'gatehouse', baseURL, fetch, includeUsage: true })(MODEL);

const langchainOver = ({ baseURL, fetch }: ChatWorld): ChatOpenAI =>
  new ChatOpenAI({ model: MODEL, apiKey: 'sk-test', configuration: { baseURL, fetch }, maxRetries: 0 });

describe("OpenAI's own client", (check) => {
  check('reads an answer in one piece', async () => {
    const { choices, usage } = await openaiOver(createChatWorld(...ANSWER)).chat.completions.create(ASKING);
    assert.is(choices[0]?.message.content, WORDS);
    assert.is(choices[0]?.finish_reason, 'stop');
    assert.is(usage?.total_tokens, 37);
    assert.is(usage?.completion_tokens_details?.reasoning_tokens, 2);
  });

  check('reads a stream, chunk by chunk', async () => {
    const stream = await openaiOver(createChatWorld(...ANSWER)).chat.completions.create({ ...ASKING, stream: true });
    let words = '';
    const finishes: unknown[] = [];
    for await (const { id, choices, usage } of stream) {
      assert.is(id, 'chatcmpl-1');
      assert.is(usage, undefined);
      words += choices[0]?.delta.content ?? '';
      if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason);
    }
    assert.is(words, WORDS);
    assert.equal(finishes, ['stop']);
  });

  check('puts a stream together again, with what it cost', async () => {
    const world = createChatWorld(...ANSWER);
    const stream = openaiOver(world).chat.completions.stream({ ...ASKING, stream_options: { include_usage: true } });
    const { choices, usage } = await stream.finalChatCompletion();
    assert.is(choices[0]?.message.content, WORDS);
    assert.is(choices[0]?.message.role, 'assistant');
    assert.is(choices[0]?.message.tool_calls, undefined);
    assert.is(usage?.prompt_tokens, 30);
    assert.is(world.asked[0]?.includeUsage, true);
  });

  check('puts a stream together that says nothing', async () => {
    const stream = openaiOver(createChatWorld(ended({ finish: 'length' }))).chat.completions.stream(ASKING);
    const { choices } = await stream.finalChatCompletion();
    assert.is(choices[0]?.message.content, '');
    assert.is(choices[0]?.finish_reason, 'length');
  });

  check('learns of a failure amid a stream, and does not ask again', async () => {
    const world = createChatWorld(...BROKEN);
    const raw = (async () => {
      for await (const _ of await openaiOver(world).chat.completions.create({ ...ASKING, stream: true })) {
        // until it fails
      }
    })();
    const thrown = await rejection(raw);
    assert.instance(thrown, APIError);
    assert.is((thrown as APIError).code, 'model_error');
    const helped = await rejection(openaiOver(world).chat.completions.stream(ASKING).finalChatCompletion());
    assert.is((helped as APIError).code, 'model_error');
    assert.is(world.asked.length, 2);
  });

  check('learns of a failure of an answer in one piece, and does not ask again', async () => {
    const world = createChatWorld(...BROKEN);
    const thrown = await rejection(openaiOver(world).chat.completions.create(ASKING));
    assert.instance(thrown, InternalServerError);
    assert.is((thrown as APIError).code, 'model_error');
    assert.is(world.asked.length, 1);
  });

  check('learns what was wrong with its request', async () => {
    const messages = [{ role: 'user' as const, content: 3 as unknown as string }];
    const thrown = await rejection(openaiOver(createChatWorld()).chat.completions.create({ model: MODEL, messages }));
    assert.instance(thrown, BadRequestError);
    assert.is((thrown as APIError).param, 'messages[0].content');
    assert.is((thrown as APIError).code, 'invalid_type');
  });

  check('is understood in all that it can send', async () => {
    const world = createChatWorld(ended());
    await openaiOver(world).chat.completions.create({
      model: MODEL,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ],
        },
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: 'done' },
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] },
      ],
      metadata: { session_id: 'mine' },
      reasoning_effort: 'low',
      temperature: 0.2,
    });
    const [asked] = world.asked;
    assert.is(asked?.system, 'Be brief.');
    assert.equal(
      asked?.history.map(({ role }) => role),
      ['user', 'assistant'],
    );
    assert.equal(
      asked?.input.map(({ role }) => role),
      ['tool', 'user'],
    );
    assert.equal(asked?.files.slice(-1), [
      { type: 'file', at: 'messages[4].content[0].input_audio', mime: 'audio/wav', url: 'data:audio/wav;base64,AAAA' },
    ]);
    assert.equal(asked?.conversation, { kind: 'named', id: 'mine', isIncremental: true });
    assert.equal([asked?.effort, asked?.ignored], ['low', ['temperature']]);
  });
});

describe("Vercel's AI SDK", (check) => {
  check('reads a stream: words, reasoning and cost', async () => {
    const result = streamText({ model: aiOver(createChatWorld(...ANSWER)), prompt: 'Hello' });
    assert.is(await result.text, WORDS);
    assert.is(await result.reasoningText, THOUGHTS);
    assert.is(await result.finishReason, 'stop');
    const usage = await result.usage;
    assert.equal([usage.inputTokens, usage.outputTokens, usage.totalTokens], [30, 7, 37]);
  });

  check('learns of a failure amid a stream, and does not ask again', async () => {
    const world = createChatWorld(...BROKEN);
    const errors: unknown[] = [];
    const finishes: string[] = [];
    const { fullStream } = streamText({ model: aiOver(world), prompt: 'Hello', onError: () => {} });
    for await (const part of fullStream) {
      if (part.type === 'error') errors.push(part.error);
      if (part.type === 'finish') finishes.push(part.finishReason);
    }
    assert.is(errors.length, 1);
    assert.match(JSON.stringify(errors[0]) + String(errors[0]), "agent's model failed");
    assert.equal(finishes, ['error']);
    assert.is(world.asked.length, 1);
  });
});

describe('LangChain', (check) => {
  check('reads a stream: words, cost and why it ended', async () => {
    let words = '';
    const cost = { total_tokens: 0 };
    const finishes: unknown[] = [];
    for await (const chunk of await langchainOver(createChatWorld(...ANSWER)).stream('Hello')) {
      words += chunk.text;
      Object.assign(cost, chunk.usage_metadata);
      if (chunk.response_metadata.finish_reason) finishes.push(chunk.response_metadata.finish_reason);
    }
    assert.is(words, WORDS);
    assert.is(cost.total_tokens, 37);
    assert.equal(finishes, ['stop']);
  });

  check('learns of a failure amid a stream, and does not ask again', async () => {
    const world = createChatWorld(...BROKEN);
    const thrown = await rejection(
      (async () => {
        for await (const _ of await langchainOver(world).stream('Hello')) {
          // until it fails
        }
      })(),
    );
    assert.match(String(thrown), "agent's model failed");
    assert.is(world.asked.length, 1);
  });
});

import * as assert from 'uvu/assert';
import { createChatCompletion } from '../../../../src/bridge/openai/chat/response.ts';
import { createChatEncoder } from '../../../../src/bridge/openai/chat/stream.ts';
import type { OutputEvent } from '../../../../src/bridge/output.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { describe, rejection } from '../../../check.ts';
import { streamedEvents } from '../../harness/polled.ts';
import { ASK, ended, failed, ranTool, reporting, textEvents, thought } from '../../harness/recorded-outputs.ts';

const FACTS = {
  ...{ id: 'chatcmpl-1', model: 'a"b', createdSeconds: 1_700_000_000, fingerprint: 'fp_1' },
  ...{ includeUsage: false, showsTools: false },
};

type Chunk = {
  readonly choices: readonly [{ readonly delta: { readonly content?: string; readonly reasoning_content?: string } }];
  readonly error?: object;
  readonly gatehouse?: object;
  readonly usage?: object | null;
};

/** The data of the events. */
async function* chunksOf(outputEvents: AsyncIterable<OutputEvent>, header = FACTS): AsyncGenerator<string> {
  for await (const { data } of streamedEvents(outputEvents, createChatEncoder(header))) yield data ?? '';
}

const dataOf = async (
  outputEvents: AsyncIterable<OutputEvent>,
  more: Partial<typeof FACTS> = {},
): Promise<string[]> => {
  const data: string[] = [];
  for await (const one of chunksOf(outputEvents, { ...FACTS, ...more })) data.push(one);
  return data;
};
const chunksIn = (data: readonly string[]): Chunk[] =>
  data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one));
const deltasIn = (data: readonly string[]) => chunksIn(data).map(({ choices }) => choices[0]?.delta);

const whole = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'a"b',
  service_tier: 'default',
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  ...more,
});
const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 7,
  total_tokens: 37,
  prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

describe('a chat completion in chunks', (check) => {
  check('has the role, the output, the reason of its end, and the final [DONE]', async () => {
    const data = await dataOf(reporting(textEvents('a', 'Hel', 'l"o\n'), ended()));
    assert.is(data.at(-1), '[DONE]');
    assert.equal(chunksIn(data), [
      whole({ role: 'assistant', content: '' }),
      whole({ content: 'Hel' }),
      whole({ content: 'l"o\n' }),
      whole({}, 'stop'),
    ]);
  });

  check('reports what it cost in a chunk of its own, and only when asked to', async () => {
    const data = await dataOf(reporting(textEvents('a', 'Hi'), ended()), { includeUsage: true });
    const { choices: _, ...facts } = whole({});
    assert.equal(chunksIn(data), [
      whole({ role: 'assistant', content: '' }, null, { usage: null }),
      whole({ content: 'Hi' }, null, { usage: null }),
      whole({}, 'stop', { usage: null }),
      { ...facts, choices: [], usage: USAGE },
    ]);
    assert.is(data.at(-1), '[DONE]');
    for (const chunk of chunksIn(await dataOf(reporting(ended())))) assert.not.ok('usage' in chunk);
  });

  check('adds up to the answer in one piece', async () => {
    const outputEvents = [
      thought('r', 'Hm', 'm.'),
      textEvents('a', 'I ', 'look.'),
      ranTool('search'),
      thought('s', 'So.'),
      textEvents('b', 'Found.'),
      ended({ finish: 'content_filter' }),
    ];
    const deltas = deltasIn(await dataOf(reporting(...outputEvents)));
    const { choices } = await createChatCompletion(reporting(...outputEvents), FACTS);
    assert.is(deltas.map((delta) => delta?.content ?? '').join(''), choices[0]?.message.content);
    assert.is(deltas.map((delta) => delta?.reasoning_content ?? '').join(''), choices[0]?.message.reasoning_content);
    assert.is(choices[0]?.message.content, 'I look.\n\nFound.');
  });

  check('reports tools in the reasoning, and only when it is to', async () => {
    const outputEvents = [thought('r', 'Hm.'), ranTool('search'), ranTool('pay', true), ended()];
    const lines = (deltas: readonly ({ reasoning_content?: string } | undefined)[]) =>
      deltas.map((delta) => delta?.reasoning_content ?? '').join('');
    const shown = await dataOf(reporting(...outputEvents), { showsTools: true });
    assert.is(
      lines(deltasIn(shown)),
      'Hm.\n\n[tool search] started\n\n[tool search] finished\n\n[tool pay] started\n\n[tool pay] failed',
    );
    const call = { id: 'call_pay', name: 'pay', input: '{}' };
    const waiting = { kind: 'call-end', call, output: 'not done', isError: true, isWaiting: true } as const;
    const asked = await dataOf(reporting([{ kind: 'call', call }, waiting], ended()), { showsTools: true });
    assert.is(lines(deltasIn(asked)), '[tool pay] started\n\n[tool pay] waiting');
    assert.not.match(shown.join(''), 'tool_calls');
    assert.not.match(shown.join(''), 'the output');
    assert.is(lines(deltasIn(await dataOf(reporting(...outputEvents)))), 'Hm.');
  });

  check('names the questions that it ends with in its last chunk', async () => {
    for (const includeUsage of [false, true]) {
      const chunks = chunksIn(
        await dataOf(reporting(textEvents('a', 'May I?'), ended({ approvalRequests: [ASK] })), { includeUsage }),
      );
      assert.equal(chunks.map(({ gatehouse }) => gatehouse).filter(Boolean), [
        { approvals: [{ id: 'per_0198abcd', tool: 'relay_recharge', input: '{}' }] },
      ]);
      assert.is(chunks[2]?.gatehouse !== undefined, true);
    }
  });

  check('that fails ends with an error and is not called done', async () => {
    const data = await dataOf(reporting(textEvents('a', 'Hel'), failed()));
    assert.equal(JSON.parse(data.at(-1) ?? ''), {
      error: { message: "The agent's model failed", type: 'server_error', param: null, code: 'model_error' },
    });
    assert.is(data.length, 3);
    assert.not.ok(data.includes('[DONE]'));
  });

  check('reports an overlong conversation as of a mistake of the client', async () => {
    const failure = { status: 400, code: 'context_length_exceeded', message: 'Too long' };
    const [, data] = await dataOf(reporting(failed(failure)));
    assert.equal(JSON.parse(data ?? ''), {
      error: { message: 'Too long', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' },
    });
  });

  check('reports a fault of its source in the same way', async () => {
    async function* refused(): AsyncGenerator<OutputEvent> {
      yield* textEvents('a', 'Hel');
      throw new Fault({ kind: 'backend-error', reason: 'The agent server cannot be reached' });
    }
    const data = await dataOf(refused());
    assert.equal(JSON.parse(data.at(-1) ?? ''), {
      error: {
        message: 'The agent server cannot be reached',
        ...{ type: 'server_error', param: null, code: 'agent_unreachable' },
      },
    });
    assert.not.ok(data.includes('[DONE]'));
  });

  check('reports a bug without a detail, and passes it on', async () => {
    async function* broken(): AsyncGenerator<OutputEvent> {
      yield* textEvents('a', 'Hel');
      throw new TypeError('secret detail');
    }
    const data: string[] = [];
    const reading = (async () => {
      for await (const one of chunksOf(broken(), FACTS)) data.push(one);
    })();
    assert.match(String(await rejection(reading)), 'secret detail');
    assert.match(data.at(-1) ?? '', '"code":"internal_error"');
    assert.not.match(data.join(''), 'secret detail');
    assert.match(String(await rejection(dataOf(reporting(textEvents('a', 'x'))))), 'ended without `end` or `failure`');
  });

  check('says nothing more to a client that left, and lets go of its source', async () => {
    let isLetGo = false;
    async function* long(): AsyncGenerator<OutputEvent> {
      try {
        for (;;) yield* textEvents('a', 'more');
      } finally {
        isLetGo = true;
      }
    }
    for await (const data of chunksOf(long(), FACTS)) if (data.includes('more')) break;
    assert.is(isLetGo, true);
    async function* left(): AsyncGenerator<OutputEvent> {
      yield* textEvents('a', 'Hel');
      throw new Fault({ kind: 'client-left' });
    }
    assert.is((await dataOf(left())).length, 2);
  });
});

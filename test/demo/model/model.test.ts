import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { answer, calls, reasoning, refusal, silence, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import { createScriptedWorld, jsonRequest } from './clients.ts';

const ASKED = { model: 'm', messages: [{ role: 'user' as const, content: 'hello' }] };
const PIECES = [
  ...reasoning('hm'),
  ...text('one ', 'two'),
  ...calls({ name: 'a', arguments: { x: 1 } }),
  ...calls({ name: 'b', arguments: '{bad' }),
];
const USAGE = { prompt: 100, cached: 30, completion: 20, reasoning: 5 };

describe("the scripted model, asked by OpenAI's client", (check) => {
  check('completes a chat in a stream', async () => {
    const { openai, control } = createScriptedWorld();
    control.addReply(answer(PIECES, { usage: USAGE }));
    const stream = openai.chat.completions.stream({ ...ASKED, stream_options: { include_usage: true } });
    const { choices, usage } = await stream.finalChatCompletion();
    assert.is(choices[0]?.message.content, 'one two');
    assert.is(choices[0]?.finish_reason, 'tool_calls');
    const made = choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function);
    assert.equal(
      made?.map((call) => call && [call.name, call.arguments]),
      [
        ['a', '{"x":1}'],
        ['b', '{bad'],
      ],
    );
    assert.equal([usage?.total_tokens, usage?.prompt_tokens_details?.cached_tokens], [120, 30]);
  });

  check('counts tokens in a stream only for who asks for them', async () => {
    const { openai, control } = createScriptedWorld();
    control.alwaysReply('fine');
    const counts = async (more: object) => {
      let count = 0;
      for await (const { usage } of await openai.chat.completions.create({ ...ASKED, ...more, stream: true })) {
        if (usage) count += 1;
      }
      return count;
    };
    assert.equal([await counts({}), await counts({ stream_options: { include_usage: true } })], [0, 1]);
  });

  check('completes a chat as a whole', async () => {
    const { openai, control } = createScriptedWorld();
    control.addReply(answer(PIECES, { usage: USAGE, finish: 'length' }));
    const { choices, usage } = await openai.chat.completions.create(ASKED);
    assert.equal([choices[0]?.message.content, choices[0]?.finish_reason], ['one two', 'length']);
    assert.is(choices[0]?.message.tool_calls?.length, 2);
    assert.is(usage?.completion_tokens_details?.reasoning_tokens, 5);
  });

  for (const isStreamed of [true, false]) {
    check(`gives a response ${isStreamed ? 'in a stream' : 'as a whole'}`, async () => {
      const { openai, control } = createScriptedWorld();
      control.addReply(answer(PIECES, { usage: USAGE }));
      let words = '';
      const made: string[] = [];
      let tokens: number | undefined;
      if (isStreamed) {
        for await (const event of await openai.responses.create({ model: 'm', input: 'hello', stream: true })) {
          if (event.type === 'response.output_text.delta') words += event.delta;
          if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
            made.push(event.item.arguments);
          if (event.type === 'response.completed') tokens = event.response.usage?.total_tokens;
        }
      } else {
        const response = await openai.responses.create({ model: 'm', input: 'hello' });
        words = response.output_text;
        made.push(...response.output.flatMap((item) => (item.type === 'function_call' ? [item.arguments] : [])));
        tokens = response.usage?.total_tokens;
      }
      assert.equal([words, made, tokens], ['one two', ['{"x":1}', '{bad'], 120]);
    });
  }

  check('refuses as it is configured', async () => {
    const { openai, control } = createScriptedWorld();
    control.addReply(refusal(429, 'rate_limit_exceeded', { headers: { 'retry-after': '3' } }));
    const error = await rejection(openai.chat.completions.create(ASKED));
    assert.instance(error, OpenAI.RateLimitError);
    assert.ok(error instanceof OpenAI.APIError && error.headers?.get('retry-after') === '3');
  });

  check('lists itself as a model', async () => {
    const { openai } = createScriptedWorld();
    assert.equal(
      (await openai.models.list()).data.map(({ id }) => id),
      ['demo-model'],
    );
  });
});

describe('the control of the scripted model', (check) => {
  check('has its answers given in order, or to the question that they are meant for', async () => {
    const { control, openai } = createScriptedWorld();
    control.addReply('for tools', ({ tools }) => tools.length > 0);
    control.addReply('first');
    control.addReply('second');
    control.alwaysReply('else');
    const outputText = async (more = {}) =>
      (await openai.chat.completions.create({ ...ASKED, ...more })).choices[0]?.message.content;
    const tools = [{ type: 'function', function: { name: 't' } }];
    assert.equal(
      [await outputText(), await outputText({ tools }), await outputText(), await outputText()],
      ['first', 'for tools', 'second', 'else'],
    );
    assert.is(control.waiting(), 0);
  });

  check('shows what was asked, whatever the dialect', async () => {
    const { control, post } = createScriptedWorld();
    control.alwaysReply('fine');
    const tool = { name: 'add', parameters: {} };
    await post('/v1/chat/completions', {
      model: 'm',
      stream: true,
      tools: [{ type: 'function', function: tool }],
      messages: [
        { role: 'system', content: 'sys' },
        { role: 'user', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'add', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: '3' },
      ],
    });
    await post('/v1/responses', {
      model: 'm',
      stream: true,
      tools: [{ type: 'function', ...tool }],
      input: [
        { role: 'system', content: 'sys' },
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: '3' },
      ],
    });
    await post('/v1/messages', {
      model: 'm',
      stream: true,
      system: 'sys',
      tools: [tool],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'add', input: '{}' }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: '3' }] },
      ],
    });
    const asked = {
      model: 'm',
      system: 'sys',
      turns: [
        { role: 'user', text: 'hi' },
        { role: 'assistant', text: '', calls: [{ id: 'c', name: 'add', arguments: '{}' }] },
        { role: 'tool', id: 'c', name: 'add', text: '3' },
      ],
      tools: ['add'],
      isStreamed: true,
    };
    const seen = control.requests().map(({ headers, body, isAborted: isLeft, dialect, ...rest }) => rest);
    assert.equal(seen, [asked, asked, asked]);
  });

  check('shows who has left, in a silence and in a stream', async () => {
    const { control, handler } = createScriptedWorld();
    const leaving = new AbortController();
    const ask = () => handler(jsonRequest('/v1/chat/completions', { ...ASKED, stream: true }, leaving.signal));
    control.addReply(silence);
    control.addReply(answer([{ kind: 'hang' }]));
    const silent = ask();
    const { body } = await ask();
    assert.equal(
      control.requests().map(({ isAborted: isLeft }) => isLeft()),
      [false, false],
    );
    leaving.abort();
    await silent;
    await body?.cancel();
    assert.equal(
      control.requests().map(({ isAborted: isLeft }) => isLeft()),
      [true, true],
    );
  });

  check('makes an answer wait by the clock', async () => {
    const { control, post, clock } = createScriptedWorld();
    control.addReply(answer([{ kind: 'wait', ms: 1000 }, ...text('late')]));
    const words = (await post('/v1/chat/completions', { ...ASKED, stream: true })).text();
    let isOver = false;
    void words.then(() => {
      isOver = true;
    });
    await clock.advance(999);
    assert.is(isOver, false);
    await clock.advance(1);
    assert.match(await words, 'late');
  });

  check('has nothing to say unless it is asked to', async () => {
    const { control, post } = createScriptedWorld();
    control.addReply('forgotten');
    control.clear();
    assert.is((await post('/v1/chat/completions', ASKED)).status, 400);
  });

  check('is asked in no other way: a broken body is refused, in every dialect', async () => {
    const { control, post } = createScriptedWorld();
    control.alwaysReply('fine');
    for (const path of ['chat/completions', 'responses', 'messages']) {
      for (const body of [null, 7, [], {}, { model: 7 }]) {
        assert.is((await post(`/v1/${path}`, body)).status, 400);
      }
    }
    assert.is((await post('/v1/nothing', {})).status, 404);
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { askGuard, contentOf, guarding } from '../harness/guard-face.ts';
import { errorOf } from '../harness/read-answer.ts';
import { auditBody } from '../harness/relay-audit.ts';
import { gatewayOver, shownTextOf } from '../harness/world.ts';
import { called, chat, user } from './world.ts';

const UNJUDGED: Readonly<Record<string, unknown>> = {
  'an image': chat(user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }])),
  'an image beside a text': chat(
    user([
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'x' } },
    ]),
  ),
  'an image in a part that names no type': chat(user([{ text: 'a', image_url: { url: 'x' } }])),
  'no content': chat(user(null)),
  'an empty text': chat(user('')),
  'no parts': chat(user([])),
  'nothing but messages without a text': chat(user(null), { role: 'assistant', content: '' }, user([{ text: '' }])),
  'instructions and a message without a text, where they are not judged': {
    model: 'guard-json',
    messages: [{ role: 'system', content: 'a' }, user('')],
  },
  'a call of a tool without a text, beside a text': chat(user('a'), {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'x' }],
  }),
  'a call of a tool beside a text': chat({ role: 'assistant', content: 'a', tool_calls: [{ id: 'x' }] }),
  'an old call of a function': chat({ role: 'assistant', content: 'a', function_call: { name: 'x' } }),
  'a call of a tool and no content': chat({ role: 'assistant', tool_calls: [{ id: 'x' }] }),
  'a call of a tool in another form': chat({ role: 'assistant', content: 'a', tool_calls: 'x' }),
  'a call that holds more than its arguments': chat({
    role: 'assistant',
    content: 'a',
    tool_calls: [{ id: 'x', function: { name: 'x', arguments: '{}' }, extra: 'b' }],
  }),
  'a call with another member in its signature': chat({
    role: 'assistant',
    tool_calls: [{ ...called('x', '{}'), provider_specific_fields: { thought_signature: 'b', text: 'b' } }],
  }),
  'a call with another member in its caller': chat({
    role: 'assistant',
    tool_calls: [{ ...called('x', '{}'), caller: { type: 'direct', text: 'b' } }],
  }),
  'a call whose signature is something else': chat({
    role: 'assistant',
    tool_calls: [{ function: { name: 'x', arguments: '{}' }, extra_content: { google: { text: 'b' } } }],
  }),
  'a result of a tool in a result of a tool': chat(
    user([{ type: 'tool_result', content: [{ type: 'tool_result', content: 'a' }] }]),
  ),
  'an image in a result of a tool': chat(user([{ type: 'tool_result', content: [{ type: 'image' }] }])),
  'a call of a custom tool and of a function at once': chat({
    role: 'assistant',
    tool_calls: [{ function: { name: 'x', arguments: '' }, custom: { name: 'x', input: '' } }],
  }),
  'arguments that are no text': chat({ role: 'assistant', function_call: { name: 'x', arguments: 7 } }),
  'reasoning that is no text': chat({ role: 'assistant', content: 'a', reasoning: { text: 'b' } }),
  'tools with too many levels': {
    ...chat(user('a')),
    tools: JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown,
  },
  'sound beside a text': chat({ role: 'assistant', content: 'a', audio: { id: 'b' } }),
  'a text that is too long': chat(user('a'.repeat(100_001))),
  'too many messages': chat(...Array.from({ length: 33 }, () => user('a'))),
  'one message of many that is no text': chat(user('a'), user(7)),
  'instructions alone, where they are not judged': {
    model: 'guard-json',
    messages: [{ role: 'system', content: 'a' }],
  },
  'a body that is too large': chat(user('a'.repeat(1_100_000))),
};

const REFUSED: Readonly<Record<string, readonly [body: unknown, error: string]>> = {
  'no JSON': ['{', '400 invalid_json'],
  'no object': [[], '400 invalid_type'],
  'no messages': [{ model: 'qwen3guard' }, '400 invalid_type'],
  'an empty list of messages': [chat(), '400 invalid_type'],
  'a message that is none': [chat(user('a'), 'b'), '400 invalid_type'],
  'a message without a role': [chat({ content: 'a' }), '400 invalid_type'],
  'no model': [{ messages: [user('a')] }, '400 invalid_type'],
  'an unknown alias': [{ ...chat(user('a')), model: 'qwen4guard' }, '404 model_not_found'],
  'an alias without a guard face': [{ ...chat(user('a')), model: 'moderation-fast' }, '400 no_guard_face'],
};

const REFUSALS: readonly (readonly [body: unknown, message: string, param: string | null])[] = [
  [{ messages: [user('a')] }, 'Expected the name of an alias at model, as "qwen3guard"', 'model'],
  [chat(), 'Expected at least one message at messages, as [{"role":"user","content":"some text"}]', 'messages'],
  [
    { model: 'qwen3guard', messages: 'a' },
    'Expected at least one message at messages, as [{"role":"user","content":"some text"}]',
    'messages',
  ],
  [{ ...chat(user('a')), stream: 'yes' }, 'Expected true or false at stream', 'stream'],
  [chat(user('a'), 'b'), 'Expected an object with a role and a content at messages[1]', 'messages[1]'],
  [[], 'Expected a JSON object with model and messages as the body', null],
  [
    chat(...Array.from({ length: 33 }, () => user('a'))),
    'Expected at most 32 messages with a text, as MAX_INPUTS allows',
    null,
  ],
];

describe('the guard face leaves out', (check) => {
  check('messages that hold no text, which count for no limit, and judges the others', async () => {
    const world = gatewayOver(guarding({ VI: 90 }));
    const empty = [null, undefined, '', [], [{ type: 'text', text: '' }, { text: '' }]].map((content) => ({
      role: 'assistant',
      content,
    }));
    const messages = [...Array.from({ length: 10 }, () => empty).flat(), user('a'), ...empty];
    assert.is(await contentOf(await askGuard(world, chat(...messages))), 'Safety: Unsafe\nCategories: Violent');
    assert.equal(world.calls.map(shownTextOf), ['a']);
  });

  check('no blanks and no invisible characters: a chunk of a text may hold nothing else, or a message', async () => {
    const world = gatewayOver(guarding());
    await contentOf(await askGuard(world, chat(user('   '), user('\u200b'.repeat(20)))));
    assert.is(world.calls.length > 1, true);
  });
});

describe('the guard face has no verdict', (check) => {
  check('and says what to send', async () => {
    for (const [body, message, param] of REFUSALS) {
      const error = await errorOf(await askGuard(gatewayOver(guarding()), body));
      assert.equal([error.message, error.param], [message, param]);
    }
  });

  for (const [name, body] of Object.entries(UNJUDGED)) {
    check(`for ${name}, and another node is asked`, async () => {
      const world = gatewayOver(guarding());
      const error = await errorOf(await askGuard(world, body));
      assert.equal([error.status, error.code, error.shouldRetry], [503, 'unjudged_text', 'false']);
      assert.is(world.calls.length, 0);
    });
  }
  for (const [name, [body, expected]] of Object.entries(REFUSED)) {
    check(`for ${name}`, async () => {
      const error = await errorOf(await askGuard(gatewayOver(guarding()), body));
      assert.is(`${error.status} ${error.code}`, expected);
    });
  }
  check('for a model of a chat with an agent, which the bridge answers', async () => {
    const { message } = await errorOf(await askGuard(gatewayOver(guarding()), { ...chat(user('a')), model: 'gpt-4o' }));
    assert.match(
      message,
      /^this model is not configured\. This path judges chats; for answers of an agent, give the client the address of the bridge\. Valid models: /,
    );
  });
  check('without a right key', async () => {
    for (const authorization of ['', 'Bearer no', 'Basic x'])
      assert.is((await askGuard(gatewayOver(guarding()), auditBody('a'), { authorization })).status, 401);
  });
});

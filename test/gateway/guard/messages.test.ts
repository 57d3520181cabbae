import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { askGuard, contentOf, guarding } from '../harness/guards.ts';
import { errorOf } from '../harness/read-answer.ts';
import { auditBody } from '../harness/relay-audit.ts';
import { type Answer, gatewayOver, shownTextOf } from '../harness/world.ts';

const chat = (...messages: readonly unknown[]) => ({ model: 'qwen3guard', messages });
const user = (content: unknown) => ({ role: 'user', content });
const called = (name: string, given: unknown) => ({
  id: 'call_1',
  type: 'function',
  function: { name, arguments: given },
});
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
/** What of a message is read, and as which text. */
const READ: readonly (readonly [name: string, text: string, message: object])[] = [
  [
    'calls of tools alone',
    'run\n{"cmd":"a"}',
    { role: 'assistant', content: null, tool_calls: [called('run', '{"cmd":"a"}')] },
  ],
  [
    'several calls beside a text',
    'hello\na\n{}\nb\n{"c":1}',
    { role: 'assistant', content: 'hello', tool_calls: [called('a', '{}'), called('b', { c: 1 })] },
  ],
  ['arguments that are no JSON', 'a\n{"b":', { role: 'assistant', tool_calls: [called('a', '{"b":')] }],
  [
    'arguments in which a name comes twice',
    'a\n{"b":"x","b":"y"}',
    { role: 'assistant', tool_calls: [called('a', '{"b":"x","b":"y"}')] },
  ],
  [
    'calls of custom tools',
    'a\nb',
    { role: 'assistant', tool_calls: [{ id: 'x', type: 'custom', custom: { name: 'a', input: 'b' } }] },
  ],
  [
    'an old call of a function',
    'a\n{}',
    { role: 'assistant', content: '', function_call: { name: 'a', arguments: '{}' } },
  ],
  [
    'calls with a signature',
    'a\n{}\nb\n{}',
    {
      role: 'assistant',
      tool_calls: [
        { function: { name: 'a', arguments: '{}', provider_specific_fields: { thought_signature: 'x' } } },
        { function: { name: 'b', arguments: '{}' }, extra_content: { google: { thought_signature: 'x' } } },
      ],
    },
  ],
  [
    'calls as LiteLLM and Portkey give them on',
    'a\n{}\nb\n{}\nc\n{}',
    {
      role: 'assistant',
      tool_calls: [
        { ...called('a', '{}'), provider_specific_fields: { thought_signature: 'x' } },
        { ...called('b', '{}'), caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } },
        { id: 'x', type: 'function', function: { name: 'c', arguments: '{}', thought_signature: 'x' } },
      ],
    },
  ],
  [
    'arguments with letters by their numbers',
    String.raw`run
{"a":"杀人","b":"\\u0041 \\n"}`,
    { role: 'assistant', tool_calls: [called('run', String.raw`{"a":"\u6740\u4EBA","b":"\\u0041 \\n"}`)] },
  ],
  [
    'blocks beside the content',
    'a\nwhy\na',
    {
      role: 'assistant',
      content: 'a',
      content_blocks: [
        { type: 'thinking', thinking: 'why' },
        { type: 'text', text: 'a' },
      ],
    },
  ],
  [
    "blocks of Anthropic's API",
    'run\n{"a":1}\nresult\none\nwhy\nno',
    user([
      { type: 'tool_use', id: 'x', name: 'run', input: { a: 1 } },
      { type: 'tool_result', tool_use_id: 'x', content: 'result' },
      { type: 'tool_result', tool_use_id: 'x', content: [{ type: 'text', text: 'one' }] },
      { type: 'tool_result', tool_use_id: 'x' },
      { type: 'thinking', thinking: 'why', signature: 'x' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'refusal', refusal: 'no' },
    ]),
  ],
  ['a refusal', 'a\nb', { role: 'assistant', content: 'a', refusal: 'b' }],
  ['reasoning', 'a\nb', { role: 'assistant', content: 'a', reasoning_content: 'b' }],
  ['a name', 'a\nb', { ...user('a'), name: 'b' }],
  ['a role that nobody knows', 'a b\nc', { role: 'a b', content: 'c' }],
  ['an id that is a text', 'a b\nc', { role: 'tool', tool_call_id: 'a b', content: 'c' }],
  [
    'an id that is too long',
    `${'word-'.repeat(26)}\nc`,
    { role: 'tool', tool_call_id: 'word-'.repeat(26), content: 'c' },
  ],
  [
    'an id and a type of a call that are texts',
    'a b\nc d\nrun\n{}',
    { role: 'assistant', tool_calls: [{ ...called('run', '{}'), id: 'a b', type: 'c d' }] },
  ],
  [
    'ids of blocks that are texts',
    'a b\nrun\n{}\nc d\ne',
    user([
      { type: 'tool_use', id: 'a b', name: 'run', input: {} },
      { type: 'tool_result', tool_use_id: 'c d', content: 'e' },
    ]),
  ],
  [
    'no ids as programs make them',
    'run\n{}',
    {
      role: 'assistant',
      tool_calls: [{ ...called('run', '{}'), id: `call_1|fc_2__thought__${'aB1+/'.repeat(99)}==` }],
    },
  ],
];
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

describe('the messages of a chat for the guard face', (check) => {
  check('judges every message, and the worst counts', async () => {
    const finding: Answer = (sent) => guarding(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);
    for (const messages of [
      [
        { role: 'user', content: 'bomb' },
        { role: 'assistant', content: 'no' },
      ],
      [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'bomb' },
      ],
      [
        { role: 'system', content: 'bomb' },
        { role: 'user', content: 'hello' },
      ],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hello' },
            { type: 'input_text', text: 'bomb' },
          ],
        },
      ],
    ])
      assert.match(
        await contentOf(await askGuard(gatewayOver(finding), { model: 'qwen3guard', messages })),
        /^Safety: Unsafe/,
      );
  });

  for (const [name, text, message] of READ)
    check(`reads of a message ${name}`, async () => {
      const world = gatewayOver(guarding({ VI: 90 }));
      assert.match(await contentOf(await askGuard(world, chat(message))), /^Safety: Unsafe/);
      assert.equal(world.calls.map(shownTextOf), [text]);
    });

  check('reads the tools that a chat defines, as one text', async () => {
    const finding: Answer = (sent) => guarding(/bomb/.test(shownTextOf(sent)) ? { ILV: 90 } : {})(sent);
    for (const [name, definitions] of [
      ['tools', [{ type: 'function', function: { name: 'a', description: 'a bomb' } }, { type: 'custom' }]],
      ['functions', [{ name: 'a', parameters: { properties: { bomb: {} } } }]],
    ] as const) {
      const world = gatewayOver(finding);
      const body = { ...chat(user('hello')), [name]: definitions };
      assert.match(await contentOf(await askGuard(world, body)), /^Safety: Unsafe/);
      assert.is(world.calls.length, 2);
    }
    const world = gatewayOver(finding);
    await contentOf(await askGuard(world, { ...chat(user('hello')), tools: [], functions: null }));
    assert.is(world.calls.length, 1);
  });

  check('does not judge the instructions of a platform that asks for JSON', async () => {
    const world = gatewayOver(guarding());
    const messages = [
      { role: 'system', content: 'You are a safety classifier.' },
      { role: 'user', content: 'hello' },
    ];
    await contentOf(await askGuard(world, { model: 'guard-json', messages, response_format: { type: 'json_object' } }));
    assert.equal(world.calls.map(shownTextOf), ['hello']);
  });

  check('judges every other message of a platform that asks for JSON, whatever its role', async () => {
    const world = gatewayOver(guarding());
    const messages = [
      { role: 'system', content: 'You are a safety classifier.' },
      { role: 'system', content: 'one' },
      { role: 'user', content: 'two' },
      { role: 'developer', content: 'three' },
    ];
    await contentOf(await askGuard(world, { model: 'guard-json', messages }));
    assert.equal(world.calls.map(shownTextOf).sort(), ['one', 'three', 'two']);
  });

  check('takes what clients send along without a content of its own', async () => {
    const world = gatewayOver(guarding());
    const messages = [
      { role: 'assistant', content: 'a', refusal: null, tool_calls: [], function_call: null, name: '' },
      { role: 'tool', tool_call_id: 'call_1', content: [{ text: 'b' }, { type: null, text: 'c' }] },
    ];
    assert.is(await contentOf(await askGuard(world, chat(...messages))), 'Safety: Safe\nCategories: None');
    assert.equal(world.calls.map(shownTextOf).sort(), ['a', 'b\nc']);
  });
});

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

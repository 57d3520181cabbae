import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { askGuard, contentOf, guarding } from '../harness/guard-face.ts';
import { type Answer, gatewayOver, shownTextOf } from '../harness/world.ts';
import { called, chat, SIGNATURE, user } from './world.ts';

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
        { function: { name: 'a', arguments: '{}', provider_specific_fields: { thought_signature: SIGNATURE } } },
        { function: { name: 'b', arguments: '{}' }, extra_content: { google: { thought_signature: SIGNATURE } } },
      ],
    },
  ],
  [
    'calls as LiteLLM and Portkey give them on',
    'a\n{}\nb\n{}\nc\n{}',
    {
      role: 'assistant',
      tool_calls: [
        { ...called('a', '{}'), provider_specific_fields: { thought_signature: SIGNATURE } },
        { ...called('b', '{}'), caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } },
        { id: 'x', type: 'function', function: { name: 'c', arguments: '{}', thought_signature: SIGNATURE } },
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
      { type: 'thinking', thinking: 'why', signature: SIGNATURE, cache_control: { type: 'ephemeral', ttl: '1h' } },
      { type: 'redacted_thinking', data: SIGNATURE },
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
      tool_calls: [{ ...called('run', '{}'), id: `call_1|fc_2__thought__${SIGNATURE}` }],
    },
  ],
];

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
      { role: 'system', content: 'one.' },
      { role: 'user', content: 'two' },
      { role: 'developer', content: 'three' },
    ];
    await contentOf(await askGuard(world, { model: 'guard-json', messages }));
    assert.equal(world.calls.map(shownTextOf).sort(), ['one.', 'three', 'two']);
  });

  check('takes what clients send along without a content of its own', async () => {
    const world = gatewayOver(guarding());
    const messages = [
      { role: 'assistant', content: 'a', refusal: null, tool_calls: [], function_call: null, name: '' },
      { role: 'tool', tool_call_id: 'call_1', content: [{ text: 'b.' }, { type: null, text: 'c' }] },
    ];
    assert.is(await contentOf(await askGuard(world, chat(...messages))), 'Safety: Safe\nCategories: None');
    assert.equal(world.calls.map(shownTextOf).sort(), ['a', 'b.\nc']);
  });
});

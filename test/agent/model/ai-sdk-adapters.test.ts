import * as assert from 'uvu/assert';
import { answer, calls, reasoning, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { ADAPTERS, CANARY, createModelWorld, TOOLS, target, textIn } from '../harness/model-world.ts';

const PATHS = {
  '@ai-sdk/openai-compatible': 'chat',
  '@ai-sdk/openai': 'responses',
  '@ai-sdk/anthropic': 'messages',
} as const;

describe('every adapter', (check) => {
  for (const npm of ADAPTERS) {
    check(`uses its own dialect, and reports the same events (${npm})`, async () => {
      const { ask, control } = createModelWorld();
      const pieces = [
        ...reasoning('Let me ', 'see'),
        ...text('One ', 'moment'),
        ...calls(
          { name: 'weather', arguments: { city: 'Bern' }, id: 'c1' },
          { name: 'time', arguments: '{', id: 'c2' },
        ),
      ];
      control.addReply(answer(pieces, { usage: { prompt: 100, cached: 30, completion: 20, reasoning: 5 } }));
      const events = await ask({ target: target({ npm }), tools: TOOLS });
      assert.is(control.requests()[0]?.dialect, PATHS[npm]);
      assert.equal([textIn(events, 'reasoning'), textIn(events, 'text')], ['Let me see', 'One moment']);
      assert.equal(
        events.filter(({ kind }) => kind === 'call'),
        [
          { kind: 'call', id: 'c1', name: 'weather', input: { city: 'Bern' }, raw: '{"city":"Bern"}' },
          { kind: 'call', id: 'c2', name: 'time', input: undefined, raw: '{' },
        ],
      );
      assert.equal(
        events.flatMap((event) => (event.kind === 'call-begun' ? [event.id] : [])),
        ['c1', 'c2'],
      );
      assert.equal(events.at(-1), {
        kind: 'finished',
        finish: 'tool-calls',
        tokens: { input: 70, output: 15, reasoning: 5, cache: { read: 30, write: 0 }, total: 120 },
      });
      assert.ok(events.every((event) => event.kind !== 'reasoning' || event.delta !== ''));
    });

    for (const [finish, reported] of [
      ['stop', 'stop'],
      ['length', 'length'],
      ['content_filter', 'content-filter'],
    ] as const) {
      check(`says when a model ends by ${reported} (${npm})`, async () => {
        const { ask, control } = createModelWorld();
        control.addReply(answer(text('half'), { finish }));
        const last = (await ask({ target: target({ npm }) })).at(-1);
        assert.is(last?.kind === 'finished' && last.finish, reported);
      });
    }

    check(`sends the system's words, the conversation, the tools and the key (${npm})`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply('fine');
      await ask({
        target: target({ npm, maxOutputTokens: 77 }),
        tools: TOOLS,
        messages: [
          { role: 'user', content: [{ kind: 'text', text: 'Weather?' }] },
          { role: 'assistant', text: 'Wait', calls: [{ id: 'c1', name: 'weather', input: { city: 'Bern' } }] },
          { role: 'tool', results: [{ id: 'c1', name: 'weather', output: 'Rain', isError: false }] },
        ],
      });
      const [asked] = control.requests();
      assert.is(asked?.system, 'Be brief.');
      assert.is(asked?.isStreamed, true);
      assert.equal(asked?.tools, ['weather', 'time']);
      const reported = asked?.turns.map((turn) => [turn.role, turn.text]) ?? [];
      assert.equal(reported[0], ['user', 'Weather?']);
      assert.equal(reported.at(-1), ['tool', 'Rain']);
      const made = asked?.turns.flatMap((turn) => (turn.role === 'assistant' ? turn.calls : [])) ?? [];
      assert.equal(
        made.map(({ id, name }) => [id, name]),
        [['c1', 'weather']],
      );
      assert.ok([asked?.headers['x-api-key'], asked?.headers.authorization].join(' ').includes(CANARY));
      assert.is(asked?.headers['x-session-id'], 'ses_1');
      assert.is(asked?.headers['user-agent'], 'gatehouse-agent/1.2.3');
      assert.ok(JSON.stringify(asked?.body).includes(':77'));
    });
  }

  for (const npm of ADAPTERS) {
    const isNamed = npm === '@ai-sdk/anthropic';
    check(`${isNamed ? 'names' : 'leaves out'} the tools when none may be called (${npm})`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply('fine');
      assert.is(textIn(await ask({ target: target({ npm }), tools: TOOLS, toolChoice: 'none' }), 'text'), 'fine');
      const [asked] = control.requests();
      assert.equal(asked?.tools, isNamed ? ['weather', 'time'] : []);
      assert.equal(asked?.body.tool_choice, isNamed ? { type: 'none' } : undefined);
    });
  }

  for (const npm of ADAPTERS) {
    const isNamed = npm === '@ai-sdk/anthropic';
    check(
      `${isNamed ? 'names' : 'leaves out'} the tools of a history where the request has none (${npm})`,
      async () => {
        const { ask, control } = createModelWorld();
        control.addReply('fine');
        const made = ['c1', 'c2'].map((id) => ({ id, name: 'weather', input: {} }));
        await ask({
          target: target({ npm }),
          tools: [],
          messages: [
            { role: 'user', content: [{ kind: 'text', text: 'Weather?' }] },
            { role: 'assistant', text: '', calls: made },
            { role: 'tool', results: made.map(({ id, name }) => ({ id, name, output: 'Rain', isError: false })) },
          ],
        });
        const [asked] = control.requests();
        assert.equal(asked?.tools, isNamed ? ['weather'] : []);
        assert.equal(asked?.body.tool_choice, isNamed ? { type: 'none' } : undefined);
      },
    );
  }

  for (const npm of ADAPTERS) {
    check(`forces a call where one must be made (${npm})`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(answer(calls({ name: 'weather', arguments: {}, id: 'c1' })));
      await ask({ target: target({ npm }), tools: TOOLS, toolChoice: 'required' });
      const isAnthropic = npm === '@ai-sdk/anthropic';
      assert.equal(control.requests()[0]?.body.tool_choice, isAnthropic ? { type: 'any' } : 'required');
      control.addReply(answer(calls({ name: 'weather', arguments: {}, id: 'c2' })));
      await ask({ target: target({ npm }), tools: TOOLS, toolChoice: { name: 'weather' } });
      const inChat = { type: 'function', function: { name: 'weather' } };
      const named = {
        '@ai-sdk/anthropic': { type: 'tool', name: 'weather' },
        '@ai-sdk/openai': { type: 'function', name: 'weather' },
      };
      assert.equal(
        control.requests()[1]?.body.tool_choice,
        new Map<string, object>(Object.entries(named)).get(npm) ?? inChat,
      );
    });
  }

  check('of Anthropic forces no call of a model that thinks, which the API would refuse', async () => {
    const { ask, control } = createModelWorld();
    for (const options of [{ thinking: { type: 'enabled', budgetTokens: 1024 } }, { reasoningEffort: 'high' }]) {
      control.addReply(answer(calls({ name: 'weather', arguments: {}, id: 'c1' })));
      await ask({ target: target({ npm: '@ai-sdk/anthropic', options }), tools: TOOLS, toolChoice: 'required' });
      assert.equal(control.requests().at(-1)?.body.tool_choice, { type: 'auto' });
    }
  });

  check('of Anthropic fails when a tool is called where none may be', async () => {
    const { problem, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: {}, id: 'c1' })));
    const asked = { target: target({ npm: '@ai-sdk/anthropic' }), tools: TOOLS, toolChoice: 'none' as const };
    const { message, isRetryable } = await problem(asked);
    assert.equal([message, isRetryable], ['The provider "acme" asked for a call where none may be made', false]);
  });

  check('of Anthropic says which results are errors', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    const results = [true, false].map((isError, index) => ({ id: `c${index}`, name: 'time', output: 'x', isError }));
    await ask({
      target: target({ npm: '@ai-sdk/anthropic' }),
      messages: [
        { role: 'user', content: [{ kind: 'text', text: 'Time?' }] },
        { role: 'assistant', text: '', calls: results.map(({ id, name }) => ({ id, name, input: {} })) },
        { role: 'tool', results },
      ],
    });
    const reported = JSON.stringify(control.requests()[0]?.body.messages);
    assert.is(reported.match(/"is_error":true/g)?.length, 1);
  });

  check('of OpenAI takes its own options', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    const options = { store: false, reasoningEffort: 'high', parallelToolCalls: false };
    await ask({ target: target({ npm: '@ai-sdk/openai', upstreamID: 'gpt-5', options }) });
    const { store, reasoning: thinking, parallel_tool_calls: isParallel } = control.requests()[0]?.body ?? {};
    assert.equal([store, isParallel], [false, false]);
    assert.is((thinking as { effort?: string }).effort, 'high');
  });

  check('of Anthropic takes its own options', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    const options = { thinking: { type: 'enabled', budgetTokens: 2048 } };
    await ask({ target: target({ npm: '@ai-sdk/anthropic', maxOutputTokens: 100, options }) });
    assert.equal(control.requests()[0]?.body.thinking, { type: 'enabled', budget_tokens: 2048 });
  });
});

import * as assert from 'uvu/assert';
import { ModelError, type ModelErrorKind } from '../../../src/agent/model/types.ts';
import { calling, failing, outcome, replying, type Script, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, byPrompt, dictated, messagesTo } from '../harness/model-scripts.ts';
import { type BridgeGiven, prompts, quietTime, user, withBridge } from '../harness/world.ts';

const CHAT = { messages: [user('look twice')] };

/** Says something, calls a tool, says something and calls another, and comes to an end. */
const SCRIPTS: readonly Script[] = [
  async function* (request, signal) {
    yield { kind: 'reasoning', delta: 'Let me see' };
    yield { kind: 'text', delta: 'First I look.' };
    yield* calling({ name: 'look', input: { at: 'one' } })(request, signal);
  },
  calling({ name: 'look', input: { at: 'two' } }, { name: 'fail', input: {} }),
  replying('Then I ', 'know.'),
];
const STEPS: BridgeGiven = {
  scripts: SCRIPTS,
  tools: [
    toolNamed('look', async () => {
      await quietTime(20);
      return outcome('seen');
    }),
    toolNamed('fail', async () => outcome('broken', true)),
  ],
};

describe('a turn of several steps', (check) => {
  check('is one answer, with the whole conversation and what all of it cost', () =>
    withBridge(STEPS, async (world) => {
      const { text, json } = await world.chat(CHAT);
      assert.is(text, 'First I look.\n\nThen I know.');
      assert.equal([json.usage.prompt_tokens, json.usage.completion_tokens, json.usage.total_tokens], [30, 15, 45]);
      assert.is(json.choices[0]?.finish_reason, 'stop');
      assert.is(json.choices[0]?.message.reasoning_content, 'Let me see');
      assert.is(prompts(world).length, 1);
    }),
  );

  check('is one stream, which reports the calls where no one takes them for its own', () =>
    withBridge(STEPS, async (world) => {
      const stream = await openStream(world, { ...CHAT, stream_options: { include_usage: true } });
      assert.is(await stream.rest(), 'First I look.\n\nThen I know.');
      assert.match(stream.data[0] ?? '', '"delta":{"role":"assistant","content":""}');
      const reported = stream.data.join('\n');
      assert.not.match(reported, 'tool_calls');
      for (const line of ['[tool look] started', '[tool look] finished', '[tool fail] failed'])
        assert.match(reported, line);
      assert.match(stream.data.at(-2) ?? '', '"total_tokens":45');
      assert.is(stream.data.at(-1), '[DONE]');
      assert.is(stream.data.filter((line) => line.includes('"finish_reason":"stop"')).length, 1);
    }),
  );

  check('is one response, with its calls as items that are done', () =>
    withBridge(STEPS, async (world) => {
      const response = await world.send('/v1/responses', { input: 'look twice' });
      const { output, usage } = (await response.json()) as {
        output: { type: string; name?: string; output?: string; error?: unknown; content?: { text: string }[] }[];
        usage: { total_tokens: number };
      };
      assert.equal(
        output.map(({ type, name }) => name ?? type),
        ['reasoning', 'message', 'look', 'look', 'fail', 'message'],
      );
      assert.is(usage.total_tokens, 45);
      assert.not.match(JSON.stringify(output), 'function_call');
    }),
  );

  check('does not report its calls where that is not wished', () =>
    withBridge({ ...STEPS, settings: { showsTools: false } }, async (world) => {
      const stream = await openStream(world, CHAT);
      assert.is(await stream.rest(), 'First I look.\n\nThen I know.');
      assert.not.match(stream.raw(), '[tool');
    }),
  );

  const WITHOUT_REASONING = { ...STEPS, settings: { showsReasoning: false } };

  check('has no reasoning where that is not wished, but the lines of its calls', () =>
    withBridge(WITHOUT_REASONING, async (world) => {
      const stream = await openStream(world, CHAT);
      assert.is(await stream.rest(), 'First I look.\n\nThen I know.');
      assert.match(stream.raw(), '[tool');
      assert.not.match(stream.raw(), 'Let me see');
    }),
  );

  check('is a response without reasoning there, also when it is read again, and costs the same', () =>
    withBridge(WITHOUT_REASONING, async (world) => {
      type Made = { id: string; output: { type: string }[]; usage: { total_tokens: number } };
      const made = (await (await world.send('/v1/responses', { input: 'look twice' })).json()) as Made;
      const again = (await (await world.send(`/v1/responses/${made.id}`)).json()) as Made;
      for (const { output, usage } of [made, again]) {
        const types = output.map(({ type }) => type);
        assert.equal(types, ['message', 'mcp_call', 'mcp_call', 'mcp_call', 'message']);
        assert.is(usage.total_tokens, 45);
      }
    }),
  );
});

describe('a turn that fails', (check) => {
  const problem = (kind: ModelErrorKind, more = {}) => failing(new ModelError(kind, 'It failed', more));
  const FAILURES: readonly (readonly [string, Script, number, string])[] = [
    ['whose model is out of requests', problem('api', { statusCode: 429 }), 429, 'rate_limit_exceeded'],
    ['whose model fails', problem('api', { statusCode: 500 }), 502, 'model_error'],
    ['whose model refuses the key', problem('auth', { statusCode: 401 }), 502, 'model_unauthorized'],
    ['whose conversation is too long', problem('overflow'), 400, 'context_length_exceeded'],
  ];
  for (const [which, script, status, code] of FAILURES)
    check(`${which} is ${code}, and not to be tried again`, () =>
      withBridge(
        {
          scripts: [
            byPrompt(
              { bad: script },
              answering(() => 'fine'),
            ),
          ],
        },
        async (world) => {
          const response = await world.send(
            '/v1/chat/completions',
            { messages: [user('bad')] },
            { 'x-session-id': 'a' },
          );
          assert.is(response.status, status);
          assert.match(await response.text(), `"${code}"`);
          assert.is(response.headers.get('x-should-retry'), 'false');
          const stream = await openStream(world, { messages: [user('bad')] });
          assert.is(await stream.rest(), '');
          assert.match(stream.data.at(-1) ?? '', new RegExp(`"error":.*"${code}"`));
          const failed = await (await world.send('/v1/responses', { input: 'bad', stream: true })).text();
          assert.match(failed, 'event: response.failed');
          assert.is((await world.chat({ messages: [user('good')] }, { 'x-session-id': 'a' })).text, 'fine');
        },
      ),
    );

  check('in its middle ends the conversation with an error and without a good end', () => {
    const half: Script = async function* () {
      yield { kind: 'text', delta: 'Half of it ' };
      throw new ModelError('api', 'It failed', { statusCode: 400 });
    };
    return withBridge({ scripts: [half] }, async (world) => {
      const stream = await openStream(world, CHAT);
      assert.is(await stream.rest(), 'Half of it ');
      assert.match(stream.data.at(-1) ?? '', '"model_error"');
      assert.not.match(stream.raw(), 'finish_reason":"stop"');
    });
  });
});

const HEARTBEATS = [
  ['comment', '/v1/chat/completions', /^: ping\n\n$/],
  ['chunk', '/v1/chat/completions', /^data: \{.*"delta":\{\},.*"finish_reason":null\}.*\}\n\n$/],
  ['chunk', '/v1/responses', /^: ping\n\n$/],
  ['off', '/v1/chat/completions', /^$/],
] as const;

describe('a stream with nothing to say', (check) => {
  for (const [heartbeat, path, beat] of HEARTBEATS)
    check(`of ${path} shows every ten seconds that it lives, with the heartbeat ${heartbeat}`, async () => {
      const model = dictated();
      const clock = createFakeClock();
      await withBridge({ scripts: [model.script], clock, settings: { heartbeat } }, async (world) => {
        const stream = await openStream(world, { ...CHAT, input: 'look twice' }, { path });
        const reading = stream.rest();
        await model.begun;
        await quietTime(20);
        const before = stream.raw().length;
        await clock.advance(9900);
        assert.is(stream.raw().length, before);
        await clock.advance(200);
        await quietTime(5);
        assert.match(stream.raw().slice(before), beat);
        await clock.advance(20_000);
        await quietTime(5);
        assert.is(stream.raw().slice(before).split('\n\n').length - 1, heartbeat === 'off' ? 0 : 3);
        model.addReply('At last');
        model.end();
        await quietTime(50);
        await clock.advance(1000);
        assert.is(await reading, 'At last');
        assert.not.match(stream.raw(), /^id:/m);
      });
    });
});

describe('an answer that begins with what was asked', (check) => {
  const ASKED = 'Tell me of the sea and of its many ships';
  const parrot = answering((words) => `${words}\n\nThe sea is wide.`);

  for (const [path, body] of [
    ['/v1/chat/completions', { messages: [user(ASKED)] }],
    ['/v1/responses', { input: ASKED }],
  ] as const) {
    check(`is sent unchanged to ${path}, unless that is switched off`, () =>
      withBridge({ scripts: [parrot] }, async (world) => {
        const stream = await openStream(world, { messages: [], ...body }, { path });
        assert.is(await stream.rest(), `${ASKED}\n\nThe sea is wide.`);
      }),
    );

    check(`is sent to ${path} without that, whole or streamed, where it is switched off`, () =>
      withBridge({ scripts: [parrot], settings: { dropsLeadingEcho: true } }, async (world) => {
        const stream = await openStream(world, { messages: [], ...body }, { path });
        assert.is(await stream.rest(), 'The sea is wide.');
        const whole = await (await world.send(path, body)).text();
        assert.match(whole, 'The sea is wide.');
        assert.not.match(whole, 'many ships');
      }),
    );
  }

  check('is sent unchanged when that was short, or is all there is', () =>
    withBridge(
      {
        scripts: [answering((words) => (words === 'Hello' ? 'Hello! How can I help?' : words))],
        settings: { dropsLeadingEcho: true },
      },
      async (world) => {
        assert.is((await world.chat({ messages: [user('Hello')] })).text, 'Hello! How can I help?');
        assert.is((await world.chat({ messages: [user(ASKED)] })).text, ASKED);
      },
    ),
  );

  check('goes on with what its client sends back, though that is only a part of it', () =>
    withBridge({ scripts: [parrot], settings: { dropsLeadingEcho: true } }, async (world) => {
      const first = await world.chat({ messages: [user(ASKED)] });
      const messages = [user(ASKED), { role: 'assistant', content: first.text }, user('and of the land?')];
      await world.chat({ messages });
      assert.equal(
        world.agent.asked.at(-1)?.messages.map(({ role }) => role),
        ['user', 'assistant', 'user'],
      );
      const told = messagesTo(world.agent.asked.at(-1));
      assert.match(told, first.text);
      assert.is(told.split(ASKED).length, 2);
    }),
  );
});

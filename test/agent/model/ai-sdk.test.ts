import * as assert from 'uvu/assert';
import { answer, calls, reasoning, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { ADAPTERS, createModelWorld, TOOLS, target, textIn } from '../harness/model-world.ts';

const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 }, total: 0 };

describe('what a model says', (check) => {
  check('arrives piece by piece, and ends with one finish', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('Good ', 'morning'), { usage: { prompt: 9, completion: 2 } }));
    assert.equal(await ask(), [
      { kind: 'text', delta: 'Good ' },
      { kind: 'text', delta: 'morning' },
      {
        kind: 'finished',
        finish: 'stop',
        tokens: { input: 9, output: 2, reasoning: 0, cache: { read: 0, write: 0 }, total: 11 },
      },
    ]);
  });

  check('keeps its reasoning apart from its text, and reports it in order', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer([...reasoning('Let me ', 'see'), ...text('Yes')]));
    const events = await ask();
    assert.equal(
      events.map(({ kind }) => kind),
      ['reasoning', 'reasoning', 'text', 'finished'],
    );
    assert.is(textIn(events, 'reasoning'), 'Let me see');
  });

  check('keeps its think tags in the text', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('<think>se', 'cret</think>', 'Yes')));
    assert.is(textIn(await ask(), 'text'), '<think>secret</think>Yes');
  });

  check('counts tokens as the wire does: without the cache, without the reasoning', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('x'), { usage: { prompt: 100, cached: 30, completion: 20, reasoning: 5 } }));
    const tokens = { input: 70, output: 15, reasoning: 5, cache: { read: 30, write: 0 }, total: 120 };
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens });
  });

  check('may come without any count of tokens', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(text('x'), { usage: null }));
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens: NO_TOKENS });
  });

  check('may be nothing at all', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer([], { usage: null }));
    assert.equal(await ask(), [{ kind: 'finished', finish: 'stop', tokens: NO_TOKENS }]);
  });

  check('may be a million characters long', async () => {
    const { ask, control } = createModelWorld();
    const long = 'wörd '.repeat(200_000);
    control.addReply(answer(text(...(long.match(/[\s\S]{1,9000}/g) ?? []))));
    assert.is(textIn(await ask(), 'text'), long);
  });

  for (const [finish, reported] of [
    ['length', 'length'],
    ['content_filter', 'content-filter'],
  ] as const) {
    check(`says when it ended by ${reported}`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(answer(text('half'), { finish, usage: null }));
      assert.equal((await ask()).at(-1), { kind: 'finished', finish: reported, tokens: NO_TOKENS });
    });
  }

  check('comes in one piece from a backend that cannot stream', async () => {
    const { ask, control } = createModelWorld();
    const pieces = [
      ...reasoning('hm'),
      ...text('Here'),
      ...calls({ name: 'time', arguments: {}, id: 'c1' }, { name: 'time', arguments: '', id: 'c2' }),
    ];
    control.addReply(answer(pieces, { isWhole: true, usage: { prompt: 3, completion: 4 } }));
    assert.equal(await ask({ tools: TOOLS }), [
      { kind: 'reasoning', delta: 'hm' },
      { kind: 'text', delta: 'Here' },
      { kind: 'call-begun', id: 'c1', name: 'time' },
      { kind: 'call-begun', id: 'c2', name: 'time' },
      { kind: 'call', id: 'c1', name: 'time', input: {}, raw: '{}' },
      { kind: 'call', id: 'c2', name: 'time', input: {}, raw: '{}' },
      {
        kind: 'finished',
        finish: 'tool-calls',
        tokens: { input: 3, output: 4, reasoning: 0, cache: { read: 0, write: 0 }, total: 7 },
      },
    ]);
  });

  check('is read past comments and events that are no part of it', async () => {
    const { ask, control } = createModelWorld();
    const aside = { kind: 'raw', text: ': keep-alive\n\ndata: {"object":"ping"}\n\n' } as const;
    control.addReply(answer([...text('a'), aside, ...text('b'), { kind: 'raw', text: 'id: 7\nretry: 10\n\n' }]));
    assert.is(textIn(await ask(), 'text'), 'ab');
  });

  check('is whole once it has said why it stopped, with or without a last word of the protocol', async () => {
    const { ask, control } = createModelWorld();
    const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    control.addReply(
      answer([...text('all'), { kind: 'raw', text: `data: ${JSON.stringify(last)}\n\n` }, { kind: 'close' }]),
    );
    assert.equal((await ask()).at(-1), { kind: 'finished', finish: 'stop', tokens: NO_TOKENS });
  });
});

describe('the tool calls of a model', (check) => {
  check('are reported as soon as they begin, and again with their arguments', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(
      answer([...text('Looking'), ...calls({ name: 'weather', arguments: { city: 'Bern' }, id: 'c1' })]),
    );
    const events = await ask({ tools: TOOLS });
    assert.equal(events.slice(1, 3), [
      { kind: 'call-begun', id: 'c1', name: 'weather' },
      { kind: 'call', id: 'c1', name: 'weather', input: { city: 'Bern' }, raw: '{"city":"Bern"}' },
    ]);
    const last = events.at(-1);
    assert.is(last?.kind === 'finished' && last.finish, 'tool-calls');
  });

  check('are kept apart when they come side by side', async () => {
    const { ask, control } = createModelWorld();
    const [one, two] = [{ city: 'Bern' }, { city: 'Lausanne' }];
    control.addReply(answer(calls({ name: 'weather', arguments: one }, { name: 'weather', arguments: two })));
    const made = (await ask({ tools: TOOLS })).filter((event) => event.kind === 'call');
    assert.equal(
      made.map(({ input }) => input),
      [one, two],
    );
    assert.is(new Set(made.map(({ id }) => id)).size, 2);
  });

  check('have no input when their arguments are no JSON, and no one repairs them', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: '{"city": "Ber', id: 'c1' })));
    const events = await ask({ tools: TOOLS });
    const made = events.find((event) => event.kind === 'call');
    assert.equal(made, { kind: 'call', id: 'c1', name: 'weather', input: undefined, raw: '{"city": "Ber' });
    assert.is(events.at(-1)?.kind, 'finished');
  });

  check('are passed on as they are when the arguments do not fit, or the tool is unknown', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: [7] }, { name: 'no_such_tool', arguments: { a: 1 } })));
    const made = (await ask({ tools: TOOLS })).filter((event) => event.kind === 'call');
    assert.equal(
      made.map(({ name, input }) => [name, input]),
      [
        ['weather', [7]],
        ['no_such_tool', { a: 1 }],
      ],
    );
  });

  check('are passed on even when no tool was offered', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'weather', arguments: {} })));
    assert.is((await ask()).filter(({ kind }) => kind === 'call').length, 1);
  });

  for (const nothing of ['', ' \n']) {
    check(`mean an empty object when they say nothing: ${JSON.stringify(nothing)}`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(answer(calls({ name: 'time', arguments: nothing })));
      const made = (await ask({ tools: TOOLS })).find((event) => event.kind === 'call');
      assert.equal(made?.kind === 'call' && made.input, {});
    });
  }

  check('keep their arguments as the model has written them', async () => {
    const { ask, control } = createModelWorld();
    for (const [raw, input] of [
      ['{ "city" : "Z\\u00fcrich" }', '{"city":"Zürich"}'],
      ['{ "city" : "", "__proto__": {"a": 1} }', '{"city":"","__proto__":{"a":1}}'],
    ] as const) {
      control.addReply(answer(calls({ name: 'weather', arguments: raw })));
      const made = (await ask({ tools: TOOLS })).find((event) => event.kind === 'call');
      assert.ok(made?.kind === 'call');
      assert.equal([made.raw, JSON.stringify(made.input)], [raw, input]);
    }
  });

  check('make the end one of tool calls, also for a backend that says stop', async () => {
    const { ask, control } = createModelWorld();
    control.addReply(answer(calls({ name: 'time', arguments: {} }), { finish: 'stop' }));
    const last = (await ask({ tools: TOOLS })).at(-1);
    assert.is(last?.kind === 'finished' && last.finish, 'tool-calls');
  });
});

describe('what a model is asked', (check) => {
  check('is asked for as a stream with its usage, and with the options as they are configured', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    const options = { store: false, reasoningEffort: 'high', textVerbosity: 'low', x: { y: [1, null] } };
    await ask({ target: target({ options, maxOutputTokens: 77, temperature: 0.5, topP: 0.9 }), tools: TOOLS });
    const { messages, tools, ...rest } = control.requests()[0]?.body ?? {};
    assert.equal(rest, {
      model: 'acme-large',
      max_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      store: false,
      reasoning_effort: 'high',
      verbosity: 'low',
      x: { y: [1, null] },
      tool_choice: 'auto',
      stream: true,
      stream_options: { include_usage: true },
    });
    assert.equal(messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ]);
    const offered = TOOLS.map(({ name, description, inputSchema: parameters }) => ({ name, description, parameters }));
    assert.equal(
      tools,
      offered.map((tool) => ({ type: 'function', function: tool })),
    );
  });

  check('names the session and this program, and no other', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    await ask({ target: target({ headers: { 'x-team': 'blue' } }) });
    const { headers = {} } = control.requests()[0] ?? {};
    assert.is(headers['x-session-id'], 'ses_1');
    assert.is(headers['x-session-affinity'], 'ses_1');
    assert.is(headers['user-agent'], 'gatehouse-agent/1.2.3');
    assert.is(headers['x-team'], 'blue');
  });

  check('takes a configured header before any of its own', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    const headers = { 'User-Agent': 'theirs', authorization: 'Basic eA==', 'X-Session-Id': 'fixed' };
    await ask({ target: target({ headers }) });
    const seen = control.requests()[0]?.headers ?? {};
    assert.equal([seen['user-agent'], seen.authorization, seen['x-session-id']], ['theirs', 'Basic eA==', 'fixed']);
  });

  check('goes without a key to a backend that has none, whatever the environment says', async () => {
    const { ask, control } = createModelWorld();
    const names = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL'];
    for (const value of [undefined, 'http://of-somebody.test']) {
      for (const name of names) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      for (const npm of ADAPTERS) {
        control.addReply('fine');
        await ask({ target: target({ npm, apiKey: undefined }) });
        const { headers = {} } = control.requests().at(-1) ?? {};
        assert.equal([headers.authorization, headers['x-api-key']], [undefined, undefined]);
      }
    }
  });

  check('holds the whole conversation: calls, results, files', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    await ask({
      messages: [
        {
          role: 'user',
          content: [
            { kind: 'text', text: 'Look' },
            { kind: 'file', mime: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' },
            { kind: 'file', mime: 'text/plain', url: 'data:text/plain;base64,w6TDtg==', filename: 'a.txt' },
          ],
        },
        { role: 'assistant', text: 'Let me see', calls: [{ id: 'c1', name: 'weather', input: { city: 'Bern' } }] },
        { role: 'tool', results: [{ id: 'c1', name: 'weather', output: 'No such city', isError: true }] },
        { role: 'assistant', text: '', calls: [] },
        { role: 'user', content: [{ kind: 'text', text: 'And now?' }] },
      ],
    });
    assert.equal(control.requests()[0]?.body.messages, [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          { type: 'text', text: 'a.txt:\näö' },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me see',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'No such city' },
      { role: 'user', content: 'And now?' },
    ]);
  });

  check('says in a line what a file was that cannot be sent, and fetches none', async () => {
    for (const npm of ADAPTERS) {
      const { ask, control } = createModelWorld();
      control.addReply('fine');
      const content = [
        {
          kind: 'file' as const,
          mime: 'application/zip',
          url: 'data:application/zip;base64,UEsDBA==',
          filename: 'a.zip',
        },
        { kind: 'file' as const, mime: 'image/png', url: 'http://169.254.169.254/latest' },
        { kind: 'file' as const, mime: 'image/png', url: 'data:image/png;base64,%%%' },
        { kind: 'file' as const, mime: 'audio/ogg', url: 'data:audio/ogg;base64,T2dnUw==' },
        { kind: 'file' as const, mime: 'application/pdf', url: 'data:application/pdf;base64,JVBERi0=' },
      ];
      await ask({ messages: [{ role: 'user', content }], target: target({ npm }) });
      const sent = JSON.stringify(control.requests()[0]?.body);
      assert.match(sent, '[attached a.zip, application/zip, 4 bytes: cannot be shown to this model]');
      assert.match(sent, '[attached file, image/png, 0 bytes: cannot be shown to this model]');
      assert.match(sent, '[attached file, audio/ogg, 4 bytes: cannot be shown to this model]');
      assert.match(sent, 'JVBERi0=');
      assert.not.match(sent, /169\.254|%%%/);
      assert.is(control.requests().length, 1);
    }
  });

  check('repeats no arguments that were no object', async () => {
    const { ask, control } = createModelWorld();
    control.addReply('fine');
    await ask({
      messages: [
        { role: 'user', content: [{ kind: 'text', text: 'Look' }] },
        { role: 'assistant', text: '', calls: [{ id: 'c1', name: 'weather', input: undefined }] },
        { role: 'tool', results: [{ id: 'c1', name: 'weather', output: 'Bad JSON', isError: true }] },
      ],
    });
    const made = control.requests()[0]?.turns.flatMap((turn) => (turn.role === 'assistant' ? turn.calls : []));
    assert.is(made?.[0]?.arguments, '{}');
  });

  check('is asked over one connection maker for each target, and never mixes keys', async () => {
    const { ask, control } = createModelWorld();
    control.alwaysReply('fine');
    for (const apiKey of ['one', 'two', 'one']) await ask({ target: target({ apiKey }) });
    assert.equal(
      control.requests().map(({ headers }) => headers.authorization),
      ['Bearer one', 'Bearer two', 'Bearer one'],
    );
  });

  check('leaves the console and the process alone, whatever happens', async () => {
    const written: unknown[] = [];
    const { warn, error, log, info } = console;
    const { emitWarning } = process;
    const note = (...words: unknown[]) => void written.push(words);
    Object.assign(console, { warn: note, error: note, log: note, info: note });
    process.emitWarning = note;
    const unhandled = (reason: unknown) => void written.push(reason);
    process.on('unhandledRejection', unhandled);
    try {
      const { ask, problem, control } = createModelWorld();
      control.addReply(answer([...text('a'), { kind: 'error', code: 'server_error', message: 'no' }]));
      await problem();
      control.addReply('fine');
      // Options that this adapter warns about.
      await ask({ target: target({ npm: '@ai-sdk/anthropic', temperature: 7, topP: 0.5 }) });
      await problem({ target: target({ npm: '@ai-sdk/openai', baseURL: 'http://model.test/nowhere' }) });
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      Object.assign(console, { warn, error, log, info });
      process.emitWarning = emitWarning;
      process.off('unhandledRejection', unhandled);
    }
    assert.equal(written, []);
  });
});

import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { ADAPTERS, createModelWorld, TOOLS, target } from '../harness/model-world.ts';

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

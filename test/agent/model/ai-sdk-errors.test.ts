import * as assert from 'uvu/assert';
import { answer, calls, refusal, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { ADAPTERS, CANARY, createModelWorld, target } from '../harness/model-world.ts';

const USER_TEXT = 'private words of a user';
/** What backends like to repeat in their errors. */
const leaking = { message: `Incorrect key ${CANARY} of org-4711 for "${USER_TEXT}"` };

const REFUSALS = [
  { status: 400, code: 'invalid_request_error', kind: 'api', isRetryable: false },
  { status: 401, code: 'invalid_api_key', kind: 'auth', isRetryable: false },
  { status: 403, code: 'permission_error', kind: 'auth', isRetryable: false },
  { status: 404, code: 'model_not_found', kind: 'api', isRetryable: false },
  { status: 408, code: 'timeout', kind: 'api', isRetryable: true },
  { status: 409, code: 'conflict', kind: 'api', isRetryable: true },
  { status: 413, code: 'payload_too_large', kind: 'overflow', isRetryable: false },
  { status: 429, code: 'rate_limit_exceeded', kind: 'api', isRetryable: true },
  { status: 429, code: 'insufficient_quota', kind: 'api', isRetryable: false },
  { status: 500, code: 'server_error', kind: 'api', isRetryable: true },
  { status: 503, code: 'overloaded', kind: 'api', isRetryable: true },
  { status: 529, code: 'overloaded_error', kind: 'api', isRetryable: true },
  { status: 400, code: 'context_length_exceeded', kind: 'overflow', isRetryable: false },
  { status: 400, code: 'content_filter', kind: 'content-filter', isRetryable: false },
] as const;

describe('a backend that refuses', (check) => {
  for (const npm of ADAPTERS) {
    for (const { status, code, kind, isRetryable } of REFUSALS) {
      check(`with ${status} ${code} is a problem of the kind ${kind} (${npm})`, async () => {
        const { problem, control } = createModelWorld();
        control.addReply(refusal(status, code, leaking));
        const found = await problem({ target: target({ npm }) });
        assert.equal([found.kind, found.statusCode, found.isRetryable], [kind, status, isRetryable]);
        assert.ok(found.message.includes(`(status ${status}, ${code})`), found.message);
        for (const secret of [CANARY, USER_TEXT, 'org-4711', 'Incorrect'])
          assert.not.ok(found.message.includes(secret));
        assert.is(control.requests().length, 1, 'nothing is tried again here');
      });
    }
  }

  for (const words of [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'prompt is too long: 210000 tokens > 200000 maximum',
    'the request exceeds the available context size, try increasing it',
    'Input is too long for requested model.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ]) {
    check(`and says "${words.slice(0, 40)}..." means that the conversation is too long`, async () => {
      const { problem, control } = createModelWorld();
      control.addReply(refusal(400, 'invalid_request_error', { message: words }));
      assert.is((await problem()).kind, 'overflow');
    });
  }

  check('for too many tokens in a minute is not one whose model is too small', async () => {
    const { problem, control } = createModelWorld();
    control.addReply(refusal(429, 'rate_limit_exceeded', { message: 'Too many tokens, reduce the length or wait' }));
    assert.is((await problem()).kind, 'api');
  });

  for (const [headers, waitMs] of [
    [{}, undefined],
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
    [{ 'retry-after-ms': '250.5' }, 251],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
    [{ 'retry-after': 'soon' }, undefined],
  ] as const) {
    check(`for a while is believed: ${JSON.stringify(headers)}`, async () => {
      const { problem, control } = createModelWorld();
      control.addReply(refusal(429, 'rate_limit_exceeded', { headers }));
      assert.is((await problem()).retryAfterMs, waitMs);
    });
  }

  check('and says itself whether to try again is believed', async () => {
    const { problem, control } = createModelWorld();
    control.addReply(refusal(503, 'overloaded', { headers: { 'x-should-retry': 'false' } }));
    assert.is((await problem()).isRetryable, false);
    control.addReply(refusal(400, 'odd', { headers: { 'x-should-retry': 'true' } }));
    assert.is((await problem()).isRetryable, true);
  });

  check('in a form of its own is reported by its status alone', async () => {
    const { problem, control } = createModelWorld();
    const bodies = [`key ${CANARY}`, '<html>', '', '{"error":"unknown"}', '{"error":{"code":"Not A Code!"}}', '[]'];
    for (const body of bodies) {
      control.addReply({ kind: 'refusal', status: 502, body });
      assert.is((await problem()).message, 'The provider "acme" did not answer (status 502)');
    }
  });

  check('cannot show a key by calling it a code', async () => {
    const { problem, control } = createModelWorld();
    for (const code of ['sk_live_0123456789', 'x_sk_live_0123456789_x', 'team_secret_header', 'live_0123']) {
      control.addReply(refusal(500, code));
      const headers = { 'x-team': 'team_secret_header' };
      const { message } = await problem({ target: target({ apiKey: 'sk_live_0123456789', headers }) });
      assert.is(message, 'The provider "acme" did not answer (status 500)');
    }
  });

  check('with a redirect is not followed there, and gets no second request', async () => {
    const { problem, control } = createModelWorld();
    control.addReply({ kind: 'refusal', status: 307, headers: { location: 'http://elsewhere.test/' }, body: '' });
    const found = await problem();
    assert.equal([found.kind, found.statusCode, found.isRetryable], ['api', 307, false]);
  });
});

describe('a backend whose answer goes wrong', (check) => {
  for (const npm of ADAPTERS) {
    for (const [what, pieces] of [
      ['before its first word', [{ kind: 'close' }]],
      ['in its text', [...text('So I'), { kind: 'close' }]],
      ['in a call', [...calls({ name: 'a', arguments: {} }), { kind: 'close' }]],
    ] as const) {
      check(`and ends ${what} is cut off (${npm})`, async () => {
        const { problem, control } = createModelWorld();
        control.addReply(answer(pieces));
        const found = await problem({ target: target({ npm }) });
        assert.equal([found.kind, found.isRetryable], ['cut-off', true]);
      });
    }

    check(`and whose connection breaks is a problem of the network (${npm})`, async () => {
      const { problem, control } = createModelWorld();
      control.addReply(answer([...text('So I'), { kind: 'break' }]));
      const found = await problem({ target: target({ npm }) });
      assert.equal([found.kind, found.isRetryable], ['network', true]);
    });

    for (const [code, kind, isRetryable] of [
      ['server_error', 'api', true],
      ['overloaded_error', 'api', true],
      ['context_length_exceeded', 'overflow', false],
      ['invalid_api_key', 'auth', false],
    ] as const) {
      for (const [place, before] of [
        ['at once', []],
        ['after some text', text('So I')],
      ] as const) {
        check(`and reports ${code} ${place} is a problem of the kind ${kind} (${npm})`, async () => {
          const { problem, control } = createModelWorld();
          control.addReply(answer([...before, { kind: 'error', code, ...leaking }, { kind: 'close' }]));
          const found = await problem({ target: target({ npm }) });
          assert.equal([found.kind, found.isRetryable], [kind, isRetryable]);
          assert.not.ok(/canary|private|org-4711|Incorrect/.test(found.message), found.message);
          assert.ok(found.message.includes(code), found.message);
        });
      }
    }

    check(`and holds a line that is no JSON is no answer (${npm})`, async () => {
      const { problem, control } = createModelWorld();
      control.addReply(answer([...text('So I'), { kind: 'raw', text: `data: {"${CANARY}\n\n` }, ...text(' go')]));
      const found = await problem({ target: target({ npm }) });
      assert.equal([found.kind, found.isRetryable], ['api', true]);
      assert.not.ok(found.message.includes('canary'));
    });
  }

  check('and holds an event of the wrong form is no answer: a piece would be missing', async () => {
    const { problem, control } = createModelWorld();
    control.addReply(answer([{ kind: 'raw', text: `data: {"choices":[{"delta":{"content":7}}]}\n\n` }, ...text('go')]));
    assert.is((await problem()).kind, 'api');
  });

  check('and holds a bare error is a problem of its own', async () => {
    const { problem, control } = createModelWorld();
    control.addReply(answer([{ kind: 'raw', text: `data: {"error":"${CANARY}"}\n\n` }]));
    assert.is((await problem()).message, 'The provider "acme" broke its answer off with an error');
  });

  check('and is a web page, or nothing, says that the address is wrong', async () => {
    const { problem, control } = createModelWorld();
    control.addReply({ kind: 'refusal', status: 200, headers: { 'content-type': 'text/html' }, body: '<p>Welcome' });
    assert.match((await problem()).message, 'web page');
  });

  check('and is JSON with an error in it is a problem in spite of its status', async () => {
    const { problem, control } = createModelWorld();
    control.addReply({ kind: 'refusal', status: 200, body: { error: { code: 'overloaded', ...leaking } } });
    const found = await problem();
    assert.is(found.message, 'The provider "acme" broke its answer off with an error (overloaded)');
    control.addReply({ kind: 'refusal', status: 200, body: { hello: CANARY } });
    assert.match((await problem()).message, /^The provider "acme" answered in one piece that is no chat completion/);
  });

  for (const npm of ['@ai-sdk/openai', '@ai-sdk/anthropic']) {
    check(`and comes in one piece cannot be read by ${npm}`, async () => {
      const { problem, control } = createModelWorld();
      control.addReply(answer(text('all'), { isWhole: true }));
      assert.match((await problem({ target: target({ npm }) })).message, 'in one piece');
    });
  }
});

describe('a model that cannot be asked', (check) => {
  check('because its adapter is not built in is reported with those that are', async () => {
    const { problem } = createModelWorld();
    const found = await problem({ target: target({ npm: '@ai-sdk/groq' }) });
    assert.is(found.kind, 'unknown-adapter');
    for (const npm of ADAPTERS) assert.ok(found.message.includes(npm));
  });

  check('because it has no address is reported', async () => {
    const { problem } = createModelWorld();
    assert.match((await problem({ target: target({ baseURL: undefined }) })).message, 'baseURL');
  });

  check('because no one is there is worth another try, and shows no more than the word for it', async () => {
    const refused = Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error(`connect ECONNREFUSED 10.0.0.1 ${CANARY}`), { code: 'ECONNREFUSED' }),
    });
    const { problem } = createModelWorld(() => async () => {
      throw refused;
    });
    const found = await problem();
    assert.equal([found.kind, found.isRetryable], ['network', true]);
    assert.is(found.message, 'The provider "acme" could not be reached, or the connection broke (ECONNREFUSED)');
  });

  check('because of an option that is not allowed says so, and not what it was', async () => {
    const { problem } = createModelWorld();
    const found = await problem({ target: target({ options: { reasoningEffort: { a: CANARY } } }) });
    assert.match(found.message, 'an option');
    assert.not.ok(found.message.includes('canary'));
  });
});

import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { type BridgeFault, bridgeErrorResponse } from '../../../src/bridge/errors.ts';
import { internalErrorResponse } from '../../../src/core/http/response.ts';
import { type GatewayFault, gatewayErrorResponse } from '../../../src/gateway/errors.ts';
import { describe } from '../../check.ts';
import { codePoint } from '../../code-points.ts';

/** The kinds that every service has, and those of the two that answer in this shape. */
type FaultDetail = GatewayFault | BridgeFault;
const errorResponse = (detail: FaultDetail): Response =>
  // The gateway has a status of its own for a large body.
  detail.kind === 'agent-failed' || detail.kind === 'body-too-large'
    ? bridgeErrorResponse(detail)
    : gatewayErrorResponse(detail);

type Row = {
  readonly detail: FaultDetail;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly param?: string;
  readonly expectedText: RegExp;
  readonly headers?: Readonly<Record<string, string>>;
};

const REFUSAL = 'invalid_request_error';
const SERVER_ERROR = 'server_error';

/** One row for every kind but `client-left`, which nobody is there to read. The compiler asks for the missing ones. */
const TABLE: Readonly<Record<Exclude<FaultDetail['kind'], 'client-left'>, Row>> = {
  unauthorized: {
    detail: { kind: 'unauthorized' },
    status: 401,
    code: 'invalid_api_key',
    type: REFUSAL,
    expectedText: /Authorization: Bearer/,
    headers: { 'www-authenticate': 'Bearer' },
  },
  'bad-input': {
    detail: { kind: 'bad-input', code: 'empty_input', param: 'input[3]', message: 'Expected visible text' },
    status: 400,
    code: 'empty_input',
    type: REFUSAL,
    param: 'input[3]',
    expectedText: /^Expected visible text$/,
  },
  'unjudged-input': {
    detail: { kind: 'unjudged-input', code: 'image_unsupported', param: 'input[1]', message: 'It judges no images' },
    status: 400,
    code: 'image_unsupported',
    type: REFUSAL,
    param: 'input[1]',
    expectedText: /^It judges no images$/,
  },
  'unjudged-text': {
    detail: { kind: 'unjudged-text', message: 'Expected a text at messages[0].content' },
    status: 503,
    code: 'unjudged_text',
    type: SERVER_ERROR,
    expectedText: /^Expected a text/,
    headers: { 'x-should-retry': 'false' },
  },
  'model-not-found': {
    detail: { kind: 'model-not-found', valid: ['moderation-fast', 'omni-moderation-latest'] },
    status: 404,
    code: 'model_not_found',
    type: REFUSAL,
    param: 'model',
    expectedText: /moderation-fast, omni-moderation-latest/,
  },
  'not-found': {
    detail: { kind: 'not-found', hint: 'The base URL must not end in /v1' },
    status: 404,
    code: 'not_found',
    type: REFUSAL,
    expectedText: /must not end in \/v1/,
  },
  conflict: {
    detail: { kind: 'conflict', message: 'Something is under way' },
    status: 409,
    code: 'conflict',
    type: REFUSAL,
    expectedText: /^Something is under way$/,
  },
  'method-not-allowed': {
    detail: { kind: 'method-not-allowed', allow: ['GET', 'HEAD'] },
    status: 405,
    code: 'method_not_allowed',
    type: REFUSAL,
    expectedText: /GET, HEAD/,
    headers: { allow: 'GET, HEAD' },
  },
  'body-too-slow': {
    detail: { kind: 'body-too-slow' },
    status: 408,
    code: 'body_timeout',
    type: REFUSAL,
    expectedText: /in time/,
    headers: { 'x-should-retry': 'false' },
  },
  'body-too-large': {
    detail: { kind: 'body-too-large', limitBytes: 1_048_576 },
    status: 413,
    code: 'body_too_large',
    type: REFUSAL,
    expectedText: /1048576 bytes/,
  },
  'unsupported-media-type': {
    detail: { kind: 'unsupported-media-type' },
    status: 415,
    code: 'unsupported_media_type',
    type: REFUSAL,
    expectedText: /application\/json/,
  },
  'rate-limited': {
    detail: { kind: 'rate-limited', retryAfterMs: 8_100 },
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    expectedText: /requests/,
    headers: { 'retry-after': '9' },
  },
  unavailable: {
    detail: { kind: 'unavailable', message: 'The service is starting', retryAfterMs: 1_000 },
    status: 503,
    code: 'unavailable',
    type: SERVER_ERROR,
    expectedText: /starting/,
    headers: { 'retry-after': '1' },
  },
  overloaded: {
    detail: { kind: 'overloaded', retryAfterMs: 2_000 },
    status: 503,
    code: 'overloaded',
    type: SERVER_ERROR,
    expectedText: /waiting/,
    headers: { 'retry-after': '2' },
  },
  'no-backend-key': {
    detail: { kind: 'no-backend-key', retryAfterMs: 30_000 },
    status: 503,
    code: 'no_backend_key',
    type: SERVER_ERROR,
    expectedText: /cooling down/,
    headers: { 'retry-after': '30' },
  },
  'backend-error': {
    detail: { kind: 'backend-error', reason: 'status 500' },
    status: 502,
    code: 'backend_error',
    type: SERVER_ERROR,
    expectedText: /status 500/,
  },
  'backend-unusable': {
    detail: { kind: 'backend-unusable', reason: 'the nonce is wrong' },
    status: 502,
    code: 'backend_unusable_reply',
    type: SERVER_ERROR,
    expectedText: /the nonce is wrong/,
    headers: { 'x-should-retry': 'false' },
  },
  'agent-failed': {
    detail: {
      kind: 'agent-failed',
      status: 502,
      code: 'agent_lost',
      message: 'The agent went away',
      isRetryable: false,
    },
    status: 502,
    code: 'agent_lost',
    type: SERVER_ERROR,
    expectedText: /^The agent went away$/,
    headers: { 'x-should-retry': 'false' },
  },
  'backend-timeout': {
    detail: { kind: 'backend-timeout' },
    status: 504,
    code: 'backend_timeout',
    type: SERVER_ERROR,
    expectedText: /deadline/,
  },
};

const bytesOf = async (response: Response): Promise<number> => (await response.arrayBuffer()).byteLength;
const messageOf = async (response: Response): Promise<string> => (await response.json()).error.message;
const notFound = (hint: string): Response => errorResponse({ kind: 'not-found', hint });

describe('the answer to a fault', (check) => {
  for (const [kind, { detail, status, code, type, param = null, expectedText, headers = {} }] of Object.entries(
    TABLE,
  )) {
    check(`${kind} is ${status} ${code}, with exactly the headers of the table`, async () => {
      const response = errorResponse(detail);
      assert.is(response.status, status);
      assert.equal(Object.fromEntries(response.headers), { 'content-type': 'application/json', ...headers });
      const { error, ...others } = await response.json();
      assert.equal(others, {});
      assert.equal(Object.keys(error), ['message', 'type', 'param', 'code']);
      assert.equal([error.type, error.param, error.code], [type, param, code]);
      assert.match(error.message, expectedText);
    });
  }

  check('client-left is a bare 499 for the log', async () => {
    const response = errorResponse({ kind: 'client-left' });
    assert.is(response.status, 499);
    assert.is(response.body, null);
    assert.equal([...response.headers], []);
  });

  check('to a bug is 500 and reports nothing', async () => {
    const response = internalErrorResponse();
    assert.is(response.status, 500);
    const { error } = await response.json();
    assert.equal([error.type, error.param, error.code], [SERVER_ERROR, null, 'internal_error']);
    assert.match(error.message, /request id/);
  });
});

describe('the wait that is asked for', (check) => {
  const waits: readonly (readonly [number, string])[] = [
    [-5000, '1'],
    [0, '1'],
    [1, '1'],
    [1000, '1'],
    [1001, '2'],
    [29_999.5, '30'],
    [120_000, '120'],
    [120_001, '120'],
    [3_600_000, '120'],
    [Number.POSITIVE_INFINITY, '120'],
  ];
  for (const [retryAfterMs, seconds] of waits) {
    check(`is ${seconds} s for ${retryAfterMs} ms`, () => {
      for (const kind of ['rate-limited', 'overloaded', 'no-backend-key'] as const) {
        assert.is(errorResponse({ kind, retryAfterMs }).headers.get('retry-after'), seconds, kind);
      }
    });
  }

  check('over 30 s asks the client not to retry, up to 30 s leaves it to the client', () => {
    const advice = (retryAfterMs: number) =>
      errorResponse({ kind: 'no-backend-key', retryAfterMs }).headers.get('x-should-retry');
    assert.equal([0, 1000, 30_000].map(advice), [null, null, null]);
    assert.equal([30_001, 31_000, 120_000, 3_600_000].map(advice), ['false', 'false', 'false', 'false']);
  });

  check('for a place or for the next minute is never called hopeless', () => {
    for (const kind of ['rate-limited', 'overloaded'] as const) {
      assert.is(errorResponse({ kind, retryAfterMs: 60_000 }).headers.get('x-should-retry'), null, kind);
    }
  });
});

describe('the body of an error', (check) => {
  const names = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);

  for (const [what, name] of [
    ['ASCII', 'a-model-with-quite-a-long-name-of-its-own-'],
    ['three-byte', '模型名字很长很长很长很长很长很长很长'],
    ['four-byte', '😀😀😀😀😀😀😀😀😀😀'],
    ['escaped', '"\\\n\u0001'],
  ] as const) {
    check(`stays within 512 bytes with 100 long model names in ${what} characters, and uses them`, async () => {
      const response = errorResponse({ kind: 'model-not-found', valid: names(100, name) });
      const text = await response.clone().text();
      const bytes = await bytesOf(response.clone());
      assert.ok(bytes <= 512, `${bytes} bytes`);
      assert.ok(bytes > 490, `${bytes} bytes`);
      const { error } = JSON.parse(text);
      assert.ok(error.message.startsWith(`No such model. Valid models: ${name}0`));
      assert.ok(error.message.endsWith('...'));
      assert.is(error.message, error.message.toWellFormed());
      assert.equal([error.code, error.param], ['model_not_found', 'model']);
    });
  }

  check('never ends in half a character, wherever the cut falls', async () => {
    for (let before = 0; before < 64; before++) {
      const message = await messageOf(notFound('x'.repeat(before) + '😀'.repeat(120 + before)));
      assert.ok(message.endsWith('...'));
      assert.is(message, message.toWellFormed());
    }
  });

  check('is left whole at 512 bytes and cut at 513', async () => {
    const frame = await bytesOf(notFound(''));
    const whole = 'x'.repeat(512 - frame);
    assert.is(await bytesOf(notFound(whole)), 512);
    assert.is(await messageOf(notFound(whole)), whole);
    assert.is(await bytesOf(notFound(`${whole}x`)), 512);
    assert.is(await messageOf(notFound(`${whole}x`)), `${whole.slice(0, -3)}...`);
  });

  check('survives a message of a million characters', async () => {
    assert.ok((await bytesOf(notFound('多'.repeat(1_000_000)))) <= 512);
  });

  check('still comes when what may not be cut is too long by itself', async () => {
    const param = `input${'[0]'.repeat(300)}`;
    const response = errorResponse({ kind: 'bad-input', code: 'invalid_type', param, message: 'Expected a string' });
    const { error } = await response.json();
    assert.equal([error.message, error.param], ['...', param]);
  });

  const words = fc.string({
    unit: fc.oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 1 }),
      fc.constantFrom('\ud83d', '\ude00', '"', '\u0000'),
    ),
    maxLength: 700,
  });
  check('never exceeds 512 bytes, is always JSON, and cuts only what is too long', async () => {
    await fc.assert(
      fc.asyncProperty(words, async (hint) => {
        const text = await notFound(hint).text();
        assert.ok(new TextEncoder().encode(text).length <= 512);
        const { message } = JSON.parse(text).error;
        if (message === hint) return;
        assert.ok(message.endsWith('...'));
        const asWhole = JSON.stringify({ error: { message: hint, type: REFUSAL, param: null, code: 'not_found' } });
        assert.ok(new TextEncoder().encode(asWhole).length > 512);
      }),
      { numRuns: 300 },
    );
  });
});

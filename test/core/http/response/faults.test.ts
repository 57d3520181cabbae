import * as assert from 'uvu/assert';
import { internalErrorResponse } from '../../../../src/core/http/response.ts';
import { describe } from '../../../check.ts';
import { errorResponse, type FaultDetail, REFUSAL } from './world.ts';

type Row = {
  readonly detail: FaultDetail;
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly param?: string;
  readonly expectedText: RegExp;
  readonly headers?: Readonly<Record<string, string>>;
};

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
  'turn-refused': {
    detail: { kind: 'turn-refused', code: 'turn_aborted', ids: ['shell_run'] },
    status: 409,
    code: 'turn_aborted',
    type: REFUSAL,
    expectedText: /Tools were called before: shell_run\./,
    headers: { 'x-should-retry': 'false' },
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

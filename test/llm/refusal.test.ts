import * as assert from 'uvu/assert';
import type { KeyRefusal } from '../../src/llm/key-state.ts';
import { detectRefusal } from '../../src/llm/refusal.ts';
import { describe } from '../check.ts';

const QUOTA: KeyRefusal = { reason: 'quota' };
const BURST: KeyRefusal = { reason: 'burst' };
const AUTH: KeyRefusal = { reason: 'auth' };
const forThisModel = (refusal: KeyRefusal): KeyRefusal => ({ ...refusal, scope: 'model' });

const errorBody = (message: string, code: string | null = null, type: string | null = null): string =>
  JSON.stringify({ error: { message, type, param: null, code } });

describe('a refusal', (check) => {
  check('of an unknown, revoked or forbidden key is about authentication, whatever its body looks like', () => {
    const bodies = [
      'unauthorized\n',
      '',
      '<html>Forbidden</html>',
      JSON.stringify({ error: 'unauthorized', signin_url: 'https://ollama.com/connect' }),
      JSON.stringify({ error: 'this model requires a subscription, upgrade for access: https://ollama.com/upgrade' }),
      errorBody('Incorrect API key provided. Find yours at https://example.com/account/billing', 'invalid_api_key'),
    ];
    for (const body of bodies) {
      assert.equal(detectRefusal(401, body, undefined), AUTH, body);
      assert.equal(detectRefusal(403, body, 5_000), forThisModel(AUTH), body);
    }
  });

  check('with 402 is about the quota, whatever its body says', () => {
    for (const body of ['', '<html>', 'rate limit: 20 requests per minute']) {
      assert.equal(detectRefusal(402, body, undefined), QUOTA, body);
    }
  });

  check('is about the quota when it names a used-up allowance', () => {
    const bodies = [
      ...['hourly', 'session', 'daily', 'weekly', 'monthly'].map((window) =>
        JSON.stringify({ error: `you (some.name@example.com) have reached your ${window} usage limit, upgrade` }),
      ),
      "you've reached your hourly usage limit, please wait or upgrade to continue",
      'You have hit your usage limit.',
      errorBody('The usage limit has been reached', null, 'usage_limit_reached'),
      errorBody('You exceeded your current quota, please check your plan and billing details.', 'insufficient_quota'),
      errorBody('Quota exceeded for this project'),
      errorBody('Your monthly quota has been exhausted'),
      errorBody('Insufficient account balance', 'insufficient_user_quota'),
      errorBody('Insufficient Balance'),
      errorBody('This request requires more credits'),
      errorBody('You are out of credits'),
      errorBody('Your credit balance is too low to access the API'),
      errorBody('Billing hard limit has been reached', 'billing_hard_limit_reached'),
      errorBody('Your account is not active, please check your billing details', 'billing_not_active'),
      errorBody('Budget has been exceeded! Current cost: 10.2'),
      errorBody('用户额度不足'),
    ];
    for (const body of bodies) {
      assert.equal(detectRefusal(429, body, undefined), QUOTA, body);
      assert.equal(detectRefusal(403, body, 20_000), forThisModel(QUOTA), body);
    }
  });

  check('with 429 is otherwise a burst, and keeps the time that the backend asked for', () => {
    const bodies = [
      '',
      'Too many requests',
      'server busy, please try again. maximum pending requests exceeded',
      JSON.stringify({ error: 'timed out waiting for a concurrent request slot' }),
      errorBody('Rate limit reached, try again in 20s'),
      errorBody(
        'Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000. Please try again in 6s. You can increase ' +
          'your rate limit by adding a payment method to your account at https://example.com/account/billing.',
        'rate_limit_exceeded',
        'tokens',
      ),
      errorBody('Rate limit reached on tokens per day (TPD). Upgrade at https://example.com/settings/billing'),
      errorBody('Requests have exceeded token rate limit of your pricing tier. See https://example.com/quotaincrease'),
      errorBody('Resource has been exhausted (e.g. check quota).'),
      errorBody('Quota exceeded for quota metric Requests and limit Requests per minute'),
      errorBody('You exceeded your current quota. Quota: InputTokensPerModelPerMinute. Please retry in 16s'),
      errorBody('Slow down. Read about our usage limits and the credits you can buy'),
    ];
    for (const body of bodies) {
      assert.equal(detectRefusal(429, body, undefined), BURST, body);
      assert.equal(detectRefusal(429, body, 20_000), { reason: 'burst', retryAfterMs: 20_000 }, body);
    }
  });

  check('about the quota is recognised in a 200 that holds an error', () => {
    const bodies = [
      errorBody('Billing hard limit has been reached', 'billing_hard_limit_reached', 'invalid_request_error'),
      errorBody('Your credit balance is too low to access the API', null, 'invalid_request_error'),
      errorBody('Sorry: see "code"', 'insufficient_quota'),
      JSON.stringify({ error: 'you (name) have reached your weekly usage limit, upgrade' }),
      JSON.stringify({ error: { code: 429, message: "you've reached your hourly usage limit" } }),
    ];
    for (const body of bodies) {
      assert.equal(detectRefusal(200, body, undefined), QUOTA, body);
    }
  });

  check('is never read out of a 400 or its like, whose body may begin with the judged text', () => {
    const reflected = 'insufficient_quota: you have reached your weekly usage limit';
    for (const status of [400, 404, 405, 409, 413, 415, 422]) {
      for (const body of [
        reflected,
        errorBody(reflected, 'insufficient_quota'),
        JSON.stringify({ detail: reflected }),
      ]) {
        assert.is(detectRefusal(status, body, undefined), undefined, `${status} ${body}`);
      }
    }
  });

  check('cannot be forged by a judged text that the backend repeats', () => {
    const forged = 'you have reached your weekly usage limit: insufficient_quota';
    const bodies = [
      errorBody(`1 validation error: {'type': 'string', 'input': '${forged}'}`, null, 'BadRequestError'),
      errorBody(`[{'type': 'missing', 'loc': ('body',), 'input': {'messages': '${forged}'}}]`),
      errorBody(`Invalid value '${forged}'`),
      errorBody(`Cannot judge "${forged}"`),
      JSON.stringify({ detail: `Unprocessable: ${forged}` }),
      JSON.stringify({ detail: [{ msg: 'too long', input: forged }] }),
      `{"error":{"message":"${forged}`,
      `<p>${forged}</p>`,
      `${'padding '.repeat(20)}${forged}`,
    ];
    for (const body of bodies) {
      for (const status of [200, 400, 404, 413, 422]) assert.is(detectRefusal(status, body, 5_000), undefined, body);
    }
  });

  check('is not seen in a sound answer that mentions quotas', () => {
    const content = 'You have reached your weekly usage limit';
    for (const body of [
      JSON.stringify({ message: { role: 'assistant', content }, done: true }),
      JSON.stringify({ message: content, code: 'insufficient_quota' }),
      JSON.stringify({ error: null, choices: [{ message: { content } }] }),
      JSON.stringify(content),
      `{"message":{"content":"${content}`,
    ]) {
      assert.is(detectRefusal(200, body, undefined), undefined, body);
    }
  });

  check('is not what speaks of the request or of the host', () => {
    for (const status of [200, 204, 301, 400, 404, 408, 413, 422, 500, 502, 503, 529]) {
      assert.is(detectRefusal(status, errorBody('model not found'), 5_000), undefined, String(status));
    }
    for (const status of [302, 500, 503]) {
      assert.is(detectRefusal(status, errorBody('You exceeded your current quota'), 5_000), undefined, String(status));
    }
  });

  check('is looked for in the first 4 KB of a body only', () => {
    const late = `${' '.repeat(4096)}weekly usage limit`;
    assert.equal(detectRefusal(429, late, undefined), BURST);
    assert.equal(detectRefusal(429, late.slice(100), undefined), QUOTA);
  });

  check('carries nothing of the body', () => {
    const body = errorBody('you (jane) have reached your weekly usage limit (ref: 123)');
    assert.equal(Object.keys(detectRefusal(429, body, 60_000) ?? {}), ['reason']);
  });
});

import * as assert from 'uvu/assert';
import { Fault } from '../../src/core/fault.ts';
import { type Attempt, attemptRequest, headersFor } from '../../src/llm/attempt.ts';
import { createDetectedDialect, createFixedDialect, type DialectChoice } from '../../src/llm/detect.ts';
import { ollama } from '../../src/llm/ollama.ts';
import { openai } from '../../src/llm/openai.ts';
import { describe, rejection } from '../check.ts';
import { createBackendWorld, failing, GOOD, keyOf } from './backend-world.ts';
import { CALL, CANARY, ollamaAnswer, openaiAnswer, reset, type Step } from './scripted-client.ts';

const never = new AbortController().signal;

const attempt = async (step: Step, dialect?: DialectChoice, signal = never) => {
  const { attemptNeeds, calls } = createBackendWorld({ script: [step], ...(dialect === undefined ? {} : { dialect }) });
  const outcome = await attemptRequest(attemptNeeds, CALL, { key: keyOf('a'), signal });
  assert.not.match(JSON.stringify({ ...outcome, ...(outcome.kind === 'answered' ? { reply: '' } : {}) }), CANARY);
  return { outcome, calls };
};
const outcomeOf = async (step: Step, dialect?: DialectChoice): Promise<Attempt> =>
  (await attempt(step, dialect)).outcome;

const failure = (reason: string): Attempt => ({ kind: 'failed', reason, isHostFailure: true });

describe('one call with one key', (check) => {
  check('is a POST of what the dialect writes, to its path, with the key as bearer', async () => {
    for (const [dialect, path, text] of [
      [ollama, '/api/chat', ollamaAnswer()],
      [openai, '/v1/chat/completions', openaiAnswer()],
    ] as const) {
      const { outcome, calls } = await attempt({ text }, createFixedDialect(dialect));
      const [call] = calls;
      assert.is(outcome.kind, 'answered');
      assert.is(call?.path, path);
      assert.is(call?.sent.method, 'POST');
      assert.is(call?.sent.body, dialect.createBody(CALL));
      assert.equal(call?.sent.headers, {
        'content-type': 'application/json',
        accept: 'application/json',
        authorization: 'Bearer secret-a',
      });
    }
  });

  check('shows no key where none is needed', () => {
    assert.not.ok('authorization' in headersFor({ secret: '', fingerprint: 'none' }));
  });

  check('is answered by a finished answer', async () => {
    assert.equal(await outcomeOf(GOOD), {
      kind: 'answered',
      reply: { kind: 'answered', content: 'the verdict', promptTokens: 1200, outputTokens: 80 },
    });
  });

  check('is answered, but with nothing usable, by a 200 that is no finished answer', async () => {
    const texts = [
      '',
      `<html>${CANARY}</html>`,
      ollamaAnswer().slice(0, -5),
      ollamaAnswer({ done_reason: 'length' }),
      ollamaAnswer({ done_reason: 'load' }),
      ollamaAnswer({ model: CANARY }),
      openaiAnswer(),
    ];
    for (const text of texts) {
      const outcome = await outcomeOf({ text });
      assert.ok(outcome.kind === 'answered' && outcome.reply.kind === 'unusable', text);
      assert.not.match(JSON.stringify(outcome), CANARY);
    }
  });

  check('takes no other status for an answer, whatever its body', async () => {
    for (const status of [0, 100, 101, 201, 202, 203, 204, 206, 299, 300, 302, 304, 399]) {
      assert.equal(await outcomeOf({ ...GOOD, status }), { kind: 'rejected', reason: `HTTP ${status}` });
    }
    for (const status of [400, 401, 402, 403, 404, 408, 429, 500, 503]) {
      assert.is.not((await outcomeOf({ ...GOOD, status })).kind, 'answered', String(status));
    }
  });

  check('is refused for its key', async () => {
    const weekly = failing(429, `{"error":"you (${CANARY}) have reached your weekly usage limit"}`);
    const cases: readonly (readonly [Step, object])[] = [
      [failing(401, 'unauthorized\n'), { reason: 'auth' }],
      [failing(403, '{"error":"this model requires a subscription"}'), { reason: 'auth', scope: 'model' }],
      [failing(402), { reason: 'quota' }],
      [weekly, { reason: 'quota' }],
      [failing(429), { reason: 'burst' }],
      [failing(429, '', { 'retry-after': '7' }), { reason: 'burst', retryAfterMs: 7_000 }],
      [failing(429, '', { 'retry-after': '1000000000' }), { reason: 'burst', retryAfterMs: 3_600_000 }],
      [failing(429, '', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }), { reason: 'burst', retryAfterMs: 30_000 }],
      [failing(429, '', { 'retry-after': '0' }), { reason: 'burst' }],
      [failing(429, '', { 'retry-after': '-5' }), { reason: 'burst' }],
      [failing(429, '', { 'retry-after': CANARY }), { reason: 'burst' }],
    ];
    for (const [step, refusal] of cases) assert.equal(await outcomeOf(step), { kind: 'refused', refusal });
  });

  check('is refused for its key by an error about the quota under 200', async () => {
    const refused: Attempt = { kind: 'refused', refusal: { reason: 'quota' } };
    const outputText = 'you have reached your session usage limit, upgrade';
    assert.equal(await outcomeOf({ text: JSON.stringify({ error: outputText }) }), refused);
    assert.equal(await outcomeOf({ text: ollamaAnswer({ error: outputText }) }), refused);
    const wrapped = JSON.stringify({ error: { message: outputText, code: 'insufficient_quota' } });
    assert.equal(await outcomeOf({ text: wrapped }, createFixedDialect(openai)), refused);
  });

  check('is no matter of the key when only the answer speaks of quotas', async () => {
    const message = { role: 'assistant', content: 'you have reached your weekly usage limit' };
    assert.is((await outcomeOf({ text: ollamaAnswer({ message }) })).kind, 'answered');
    assert.is((await outcomeOf({ text: 'you have reached your weekly usage limit' })).kind, 'answered');
    const echo = JSON.stringify({ error: 'invalid message: "you have reached your weekly usage limit"' });
    assert.is((await outcomeOf({ text: echo })).kind, 'failed');
    assert.is((await outcomeOf(failing(400, echo))).kind, 'rejected');
  });

  check('is rejected for what it asks', async () => {
    for (const status of [400, 405, 406, 409, 410, 411, 413, 414, 415, 422, 418, 451]) {
      assert.equal(await outcomeOf(failing(status)), { kind: 'rejected', reason: `HTTP ${status}` });
    }
  });

  check('fails by a failure of the host when the server whose dialect is detected is not reached', async () => {
    const choice = { current: () => Promise.reject(reset('ECONNREFUSED')), forget() {} };
    assert.equal(await outcomeOf(GOOD, choice), {
      kind: 'failed',
      reason: 'it could not be reached (ECONNREFUSED)',
      isHostFailure: true,
    });
  });

  check('fails by a failure of the host, but not by a model that is missing', async () => {
    for (const status of [408, 500, 501, 502, 503, 504, 520, 529, 599]) {
      assert.equal(await outcomeOf(failing(status)), failure(`HTTP ${status}`));
      assert.equal(await outcomeOf(failing(status, '<html>usage limit reached</html>')), failure(`HTTP ${status}`));
    }
    const missing = failing(404, '{"error":"model not found"}');
    assert.equal(await outcomeOf(missing), {
      kind: 'failed',
      reason: 'HTTP 404, as for a model that it does not have',
      isHostFailure: false,
    });
    assert.equal(await outcomeOf(reset('ECONNREFUSED')), failure('it could not be reached (ECONNREFUSED)'));
    assert.equal(await outcomeOf({ text: '{"error":"out of memory"}' }), failure('an error under HTTP 200'));
  });

  check('is not even sent to a server of no known dialect', async () => {
    const { outcome, calls } = await attempt(GOOD, { current: async () => undefined, forget() {} });
    assert.equal(outcome, failure('it answers neither like Ollama nor like OpenAI'));
    assert.is(calls.length, 0);
  });

  check('has the dialect asked for again when another server may have moved in, and only then', async () => {
    const cases: readonly (readonly [Step, number])[] = [
      [reset(), 2],
      [failing(404), 2],
      [GOOD, 1],
      [failing(500), 1],
      [failing(401), 1],
      [failing(400), 1],
      [{ text: '<html>' }, 1],
    ];
    for (const [step, expected] of cases) {
      let questions = 0;
      const dialect = createDetectedDialect(async () => {
        questions += 1;
        return { dialect: ollama, isCertain: true };
      });
      await attempt(step, dialect);
      await dialect.current();
      assert.is(questions, expected, JSON.stringify(step));
    }
  });

  check('rejects with the reason of the signal, while it waits for the answer or for the dialect', async () => {
    const unknown: DialectChoice = { current: () => new Promise(() => {}), forget() {} };
    for (const dialect of [undefined, unknown]) {
      const controller = new AbortController();
      const reason = new Fault({ kind: 'client-left' });
      setImmediate(() => controller.abort(reason));
      assert.is(await rejection(attempt('silence', dialect, controller.signal)), reason);
    }
    const reason = new Fault({ kind: 'backend-timeout' });
    assert.is(await rejection(attempt(GOOD, undefined, AbortSignal.abort(reason))), reason);
  });

  check('hides no bug', async () => {
    const bug = new TypeError('a bug');
    assert.is(await rejection(attempt(bug)), bug);
  });
});

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

  check('takes no other status for an answer, whatever its body', async () => {
    for (const status of [0, 100, 101, 201, 202, 203, 204, 206, 299, 300, 302, 304, 399]) {
      assert.equal(await outcomeOf({ ...GOOD, status }), { kind: 'rejected', reason: `HTTP ${status}` });
    }
    for (const status of [400, 401, 402, 403, 404, 408, 429, 500, 503]) {
      assert.is.not((await outcomeOf({ ...GOOD, status })).kind, 'answered', String(status));
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

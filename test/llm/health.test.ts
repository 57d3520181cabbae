import * as assert from 'uvu/assert';
import { HttpClientError } from '../../src/core/http/client.ts';
import { createDetectedDialect, createFixedDialect, type DialectChoice } from '../../src/llm/detect.ts';
import { type BackendHealth, checkBackendHealth } from '../../src/llm/health.ts';
import { ollama } from '../../src/llm/ollama.ts';
import { openai } from '../../src/llm/openai.ts';
import { describe, rejection } from '../check.ts';
import { failing, keyOf } from './backend-world.ts';
import { BASE_URL, CANARY, createScriptedExchange, reset, type Step } from './scripted-client.ts';

const TAGS = { text: '{"models":[{"name":"gpt-oss:20b"},{"name":"gemma4:31b"}]}' };
const LIST = { text: '{"object":"list","data":[{"id":"gpt-oss-20b"}]}' };
const never = new AbortController().signal;

const health = async (
  step: Step,
  dialect: DialectChoice = createFixedDialect(ollama),
  signal = never,
  key = keyOf('a'),
) => {
  const { httpClient, calls } = createScriptedExchange([step]);
  const answer = await checkBackendHealth({ baseUrl: BASE_URL, dialect, httpClient }, key, signal);
  assert.not.match(JSON.stringify(answer), CANARY);
  return { answer, calls };
};
const healthOf = async (step: Step, dialect?: DialectChoice): Promise<BackendHealth> =>
  (await health(step, dialect)).answer;
const down = (reason: string): BackendHealth => ({ kind: 'down', reason });

describe('the health of a backend', (check) => {
  check('is good where it lists models, which it reports', async () => {
    const { answer, calls } = await health(TAGS);
    assert.equal(answer, { kind: 'up', models: ['gpt-oss:20b', 'gemma4:31b'] });
    assert.is(calls[0]?.path, '/api/tags');
    assert.is(calls[0]?.sent.method, 'GET');
    assert.is(calls[0]!.sent.body, undefined);
    assert.is(calls[0]?.key, 'secret-a');
    const other = await health(LIST, createFixedDialect(openai));
    assert.equal(other.answer, { kind: 'up', models: ['gpt-oss-20b'] });
    assert.is(other.calls[0]?.path, '/v1/models');
  });

  check('is good where no model is loaded yet', async () => {
    assert.equal(await healthOf({ text: '{"models":[]}' }), { kind: 'up', models: [] });
  });

  check('is asked for without a key where none is needed', async () => {
    const { calls } = await health(TAGS, undefined, undefined, { secret: '', fingerprint: 'none' });
    assert.is(calls[0]!.key, undefined);
  });

  check('is bad where the key is refused', async () => {
    for (const status of [401, 403]) {
      assert.equal(await healthOf(failing(status)), down(`the backend refuses its key (HTTP ${status})`));
      const { answer } = await health(failing(status), undefined, undefined, { secret: '', fingerprint: 'none' });
      assert.equal(answer, down(`the backend wants a key (HTTP ${status}), and BACKEND_API_KEYS is not set`));
    }
  });

  check('is bad at every other status, whatever the body', async () => {
    for (const status of [201, 204, 301, 400, 402, 404, 429, 500, 503]) {
      assert.equal(await healthOf({ ...TAGS, status }), down(`the backend answers HTTP ${status}`));
    }
  });

  check('is bad where something else answers', async () => {
    const unknownNames = ['', '{}', `<html>${CANARY}</html>`, '{"models":null}', `{"error":"${CANARY}"}`, LIST.text];
    for (const text of unknownNames) assert.equal(await healthOf({ text }), down('the backend lists no models'), text);
  });

  check('is bad where no one answers, in a word of ours, with what to look at', async () => {
    const UNREACHED: Readonly<Record<string, RegExp>> = {
      ECONNREFUSED: /^the backend is not reached \(ECONNREFUSED\): nothing listens at its address/,
      ENOTFOUND: /its host name is unknown/,
      CONNECT_TIMEOUT: /no way leads to its address/,
      ERR_SSL_WRONG_VERSION_NUMBER: /http in place of https/,
      DEPTH_ZERO_SELF_SIGNED_CERT: /NODE_EXTRA_CA_CERTS/,
      UNABLE_TO_VERIFY_LEAF_SIGNATURE: /NODE_EXTRA_CA_CERTS/,
      ERR_TLS_CERT_ALTNAME_INVALID: /: its certificate is for another host name than the one in BACKEND_BASE_URL$/,
      CERT_HAS_EXPIRED: /: its certificate has expired or is not valid yet, by the clock here$/,
      ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: /_REQUIRED\)$/,
      OLLAMA_WITHOUT_ITS_API: /let \/api through/,
      HTTP_500: /^the backend answers HTTP 500$/,
      ECONNRESET: /^the backend is not reached \(ECONNRESET\)$/,
    };
    for (const [code, reason] of Object.entries(UNREACHED)) {
      const answer = await healthOf(reset(code));
      assert.match(answer.kind === 'down' ? answer.reason : '', reason);
    }
  });

  check('is bad where no dialect is spoken, and nothing is asked then', async () => {
    const { answer, calls } = await health(TAGS, { current: async () => undefined, forget() {} });
    const reason = 'the backend answers neither like Ollama nor like OpenAI';
    assert.equal(answer, down(reason));
    assert.is(calls.length, 0);
  });

  check('is bad, with the reason, where the server whose dialect is detected is not reached', async () => {
    const current = () => Promise.reject(new HttpClientError('ECONNREFUSED'));
    const { answer, calls } = await health(TAGS, { current, forget() {} });
    assert.match(answer.kind === 'down' ? answer.reason : '', /^the backend is not reached \(ECONNREFUSED\): /);
    assert.is(calls.length, 0);
  });

  check('has the dialect asked for again when another server may have moved in, not otherwise', async () => {
    for (const [step, expected] of [
      [reset(), 2],
      [failing(404), 2],
      [failing(500), 1],
      [TAGS, 1],
    ] as const) {
      let questions = 0;
      const dialect = createDetectedDialect(async () => {
        questions += 1;
        return { dialect: ollama, isCertain: true };
      });
      await health(step, dialect);
      await dialect.current();
      assert.is(questions, expected);
    }
  });

  check('is given up with the reason of the signal, while it waits for the answer or for the dialect', async () => {
    const unknown: DialectChoice = { current: () => new Promise(() => {}), forget() {} };
    for (const dialect of [undefined, unknown]) {
      const controller = new AbortController();
      const reason = new Error('no time');
      setImmediate(() => controller.abort(reason));
      assert.is(await rejection(health('silence', dialect, controller.signal)), reason);
    }
  });

  check('hides no bug', async () => {
    const bug = new TypeError('a bug');
    assert.is(await rejection(health(bug)), bug);
  });
});

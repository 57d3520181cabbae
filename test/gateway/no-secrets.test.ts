import * as assert from 'uvu/assert';
import type { HttpRequest, HttpResponse } from '../../src/core/http/client.ts';
import { createPrometheusGatewayMetrics } from '../../src/gateway/adapter/prometheus.ts';
import { describe, sampled } from '../check.ts';
import { FAULTS } from './harness/faulty-answers.ts';
import { BACKEND_CANARY, UNUSABLE_CONTENTS, UNUSABLE_REPLIES } from './harness/unusable-answers.ts';
import { type Answer, gatewayOver, judging, nonceOf, received, replying } from './harness/world.ts';

const GATEWAY_SECRET = 'canary-gateway-secret-5d1f';
const ADMIN_SECRET = 'canary-admin-secret-3c07';
const BACKEND_SECRETS = ['canary-backend-secret-71aa', 'canary-backend-secret-92bb'];
const TEXT = 'canary text that only the user wrote';
/** Every word that must stay where it is. */
const CANARIES = [BACKEND_CANARY, 'canary'];

/** Puts a canary into every header that the backend could send and does not. */
const withHeaders = ({ status, text, header }: HttpResponse): HttpResponse => ({
  status,
  text,
  header: (name) => header(name) ?? `${BACKEND_CANARY}-${name}`,
});
const watched = (answer: Answer, variables: Readonly<Record<string, string>> = {}) => {
  const meter = createPrometheusGatewayMetrics({ version: '0.1.0' });
  const world = gatewayOver(async (sent) => withHeaders(await answer(sent)), {
    variables: {
      LOG_LEVEL: 'debug',
      MODERATION_API_KEYS: GATEWAY_SECRET,
      BACKEND_API_KEYS: BACKEND_SECRETS.join(','),
      GATEWAY_ADMIN_KEY: ADMIN_SECRET,
      ...variables,
    },
    needs: { metrics: meter },
  });
  const authorization = `Bearer ${GATEWAY_SECRET}`;
  const traces: string[] = [];
  const keep = async (response: Response) => {
    traces.push(await response.text(), JSON.stringify([...response.headers]));
  };
  const askAll = async (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    keep(await world.ask(body, { authorization, ...headers }));
  const assertSilence = async (): Promise<void> => {
    for (const path of [
      '/metrics',
      '/ready',
      '/health',
      '/openapi.json',
      '/v1/models',
      '/canary',
      '/v1/models/canary',
    ]) {
      await keep(await world.visit(path, 'GET', { authorization }));
    }
    await keep(await world.visit('/admin/state', 'GET', { authorization: `Bearer ${ADMIN_SECRET}` }));
    const everything = [...traces, ...world.logged].join('\n');
    for (const word of CANARIES) {
      const at = everything.indexOf(word);
      assert.is(at, -1, `said: ${everything.slice(Math.max(0, at - 200), at + 100)}`);
    }
    assert.ok(world.logged.length > 0);
    assert.match(everything, 'gatehouse_requests_total');
  };
  return { ...world, askAll, assertSilence };
};

const unusable = (dialect: 'ollama' | 'openai'): Readonly<Record<string, Answer>> => ({
  ...UNUSABLE_REPLIES[dialect],
  ...Object.fromEntries(
    Object.entries(UNUSABLE_CONTENTS).map(([name, outputText]) => [
      name,
      (sent: HttpRequest) => replying(sent, `${outputText(nonceOf(sent))}`),
    ]),
  ),
  'the text, the policy and the nonce repeated': (sent) => replying(sent, sent.body ?? ''),
  'an account named in an error': () => received(500, JSON.stringify({ error: `you (${BACKEND_CANARY}) are out` })),
});

describe('no key, no text and no word of the backend is reported', (check) => {
  for (const dialect of ['ollama', 'openai'] as const) {
    const variables = { BACKEND_DIALECT: dialect, BACKEND_BASE_URL: 'http://backend.test' };
    check(`by verdicts over ${dialect}`, async () => {
      const { askAll, assertSilence } = watched(judging({ HR: 90 }), variables);
      await askAll({ input: TEXT });
      await askAll({ input: [TEXT, `${TEXT} again`, Buffer.from(TEXT).toString('base64')] });
      await askAll({ input: [{ type: 'text', text: TEXT }] });
      await assertSilence();
    });
    check(`by faults of ${dialect}`, async () => {
      for (const { answer } of sampled(Object.values(FAULTS), 3)) {
        const { askAll, assertSilence } = watched(answer, variables);
        await askAll({ input: TEXT });
        await askAll({ input: TEXT });
        await assertSilence();
      }
    });
    check(`by unusable answers of ${dialect}`, async () => {
      for (const answer of sampled(Object.values(unusable(dialect)), 3)) {
        const { askAll, assertSilence } = watched(answer, variables);
        await askAll({ input: TEXT });
        await assertSilence();
      }
    });
  }
  check('by asking which dialect a backend speaks', async () => {
    for (const status of [200, 401, 404, 500]) {
      const { askAll, assertSilence } = watched(() => received(status, `{"version":"${BACKEND_CANARY}"}`), {
        BACKEND_BASE_URL: 'http://backend.test',
      });
      await askAll({ input: TEXT });
      await assertSilence();
    }
  });
  check('by a backend that answers nothing, or breaks', async () => {
    const answers: readonly Answer[] = [
      () => new Promise<never>(() => {}),
      () => {
        throw new TypeError(`${BACKEND_CANARY} ${TEXT}`);
      },
    ];
    for (const answer of answers) {
      const { askAll, assertSilence, clock } = watched(answer);
      const asking = askAll({ input: TEXT });
      await clock.advance(25_000);
      await asking;
      const checking = assertSilence();
      await clock.advance(3000);
      await checking;
    }
  });
  check('by requests that are refused', async () => {
    const { askAll, assertSilence } = watched(judging());
    await askAll({ input: TEXT }, { authorization: 'Bearer canary-wrong-key' });
    await askAll({ input: TEXT }, { authorization: `Bearer ${BACKEND_SECRETS[0]}` });
    await askAll({ input: TEXT, model: 'canary-model' });
    await askAll({ input: { canary: TEXT } });
    await askAll({ input: [TEXT, { canary: 5 }] });
    await askAll({ input: [{ type: 'canary', text: TEXT }] });
    await askAll({ input: [{ type: 'image_url', image_url: { url: 'http://canary.test/a.png' } }] });
    await askAll({ model: { canary: 1 }, input: TEXT });
    await askAll(`{"input":"${TEXT}`);
    await askAll({ input: TEXT.repeat(5000) });
    await askAll({ input: TEXT }, { 'content-type': 'text/canary' });
    await askAll({ input: TEXT }, { 'x-request-id': 'canary with blanks' });
    await askAll({ input: TEXT }, { 'x-stainless-timeout': 'canary', 'user-agent': 'canary' });
    await assertSilence();
  });
  check('by an unknown model that is a key', async () => {
    const keys = ['br-key-1', 'Kp9xQ2mN7vB4tL8wR3yZ', 'ghost', 'moderation-fas7'];
    for (const variable of ['MODERATION_API_KEYS', 'BACKEND_API_KEYS']) {
      const given = [variable === 'MODERATION_API_KEYS' ? GATEWAY_SECRET : '', ...keys].filter((key) => key !== '');
      const { ask, visit } = watched(judging(), {
        [variable]: given.join(','),
        MODERATION_MODELS: '{"own/model":"gemma4:31b"}',
      });
      const authorization = `Bearer ${GATEWAY_SECRET}`;
      for (const model of keys.flatMap((key) => [key, `own/${key}`])) {
        for (const response of [
          await ask({ input: TEXT, model }, { authorization }),
          await visit(`/v1/models/${encodeURIComponent(model)}`, 'GET', { authorization }),
        ]) {
          assert.is(response.status, 404);
          assert.match(await response.text(), '"this model is not configured. Valid');
        }
      }
    }
  });
  check('by the state of the keys, but for their fingerprints', async () => {
    const { askAll, visit, logged } = watched(FAULTS['401 as plain text']!.answer);
    await askAll({ input: TEXT });
    const metrics = await (await visit('/metrics')).text();
    const keys = new Set([...metrics.matchAll(/gatehouse_backend_key_state\{key="(\w+)"/g)].map(([, key]) => key));
    assert.is(keys.size, 2);
    for (const key of keys) {
      assert.match(key ?? '', /^[0-9a-f]{8}$/);
      assert.ok(logged.some((line) => line.includes('"backend-key"') && line.includes(`"key":"${key}"`)));
    }
  });
});

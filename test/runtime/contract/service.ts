import * as assert from 'uvu/assert';
import type { Check } from '../../check.ts';
import { judgedBy } from '../backends.ts';
import { KEY, oddHostAnswer, refusalOf } from '../client.ts';
import { INSIDES, type Runtime, type Worlds } from './worlds.ts';

type Sides = Pick<Runtime, 'keepsMetrics' | 'refused'>;

/** What every service of ours must do: tell how it is, refuse wrong settings, and keep its secrets. */
export const serviceContract = (check: Check, worlds: Worlds, { keepsMetrics, refused }: Sides): void => {
  const { main, get, answers, stop } = worlds;
  check("gives every answer a request id: the caller's, if it is sane", async () => {
    assert.is(
      (await get('/health', { headers: { 'x-request-id': 'caller-7' } })).headers.get('x-request-id'),
      'caller-7',
    );
    const forged = await get('/health', { headers: { 'x-request-id': 'a b{"forged":1}' } });
    assert.match(forged.headers.get('x-request-id') ?? '', /^req-[\w-]{36}$/);
    for (const { headers } of answers) assert.match(headers.get('x-request-id') ?? '', /^[\w.:-]{1,128}$/);
  });

  check('reports how it is: /health, /ready, /v1/models, /openapi.json', async () => {
    const health = await get('/health');
    assert.equal(JSON.parse(health.text), { status: 'ok', service: 'gateway', version: '0.1.0' });
    const head = await get('/health', { method: 'HEAD' });
    assert.equal([head.status, head.text], [200, '']);
    assert.equal(JSON.parse((await get('/ready')).text), { status: 'ready' });
    assert.is((await get('/v1/models')).status, 401);
    const models = await get('/v1/models', { headers: { authorization: `Bearer ${KEY}` } });
    const { data } = JSON.parse(models.text) as { data: { id: string }[] };
    assert.equal(data.map(({ id }) => id).sort(), [
      'guard-json',
      'moderation-accurate',
      'moderation-fast',
      'moderation-standard',
      'omni-moderation-latest',
      'qwen3guard',
      'sileader/qwen3guard:0.6b',
    ]);
    const openApi = await get('/openapi.json');
    assert.is(openApi.headers.get('content-type'), 'application/json');
    const { openapi, paths } = JSON.parse(openApi.text) as { openapi: string; paths: object };
    assert.match(openapi, /^3\./);
    assert.ok('/v1/moderations' in paths);
  });

  check(keepsMetrics ? 'counts in /metrics' : 'says that it keeps no metrics', async () => {
    const { status, text, headers } = await get('/metrics');
    assert.is(status, keepsMetrics ? 200 : 404);
    if (keepsMetrics) {
      assert.match(headers.get('content-type') ?? '', 'text/plain');
      assert.match(text, /^gatehouse_requests_total\{method="POST",route="\/v1\/moderations",status="200"\} \d+$/m);
    } else assert.match(text, 'This runtime keeps no metrics');
  });

  check('answers what is wrong without a word about its insides', async () => {
    for (const path of ['/v1/models/%zz', '/%00', '//[', '/v1/moderations/../../etc/passwd']) {
      assert.ok((await get(path)).status < 500, path);
    }
    const oddHost = await oddHostAnswer((await main()).gateway.address);
    assert.match(oddHost, /^HTTP\/1.1 400 /);
    assert.not.match(oddHost, INSIDES);
  });

  check('refuses to work when it is configured wrongly, names every variable and shows no value', async () => {
    const { printed, answered } = await refused({
      ...judgedBy('http://127.0.0.1:9'),
      MODERATION_API_KEYS: 'canary key with blanks',
      REQUEST_DEADLINE_MS: 'canary-soon',
      BACKEND_DIALECT: 'canary-klingon',
    });
    for (const variable of ['MODERATION_API_KEYS', 'REQUEST_DEADLINE_MS', 'BACKEND_DIALECT']) {
      assert.match(printed, new RegExp(`${variable}: expected `));
      if (answered !== '') assert.match(answered, variable);
    }
    assert.not.match(printed, /canary/);
    assert.not.match(answered, /canary/);
  });

  check(
    'refuses to work in production without a key, or without a backend, and shows the three ways to one',
    async () => {
      const keyless = await refused({ APP_ENV: 'production', ...judgedBy('http://127.0.0.1:9') });
      assert.match(keyless.printed, 'MODERATION_API_KEYS: expected at least one gateway key');
      const homeless = await refused({ APP_ENV: 'production', MODERATION_API_KEYS: KEY });
      for (const way of ['BACKEND_API_KEYS=', 'BACKEND_BASE_URL=', 'demo']) assert.match(homeless.printed, way);
      if (homeless.answered !== '') {
        const { message } = refusalOf({ status: 500, headers: new Headers(), text: homeless.answered });
        assert.is(message, 'The service is not configured: BACKEND_BASE_URL');
      }
    },
  );

  check('has shown no key, no text and nothing of its insides to anyone', async () => {
    const started = await stop();
    assert.ok(answers.length > 40);
    for (const { text } of answers) assert.not.match(text, INSIDES);
    for (const { gateway } of started) {
      const printed = gateway.stdout() + gateway.stderr();
      assert.is(/canary-\S+|please|good morning|zombie/.exec(printed)?.[0], undefined);
      const lines = gateway
        .stderr()
        .split('\n')
        .filter((line) => line.includes('"event":"request-answered"'));
      assert.ok(lines.length > 0);
      for (const line of lines) assert.is((JSON.parse(line) as { service: string }).service, 'gateway');
    }
  });
};

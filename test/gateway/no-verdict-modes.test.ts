import * as assert from 'uvu/assert';
import { createPrometheusGatewayMetrics } from '../../src/gateway/adapter/prometheus.ts';
import { describe } from '../check.ts';
import { flaggedOf, unjudgedOutcomeOf } from './harness/flagged.ts';
import { image, MODERATION_MODELS, text } from './harness/image-inputs.ts';
import { eachCategory, resultsOf } from './harness/read-answer.ts';
import { type Answer, gatewayOver, judging, received } from './harness/world.ts';

describe('UNJUDGED_INPUT=text', (check) => {
  const variables = { UNJUDGED_INPUT: 'text', MODERATION_MODELS };
  check('never makes an all-clear of an image alone, nor of one beside invisible text', async () => {
    const nothingLeft: readonly (readonly [input: unknown, code: string])[] = [
      [[image()], 'image_unsupported'],
      [[image(), text('')], 'image_unsupported'],
      [[text('\u200b\u2060'), image()], 'image_unsupported'],
      [[{ type: 'audio' }], 'invalid_type'],
    ];
    for (const [input, code] of nothingLeft) {
      const { ask, calls } = gatewayOver(judging(), { variables });
      assert.is(await unjudgedOutcomeOf(await ask({ input })), `400 ${code}`);
      assert.is(calls.length, 0);
    }
  });
  check('names a part of another type, and what was judged', async () => {
    const { ask } = gatewayOver(judging(), { variables });
    const response = await ask({ input: [text('hello'), { type: 'input_audio', data: 'x' }, image()] });
    assert.is(response.headers.get('x-moderation-unjudged'), 'image, part');
    const [result] = await resultsOf(response);
    assert.equal(result?.category_applied_input_types, eachCategory(['text']));
  });
  check('judges the text where the server says that the model sees no images', async () => {
    const show: Answer = () => received(200, JSON.stringify({ capabilities: ['completion'] }));
    const { ask, calls } = gatewayOver(judging(), { variables, show });
    const response = await ask({ model: 'with-eyes', input: [text('hello'), image()] });
    assert.is(response.headers.get('x-moderation-unjudged'), 'image');
    await resultsOf(response);
    assert.is(
      calls.some(({ body = '' }) => body.includes('"images"')),
      false,
    );
  });
  check('is not taken for an answer about whether the model sees images', async () => {
    const { ask } = gatewayOver(judging(), { variables, show: () => received(500, '') });
    assert.is(
      await unjudgedOutcomeOf(await ask({ model: 'with-eyes', input: [text('a'), image()] })),
      '502 backend_error',
    );
  });
  check('leaves nothing out of an image that is judged', async () => {
    const { ask } = gatewayOver(judging(), { variables });
    const response = await ask({ model: 'with-eyes', input: [text('hello'), image()] });
    assert.is(response.headers.get('x-moderation-unjudged'), 'none');
    const [result] = await resultsOf(response);
    assert.equal(result?.category_applied_input_types.violence, ['text', 'image']);
  });
});

describe('NO_VERDICT=flag', (check) => {
  const variables = { NO_VERDICT: 'flag' };
  check('is never cached: the next request asks the judge', async () => {
    let isDown = true;
    const stored: string[] = [];
    const shared = {
      verdicts: () => ({ find: async () => undefined, store: (key: string) => void stored.push(key) }),
      rateLimit: (_: number, local: (keyId: string) => number | Promise<number>) => local,
      coolDowns: { publish() {}, subscribe() {}, scope: () => 'replicas' as const },
    };
    const { ask, calls } = gatewayOver((sent) => (isDown ? received(400, '') : judging()(sent)), {
      variables,
      needs: { shared },
    });
    assert.is(await unjudgedOutcomeOf(await ask({ input: 'some text' })), 'flagged backend_error');
    assert.is(stored.length, 0);
    isDown = false;
    const asked = calls.length;
    const response = await ask({ input: 'some text' });
    assert.equal(
      [response.headers.get('x-moderation-cache'), response.headers.get('x-moderation-no-verdict')],
      ['miss', null],
    );
    assert.is((await resultsOf(response))[0]?.flagged, false);
    assert.is(calls.length, asked + 1);
    assert.is(stored.length, 1);
  });
  check('gives as many results as inputs, and a thousand at most', async () => {
    const many = (count: number) => gatewayOver(judging(), { variables }).ask({ input: Array(count).fill('a') });
    assert.equal(await flaggedOf(await many(33)), { reason: 'too_many_inputs', results: 33 });
    assert.equal(await flaggedOf(await many(5000)), { reason: 'too_many_inputs', results: 1000 });
  });
  check('names the alias, and nobody as judge', async () => {
    const { ask } = gatewayOver(() => received(500, ''), { variables });
    const response = await ask({ model: 'moderation-fast', input: 'a' });
    assert.is(((await response.clone().json()) as { model: string }).model, 'moderation-fast');
    await flaggedOf(response);
  });
  check('is counted by its reason, is no verdict in the metrics, and is a warning in the log', async () => {
    const metrics = createPrometheusGatewayMetrics({ version: '0' });
    const { ask, logged } = gatewayOver(() => received(500, ''), { variables, needs: { metrics } });
    await ask({ input: 'a' });
    const lines = ((await metrics.text()) ?? '').split('\n');
    assert.ok(lines.includes('gatehouse_flagged_without_verdict_total{reason="backend_error"} 1'));
    assert.is(
      lines.some((line) => line.startsWith('gatehouse_verdicts_total{')),
      false,
    );
    const line = logged.find((one) => one.includes('request-answered')) ?? '';
    assert.match(line, /"level":"warn".*"status":200.*"fault":"backend-error","reason":/);
  });
  check('flags nothing that has a verdict', async () => {
    const response = await gatewayOver(judging(), { variables }).ask({ input: 'a' });
    assert.is(response.headers.get('x-moderation-no-verdict'), null);
    assert.is((await resultsOf(response))[0]?.flagged, false);
  });
  check('answers nobody who has left, and no other path', async () => {
    const { ask, visit } = gatewayOver(() => new Promise(() => {}), { variables });
    const gone = new AbortController();
    const asked = ask({ input: 'a' }, {}, gone.signal);
    gone.abort();
    assert.is((await asked).status, 499);
    assert.is((await visit('/v1/v1/moderations', 'POST')).status, 404);
  });
  check('keeps the gateway ready while the backend is down, and says why it flags', async () => {
    const down: Answer = () => received(500, '');
    const { visit } = gatewayOver(down, { variables });
    const ready = await visit('/ready');
    const { status, reasons } = (await ready.json()) as { status: string; reasons: string[] };
    assert.equal([ready.status, status, reasons.length], [200, 'flagging', 1]);
    assert.is((await gatewayOver(down).visit('/ready')).status, 503);
    assert.is((await gatewayOver(down, { variables, needs: { isStopping: () => true } }).visit('/ready')).status, 503);
  });
});

import * as assert from 'uvu/assert';
import { createPrometheusGatewayMetrics } from '../../../src/gateway/adapter/prometheus.ts';
import type { GatewayMetrics, GatewayReadings } from '../../../src/gateway/metrics.ts';
import { describe } from '../../check.ts';

const READINGS: GatewayReadings = {
  keys: [
    { fingerprint: 'aaaa', state: 'active', coolDownMs: 0 },
    { fingerprint: 'bbbb', state: 'cooling', coolDownMs: 90_500, reason: 'quota' },
  ],
  breaker: { state: 'closed', coolDownMs: 0 },
  callsRunning: 3,
  callsWaiting: 2,
  callsWaitingLimit: 256,
  cachedVerdicts: 41,
  bytesInFlight: 4096,
  largeTexts: 7,
};
const ANSWERED = { method: 'POST', route: '/v1/moderations', status: 200, durationMs: 1200 };

/** The samples whose names begin with `start`, without the prefix that all have. */
const samples = async (meter: GatewayMetrics, start: string): Promise<string[]> =>
  ((await meter.text()) ?? '')
    .split('\n')
    .filter((line) => line.startsWith(`gatehouse_${start}`))
    .map((line) => line.slice('gatehouse_'.length));

describe('Prometheus meter', (check) => {
  check('counts requests by method, route and status, and goes on counting after it was read', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1.2.3' });
    meter.answered(ANSWERED);
    meter.answered({ ...ANSWERED, status: 429 });
    const before = [
      'requests_total{method="POST",route="/v1/moderations",status="200"} 1',
      'requests_total{method="POST",route="/v1/moderations",status="429"} 1',
    ];
    assert.equal(await samples(meter, 'requests'), before);
    assert.equal(await samples(meter, 'requests'), before);
    meter.answered(ANSWERED);
    assert.is((await samples(meter, 'requests'))[0], before[0]?.replace(/1$/, '2'));
  });
  check('reports durations in seconds, from a millisecond to half a minute', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    for (const durationMs of [1, 1200, 29_999, 31_000]) meter.answered({ ...ANSWERED, durationMs });
    const lines = await samples(meter, 'request_duration_seconds');
    const bucket = (le: string) => lines.find((line) => line.includes(`le="${le}"`))?.split(' ')[1];
    assert.equal(['0.001', '1', '1.5', '20', '30', '+Inf'].map(bucket), ['1', '1', '2', '2', '3', '4']);
    assert.ok(lines.includes('request_duration_seconds_sum{route="/v1/moderations"} 62.2'));
    assert.ok(lines.includes('request_duration_seconds_count{route="/v1/moderations"} 4'));
  });
  check('counts what the shadow does and finds', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    for (const outcome of ['differed', 'skipped', 'skipped'] as const) meter.shadow(outcome);
    for (const foundBy of ['both', 'live', 'shadow', 'shadow'] as const) meter.shadowFound('hate', foundBy);
    assert.equal(await samples(meter, 'shadow'), [
      'shadow_texts_total{outcome="differed"} 1',
      'shadow_texts_total{outcome="skipped"} 2',
      'shadow_violations_total{category="hate",found_by="both"} 1',
      'shadow_violations_total{category="hate",found_by="live"} 1',
      'shadow_violations_total{category="hate",found_by="shadow"} 2',
    ]);
  });
  check('counts calls to the backend by outcome and model', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    const facts = { kind: 'answered', key: 'aaaa', model: 'gpt-oss:20b', durationMs: 700 } as const;
    meter.attempt(facts);
    meter.attempt({ ...facts, kind: 'hung' });
    meter.attempt({ ...facts, model: 'gemma4:31b' });
    assert.equal(await samples(meter, 'backend_calls_total'), [
      'backend_calls_total{outcome="answered",model="gpt-oss:20b"} 1',
      'backend_calls_total{outcome="hung",model="gpt-oss:20b"} 1',
      'backend_calls_total{outcome="answered",model="gemma4:31b"} 1',
    ]);
    const counts = (await samples(meter, 'backend_call_duration_seconds_count')).map((line) => line.split(' ')[1]);
    assert.equal(counts, ['2', '1']);
  });
  check('counts verdicts, unusable answers and tokens', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    meter.verdict({ alias: 'moderation-fast', isFlagged: true, isCached: false });
    meter.verdict({ alias: 'moderation-fast', isFlagged: false, isCached: true });
    meter.verdict({ alias: 'moderation-fast', isFlagged: false, isCached: true });
    meter.unusable('gpt-oss:20b');
    meter.tokens('gpt-oss:20b', { prompt: 900, output: 80 });
    meter.tokens('gpt-oss:20b', { prompt: 100, output: 0, cached: 70 });
    assert.equal(await samples(meter, 'verdicts'), [
      'verdicts_total{alias="moderation-fast",flagged="true",cached="false"} 1',
      'verdicts_total{alias="moderation-fast",flagged="false",cached="true"} 2',
    ]);
    assert.equal(await samples(meter, 'unusable'), ['unusable_replies_total{model="gpt-oss:20b"} 1']);
    assert.equal(await samples(meter, 'tokens'), [
      'tokens_total{model="gpt-oss:20b",kind="prompt"} 1000',
      'tokens_total{model="gpt-oss:20b",kind="output"} 80',
      'tokens_total{model="gpt-oss:20b",kind="cache_read"} 70',
    ]);
  });
  check('shows where large texts are decoded, and how long that takes', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    meter.largeText({ place: 'thread', durationMs: 250 });
    meter.largeText({ place: 'event-loop', durationMs: 500 });
    assert.equal(await samples(meter, 'large_text_duration_seconds_sum'), [
      'large_text_duration_seconds_sum{place="thread"} 0.25',
      'large_text_duration_seconds_sum{place="event-loop"} 0.5',
    ]);
  });
  check('never throws, and counts no numbers that are none', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    meter.tokens('m', { prompt: 10, output: 0 });
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -5]) {
      meter.answered({ ...ANSWERED, durationMs: odd });
      meter.attempt({ kind: 'failed', key: 'aaaa', model: 'm', durationMs: odd });
      meter.tokens('m', { prompt: odd, output: odd, cached: odd });
    }
    assert.equal(await samples(meter, 'tokens'), ['tokens_total{model="m",kind="prompt"} 10']);
    assert.ok(
      (await samples(meter, 'request_duration')).includes('request_duration_seconds_sum{route="/v1/moderations"} 0'),
    );
    assert.equal(
      (await samples(meter, 'requests')).map((line) => line.split(' ')[1]),
      ['4'],
    );
  });
  check('shows the one state that each key is in and what is left of its rest', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    let readings = READINGS;
    meter.watch(() => readings);
    const states = async () => (await samples(meter, 'backend_key_state')).filter((line) => line.endsWith(' 1'));
    assert.equal(await states(), [
      'backend_key_state{key="aaaa",state="active"} 1',
      'backend_key_state{key="bbbb",state="cooling"} 1',
    ]);
    assert.is((await samples(meter, 'backend_key_state')).length, 8);
    assert.equal(await samples(meter, 'backend_key_rest'), [
      'backend_key_rest_seconds{key="aaaa"} 0',
      'backend_key_rest_seconds{key="bbbb"} 90.5',
    ]);
    readings = { ...READINGS, keys: [{ fingerprint: 'bbbb', state: 'half-open', coolDownMs: 0 }] };
    assert.ok((await states()).includes('backend_key_state{key="bbbb",state="half-open"} 1'));
    assert.is((await states()).filter((line) => line.includes('bbbb')).length, 1);
  });
  check('shows what is read off the gateway at the moment of asking', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    let readings = READINGS;
    meter.watch(() => readings);
    const all = async () =>
      (await samples(meter, '')).filter((line) =>
        /^(backend_breaker|backend_calls_[rw]|cached|large_texts )/.test(line),
      );
    assert.equal(await all(), [
      'backend_breaker_open 0',
      'backend_calls_running 3',
      'backend_calls_waiting 2',
      'backend_calls_waiting_limit 256',
      'cached_verdicts 41',
      'large_texts 7',
    ]);
    readings = { ...READINGS, breaker: { state: 'open', coolDownMs: 4000 }, callsRunning: 0 };
    assert.equal((await all()).slice(0, 2), ['backend_breaker_open 1', 'backend_calls_running 0']);
  });
  check('reports a shared state only where there is one', async () => {
    let isUp = true;
    const meter = createPrometheusGatewayMetrics({ version: '1', isSharedStateUp: () => isUp });
    assert.equal(await samples(meter, 'shared'), ['shared_state_up 1']);
    isUp = false;
    assert.equal(await samples(meter, 'shared'), ['shared_state_up 0']);
    assert.equal(await samples(createPrometheusGatewayMetrics({ version: '1' }), 'shared'), []);
  });
  check('shows its version and the process, and shares nothing with another meter', async () => {
    const [one, other] = [
      createPrometheusGatewayMetrics({ version: '1.2.3' }),
      createPrometheusGatewayMetrics({ version: '4' }),
    ];
    one.unusable('m');
    assert.equal(await samples(one, 'build'), ['build_info{version="1.2.3"} 1']);
    assert.equal(await samples(other, 'unusable'), []);
    assert.match((await one.text()) ?? '', /^process_resident_memory_bytes \d+/m);
  });
  check('writes names with quotes and line breaks as the format wants them', async () => {
    const meter = createPrometheusGatewayMetrics({ version: '1' });
    meter.unusable('a"b\\c\nd');
    assert.equal(await samples(meter, 'unusable'), ['unusable_replies_total{model="a\\"b\\\\c\\nd"} 1']);
  });
});

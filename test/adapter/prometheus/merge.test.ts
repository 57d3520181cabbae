import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { createPrometheusGatewayMetrics } from '../../../src/adapter/prometheus/gateway.ts';
import { addedCounts, GAUGE_RULES, MetricFamilies, mergedMetricsText } from '../../../src/adapter/prometheus/merge.ts';
import { createWatcherMetrics } from '../../../src/adapter/prometheus/workers.ts';
import type { GatewayReadings } from '../../../src/gateway/metrics.ts';
import { describe } from '../../check.ts';

const ANSWERED = { method: 'POST', route: '/v1/moderations', status: 200, durationMs: 3 };
const READINGS: GatewayReadings = {
  keys: [{ fingerprint: 'aaaa', state: 'cooling', coolDownMs: 4000 }],
  breaker: { state: 'open', coolDownMs: 100 },
  callsRunning: 3,
  callsWaiting: 2,
  callsWaitingLimit: 256,
  cachedVerdicts: 41,
  bytesInFlight: 4096,
  largeTexts: 1,
};
const CALM: GatewayReadings = {
  ...READINGS,
  keys: [{ fingerprint: 'aaaa', state: 'active', coolDownMs: 0 }],
  breaker: { state: 'closed', coolDownMs: 0 },
};

/** The metrics of one process as another receives them. */
const familiesOf = async (readings: GatewayReadings, answers: number): Promise<MetricFamilies> => {
  const meter = createPrometheusGatewayMetrics({ version: '1', isSharedStateUp: () => true });
  meter.watch(() => readings);
  for (let count = 0; count < answers; count++) meter.answered(ANSWERED);
  return v.parse(MetricFamilies, JSON.parse(JSON.stringify(await meter.families())));
};
const valueIn = (text: string, name: string): string | undefined =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);

describe('the metrics of several processes', (check) => {
  check('have a rule for each gauge, and none for what is no gauge', async () => {
    const all = [...(await familiesOf(READINGS, 1)), ...(await createWatcherMetrics(() => 1).families())];
    const gauges = new Set(all.filter(({ type }) => type === 'gauge').map(({ name }) => name));
    assert.equal(Object.keys(GAUGE_RULES).sort(), [...gauges].sort());
  });

  check('add counters and histograms up, and gauges by their rules', async () => {
    const text = await mergedMetricsText([await familiesOf(READINGS, 2), await familiesOf(CALM, 3)]);
    const requests = 'gatehouse_requests_total{method="POST",route="/v1/moderations",status="200"}';
    const bucket = (le: string) => `gatehouse_request_duration_seconds_bucket{le="${le}",route="/v1/moderations"}`;
    const found = (name: string) => valueIn(text, name);
    assert.is(found(requests), '5');
    assert.equal([found(bucket('0.0025')), found(bucket('0.005')), found(bucket('+Inf'))], ['0', '5', '5']);
    assert.is(found('gatehouse_request_duration_seconds_count{route="/v1/moderations"}'), '5');
    assert.equal(
      [
        found('gatehouse_backend_calls_running'),
        found('gatehouse_cached_verdicts'),
        found('gatehouse_bytes_in_flight'),
      ],
      ['6', '82', '8192'],
    );
    assert.is(found('gatehouse_backend_breaker_open'), '1');
    assert.is(found('gatehouse_backend_key_rest_seconds{key="aaaa"}'), '4');
    assert.is(found('gatehouse_backend_key_state{key="aaaa",state="cooling"}'), '1');
    assert.equal([found('gatehouse_build_info{version="1"}'), found('gatehouse_shared_state_up')], ['1', '1']);
    assert.equal(new Set(text.match(/^# TYPE .*$/gm)).size, text.match(/^# TYPE .*$/gm)?.length);
  });

  check('keep the counts of processes that are gone, and not their gauges', async () => {
    const gone = await addedCounts([await familiesOf(READINGS, 2), await familiesOf(READINGS, 3)]);
    assert.ok(gone.length > 5);
    assert.ok(gone.every(({ type }) => type !== 'gauge'));
    const text = await mergedMetricsText([gone, await familiesOf(CALM, 1)]);
    assert.is(valueIn(text, 'gatehouse_requests_total{method="POST",route="/v1/moderations",status="200"}'), '6');
    assert.is(valueIn(text, 'gatehouse_cached_verdicts'), '41');
  });
});

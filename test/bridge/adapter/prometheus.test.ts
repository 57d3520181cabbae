import * as assert from 'uvu/assert';
import { createPrometheusBridgeMetrics } from '../../../src/bridge/adapter/prometheus.ts';
import type { AnswerMeasurement, BridgeMetrics } from '../../../src/bridge/metrics.ts';
import { describe } from '../../check.ts';

const FACTS: AnswerMeasurement = {
  ...{ endpoint: 'chat', isStreamed: true, outcome: 'answered' },
  ...{ firstWordMs: 400, durationMs: 2500 },
};

/** The samples whose names begin with `start`, without the prefix that all have. */
const samples = async (meter: BridgeMetrics, start: string): Promise<string[]> =>
  ((await meter.text()) ?? '')
    .split('\n')
    .filter((line) => line.startsWith(`gatehouse_${start}`))
    .map((line) => line.slice('gatehouse_'.length));

describe("the bridge's meter for Prometheus", (check) => {
  check('counts answers by endpoint, way and outcome, and goes on counting after it was read', async () => {
    const meter = createPrometheusBridgeMetrics('1');
    meter.recordAnswer(FACTS);
    meter.recordAnswer(FACTS);
    meter.recordAnswer({ ...FACTS, isStreamed: false });
    meter.recordAnswer({ ...FACTS, endpoint: 'responses', outcome: 'asked' });
    const counts = [
      'answers_total{endpoint="chat",streamed="true",outcome="answered"} 2',
      'answers_total{endpoint="chat",streamed="false",outcome="answered"} 1',
      'answers_total{endpoint="responses",streamed="true",outcome="asked"} 1',
    ];
    assert.equal(await samples(meter, 'answers_total'), counts);
    meter.recordAnswer(FACTS);
    assert.is((await samples(meter, 'answers_total'))[0], counts[0]?.replace(/2$/, '3'));
  });

  check('reports how long answers took, and how long until their first word, if they had one', async () => {
    const meter = createPrometheusBridgeMetrics('1');
    meter.recordAnswer(FACTS);
    meter.recordAnswer({ ...FACTS, firstWordMs: undefined, durationMs: 500 });
    meter.recordAnswer({ ...FACTS, endpoint: 'responses' });
    assert.equal(await samples(meter, 'answer_duration_seconds_sum'), [
      'answer_duration_seconds_sum{endpoint="chat"} 3',
      'answer_duration_seconds_sum{endpoint="responses"} 2.5',
    ]);
    assert.equal(await samples(meter, 'first_word_seconds_count'), [
      'first_word_seconds_count{endpoint="chat"} 1',
      'first_word_seconds_count{endpoint="responses"} 1',
    ]);
    assert.is((await samples(meter, 'first_word_seconds_sum'))[0], 'first_word_seconds_sum{endpoint="chat"} 0.4');
  });

  check('counts requests, and shows its version and the process', async () => {
    const meter = createPrometheusBridgeMetrics('1.2.3');
    meter.recordRequest({ method: 'POST', route: '/v1/chat/completions', status: 200, durationMs: 1200 });
    assert.equal(await samples(meter, 'requests'), [
      'requests_total{method="POST",route="/v1/chat/completions",status="200"} 1',
    ]);
    assert.equal(await samples(meter, 'build'), ['build_info{version="1.2.3"} 1']);
    assert.match((await meter.text()) ?? '', /^process_resident_memory_bytes \d+/m);
  });

  check('shows what is read off the bridge at the moment of asking, and nothing before it can', async () => {
    const meter = createPrometheusBridgeMetrics('1');
    const all = async () => (await samples(meter, '')).filter((line) => /^(answers_running|agent)/.test(line));
    assert.equal(await all(), [
      ...['answers_running 0', 'agent_connected 0'],
      ...['agent_servers 0', 'agent_servers_well 0'],
    ]);
    let readings = {
      answersRunning: 3,
      streamsResumed: 2,
      bytesInFlight: 4096,
      isAgentConnected: true,
      agentServers: { total: 3, healthy: 2 },
    };
    meter.watch(() => readings);
    assert.equal(await all(), [
      ...['answers_running 3', 'agent_connected 1'],
      ...['agent_servers 3', 'agent_servers_well 2'],
    ]);
    readings = { ...readings, answersRunning: 0, isAgentConnected: false };
    assert.equal(await all(), [
      ...['answers_running 0', 'agent_connected 0'],
      ...['agent_servers 3', 'agent_servers_well 2'],
    ]);
  });
});

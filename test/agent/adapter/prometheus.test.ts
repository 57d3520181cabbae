import * as assert from 'uvu/assert';
import { createPrometheusAgentMetrics } from '../../../src/agent/adapter/prometheus.ts';
import type { AgentMetrics } from '../../../src/agent/metrics.ts';
import { type ChatModel, ModelError } from '../../../src/agent/model/types.ts';
import { describe } from '../../check.ts';
import { ask, asksWhen, isQuiet, reply, until } from '../harness/permission-requests.ts';
import {
  calling,
  createAgentWorld,
  failing,
  hanging,
  outcome,
  prompt,
  replying,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';

/** The samples of our own, without the prefix that all have. */
const samplesOf = async (meter: Pick<AgentMetrics, 'text'>): Promise<readonly string[]> =>
  ((await meter.text()) ?? '')
    .split('\n')
    .filter((line) => line.startsWith('gatehouse_'))
    .map((line) => line.slice('gatehouse_'.length));
const beginning = (samples: readonly string[], start: string) =>
  samples.filter((line) => line.startsWith(start)).sort();

const metered = async (given: WorldGiven = {}) => {
  const meter = createPrometheusAgentMetrics('1.2.3');
  const world = await createAgentWorld({ titler: null, ...given, changes: { metrics: meter } });
  return { world, meter, samples: () => samplesOf(meter) };
};

describe('the metrics of the agent server', (check) => {
  check('are on a route, with those of the process', async () => {
    const { world } = await metered();
    await world.get('/session');
    const response = await world.call('GET', '/metrics');
    assert.is(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', 'text/plain; version=0.0.4');
    const text = await response.text();
    assert.match(text, 'gatehouse_build_info{version="1.2.3"} 1');
    assert.match(text, 'gatehouse_requests_total{method="GET",route="/session",status="200"} 1');
    assert.match(text, 'gatehouse_request_duration_seconds_count{route="/session"} 1');
    assert.match(text, 'process_cpu_seconds_total');
  });

  check('count turns by their end, and calls to models with their tokens', async () => {
    const refused = failing(new ModelError('auth', 'no'));
    const { world, samples } = await metered({ scripts: [replying('hi'), replying('hi'), refused, hanging] });
    const id = await world.session();
    for (let count = 0; count < 3; count++) await ask(world, id);
    const answer = ask(world, id);
    await until(world, () => world.asked.length === 4);
    await world.post(`/session/${id}/abort`);
    await answer;
    const reported = await samples();
    assert.equal(beginning(reported, 'turns_total'), [
      'turns_total{end="aborted"} 1',
      'turns_total{end="answered"} 2',
      'turns_total{end="failed"} 1',
    ]);
    assert.equal(beginning(reported, 'model_calls_total'), [
      'model_calls_total{model="demo/main",outcome="answered"} 2',
      'model_calls_total{model="demo/main",outcome="failed"} 1',
      'model_calls_total{model="demo/main",outcome="left"} 1',
    ]);
    assert.equal(beginning(reported, 'tokens_total'), [
      'tokens_total{model="demo/main",kind="input"} 20',
      'tokens_total{model="demo/main",kind="output"} 10',
    ]);
    assert.equal(beginning(reported, 'turn_duration_seconds_count'), [
      'turn_duration_seconds_count{end="aborted"} 1',
      'turn_duration_seconds_count{end="answered"} 2',
      'turn_duration_seconds_count{end="failed"} 1',
    ]);
    assert.equal(beginning(reported, 'model_call_duration_seconds_count'), [
      'model_call_duration_seconds_count{model="demo/main"} 4',
    ]);
  });

  check('count titles and broken answers among the calls to models', async () => {
    const cut = async function* () {
      yield { kind: 'text' as const, delta: 'so' };
    };
    const { world, samples } = await metered({ titler: {}, scripts: [replying('hi'), cut] });
    const id = await world.session();
    await ask(world, id);
    await world.clock.advance(100);
    void ask(world, id);
    await until(world, () => world.asked.length === 2);
    await world.clock.advance(100);
    await world.post(`/session/${id}/abort`);
    assert.equal(beginning(await samples(), 'model_calls_total'), [
      'model_calls_total{model="demo/main",outcome="answered"} 2',
      'model_calls_total{model="demo/main",outcome="failed"} 1',
    ]);
  });

  check('count a title that breaks off as failed', async () => {
    const meter = createPrometheusAgentMetrics('1');
    const model: ChatModel = async function* (request, signal) {
      if (request.system.includes('title')) yield { kind: 'text', delta: 'Bea' };
      else yield* replying('hi')(request, signal);
    };
    const world = await createAgentWorld({ changes: { metrics: meter, model } });
    await ask(world, await world.session());
    await world.clock.advance(100);
    assert.equal(beginning(await samplesOf(meter), 'model_calls_total'), [
      'model_calls_total{model="demo/main",outcome="answered"} 1',
      'model_calls_total{model="demo/main",outcome="failed"} 1',
    ]);
  });

  check('count calls of tools by their server and outcome, under no name that a model has made up', async () => {
    const of = (tool: string, run?: Parameters<typeof toolNamed>[1]) => ({
      ...toolNamed(`shop_${tool}`, run),
      origin: { server: 'shop', tool },
    });
    const calls = calling(
      { name: 'shop_buy', input: {} },
      { name: 'shop_fail', input: {} },
      { name: 'shop_deny', input: {} },
      { name: 'shop_buy', input: [1] },
      { name: 'task', input: {} },
      { name: 'made up by a model', input: {} },
    );
    const { world, samples } = await metered({
      tools: [of('buy'), of('fail', async () => outcome('no', true)), { ...of('deny'), patternsFor: () => ['x'] }],
      agents: [{ name: 'helper', canTakeTasks: true }],
      rules: [
        { permission: '*', pattern: '*', action: 'allow' },
        { permission: 'shop_deny', pattern: 'x', action: 'deny' },
      ],
      scripts: [calls, replying('done')],
    });
    await ask(world, await world.session());
    const reported = await samples();
    assert.equal(beginning(reported, 'tool_calls_total'), [
      'tool_calls_total{server="gatehouse",outcome="failed"} 1',
      'tool_calls_total{server="none",outcome="refused"} 1',
      'tool_calls_total{server="shop",outcome="completed"} 1',
      'tool_calls_total{server="shop",outcome="failed"} 1',
      'tool_calls_total{server="shop",outcome="refused"} 2',
    ]);
    assert.not.match(reported.join('\n'), 'made up');
  });

  check('report what runs, waits, asks and listens at the moment', async () => {
    const { world, samples } = await metered({
      rules: [{ permission: '*', pattern: '*', action: 'ask' }],
      tools: [toolNamed('pay')],
      scripts: [calling({ name: 'pay', input: {} }), replying('done')],
    });
    const gauges = async () => (await samples()).filter((line) => /^(?:runs|questions|event_streams)/.test(line));
    const reported = (...counts: readonly number[]) =>
      ['runs{state="running"}', 'runs{state="waiting"}', 'questions_open', 'event_streams_open'].map(
        (name, at) => `${name} ${counts[at]}`,
      );
    assert.equal(await gauges(), reported(0, 0, 0, 0));
    const streams = await Promise.all(['/event', '/global/event'].map((path) => world.call('GET', path)));
    await Promise.all(streams.map(({ body }) => body?.getReader().read()));
    const id = await world.session();
    for (let count = 0; count < 3; count++) await world.call('POST', `/session/${id}/prompt_async`, prompt('pay'));
    const [asked] = await asksWhen(world, 1);
    assert.equal(await gauges(), reported(1, 2, 1, 2));
    await reply(world, asked, { reply: 'always' });
    await until(world, () => isQuiet(world));
    await world.server.stop();
    await world.clock.advance(10_000);
    assert.equal((await gauges()).slice(0, 3), reported(0, 0, 0).slice(0, 3));
  });

  check('no longer count a stream whose client has left', async () => {
    const { world, samples } = await metered();
    const stream = await world.call('GET', '/event');
    const reader = stream.body?.getReader();
    await reader?.read();
    assert.ok((await samples()).includes('event_streams_open 1'));
    await reader?.cancel();
    assert.ok((await samples()).includes('event_streams_open 0'));
  });
});

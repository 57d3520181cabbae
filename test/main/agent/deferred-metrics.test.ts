import * as assert from 'uvu/assert';
import type { AgentMetrics } from '../../../src/agent/metrics.ts';
import { createDeferredMetrics } from '../../../src/main/agent/deferred-metrics.ts';
import { NO_AGENT_METRICS } from '../../agent/harness/metrics.ts';
import { describe, rejection } from '../../check.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ANSWERED = { end: 'answered', durationMs: 1 } as const;

/** Metrics that remember what was recorded. */
const counting = () => {
  const reported: string[] = [];
  const metrics: AgentMetrics = {
    requestAnswered: () => void reported.push('request'),
    turnEnded: ({ end }) => void reported.push(`turn ${end}`),
    modelCallEnded: ({ model }) => void reported.push(`model ${model}`),
    toolCallEnded: ({ server }) => void reported.push(`tool ${server}`),
    sessionsRetired: (sessions) => void reported.push(`retired ${sessions}`),
    watch: () => void reported.push('watch'),
    text: async () => reported.join(),
  };
  return { reported, metrics };
};

describe('a meter that is loaded late', (check) => {
  check('has counted what was before it was there, once it is', async () => {
    const { reported, metrics: loaded } = counting();
    let loads = 0;
    const { metrics, load } = createDeferredMetrics(async () => {
      loads += 1;
      return loaded;
    });
    metrics.watch(() => ({
      leasesHeld: 0,
      leasesAwaited: 0,
      servers: 1,
      runsRunning: 0,
      runsWaiting: 0,
      permissionRequestsOpen: 0,
      isStoreUp: true,
      streamsOpen: 0,
      bytesInFlight: 0,
    }));
    metrics.requestAnswered({ method: 'GET', route: '/', status: 200, durationMs: 1 });
    metrics.turnEnded(ANSWERED);
    metrics.modelCallEnded({ model: 'a/b', outcome: 'left', tokens: undefined, durationMs: 1 });
    metrics.toolCallEnded({ server: 'docs', outcome: 'completed' });
    metrics.sessionsRetired(3);
    assert.equal([reported, loads], [[], 0]);
    load();
    await turn();
    assert.equal(reported, ['watch', 'request', 'turn answered', 'model a/b', 'tool docs', 'retired 3']);
    metrics.turnEnded({ end: 'failed', durationMs: 1 });
    assert.is(reported.at(-1), 'turn failed');
  });

  check('is loaded by anyone who asks for its text first, and reports each thing once', async () => {
    const { reported, metrics: loaded } = counting();
    const { metrics, load } = createDeferredMetrics(async () => loaded);
    metrics.turnEnded(ANSWERED);
    load();
    assert.equal(await Promise.all([metrics.text(), metrics.text()]), ['turn answered', 'turn answered']);
    assert.equal(reported, ['turn answered']);
  });

  check('harms no one when it cannot be loaded, and holds no more than so much', async () => {
    const { reported, metrics: loaded } = counting();
    let isBroken = true;
    const { metrics, load } = createDeferredMetrics(async () => {
      if (isBroken) throw new Error('the disk is away');
      return loaded;
    });
    load();
    for (let count = 0; count < 20_000; count++) metrics.turnEnded(ANSWERED);
    assert.match(String(await rejection(metrics.text())), 'the disk is away');
    isBroken = false;
    await metrics.text();
    assert.is(reported.length, 10_000);
    metrics.turnEnded(ANSWERED);
    assert.is(reported.length, 10_001);
  });

  check('may also be one that keeps nothing', async () => {
    const { metrics } = createDeferredMetrics(async () => NO_AGENT_METRICS);
    assert.is(await metrics.text(), undefined);
  });
});

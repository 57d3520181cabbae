import * as assert from 'uvu/assert';
import { type Meter, SILENT_METER } from '../../../src/agent/metrics.ts';
import { createLateMeter } from '../../../src/main/agent/deferred-metrics.ts';
import { describe, rejection } from '../../check.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ANSWERED = { end: 'answered', durationMs: 1 } as const;

/** A meter that remembers what it was told. */
const counting = () => {
  const told: string[] = [];
  const meter: Meter = {
    answered: () => void told.push('request'),
    turn: ({ end }) => void told.push(`turn ${end}`),
    modelCall: ({ model }) => void told.push(`model ${model}`),
    toolCall: ({ server }) => void told.push(`tool ${server}`),
    retired: (sessions) => void told.push(`retired ${sessions}`),
    watch: () => void told.push('watch'),
    text: async () => told.join(),
  };
  return { told, meter };
};

describe('a meter that is loaded late', (check) => {
  check('has counted what was before it was there, once it is', async () => {
    const { told, meter: loaded } = counting();
    let loads = 0;
    const { meter, load } = createLateMeter(async () => {
      loads += 1;
      return loaded;
    });
    meter.watch(() => ({
      leasesHeld: 0,
      leasesAwaited: 0,
      servers: 1,
      runsRunning: 0,
      runsWaiting: 0,
      asksOpen: 0,
      streamsOpen: 0,
    }));
    meter.answered({ method: 'GET', route: '/', status: 200, durationMs: 1 });
    meter.turn(ANSWERED);
    meter.modelCall({ model: 'a/b', outcome: 'left', tokens: undefined, durationMs: 1 });
    meter.toolCall({ server: 'docs', outcome: 'completed' });
    meter.retired(3);
    assert.equal([told, loads], [[], 0]);
    load();
    await turn();
    assert.equal(told, ['watch', 'request', 'turn answered', 'model a/b', 'tool docs', 'retired 3']);
    meter.turn({ end: 'failed', durationMs: 1 });
    assert.is(told.at(-1), 'turn failed');
  });

  check('is loaded by whoever asks for its text first, and tells each thing once', async () => {
    const { told, meter: loaded } = counting();
    const { meter, load } = createLateMeter(async () => loaded);
    meter.turn(ANSWERED);
    load();
    assert.equal(await Promise.all([meter.text(), meter.text()]), ['turn answered', 'turn answered']);
    assert.equal(told, ['turn answered']);
  });

  check('harms nobody when it cannot be loaded, and holds no more than so much', async () => {
    const { told, meter: loaded } = counting();
    let isBroken = true;
    const { meter, load } = createLateMeter(async () => {
      if (isBroken) throw new Error('the disk is away');
      return loaded;
    });
    load();
    for (let count = 0; count < 20_000; count++) meter.turn(ANSWERED);
    assert.match(String(await rejection(meter.text())), 'the disk is away');
    isBroken = false;
    await meter.text();
    assert.is(told.length, 10_000);
    meter.turn(ANSWERED);
    assert.is(told.length, 10_001);
  });

  check('may also be one that keeps nothing', async () => {
    const { meter } = createLateMeter(async () => SILENT_METER);
    assert.is(await meter.text(), undefined);
  });
});

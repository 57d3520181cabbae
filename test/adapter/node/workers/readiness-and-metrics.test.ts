import * as assert from 'uvu/assert';
import type { Readiness } from '../../../../src/gateway/readiness.ts';
import { describe } from '../../../check.ts';
import { createWorld, families, settle } from './world.ts';

const READY: Readiness = { reasons: [], missing: [], warnings: [] };
const UNREADY: Readiness = { reasons: ['the backend does not answer in time'], missing: [], warnings: [] };

describe('the readiness of several workers', (check) => {
  check('is that of one that is ready, and not ready when none is or the service stops', async () => {
    const { join, stop, clock } = createWorld();
    const answers = [UNREADY, UNREADY];
    const checks = [join(), join()].map(({ state }, index) => state.readiness(async () => answers[index] ?? UNREADY));
    assert.equal(await checks[0]?.(), UNREADY);
    answers[1] = { ...READY, warnings: ['moderation-fast: does not think'] };
    assert.equal(await checks[0]?.(), answers[1]);
    stop();
    assert.equal(await checks[0]?.(), UNREADY);
    assert.is(clock.pending(), 0);
  });
});

describe('the metrics of several workers', (check) => {
  const countIn = (text: string): number => Number(/^requests_total\{route="\/"\} (\d+)$/m.exec(text)?.[1]);

  check('are their sum, whichever is asked, and never less than before when one ends and is replaced', async () => {
    const { join } = createWorld();
    const [first, second] = [join(), join()];
    [first.count, second.count] = [3, 4];
    assert.is(countIn(await first.state.metricsText()), 7);
    assert.is(countIn(await second.state.metricsText()), 7);
    first.count = 10;
    // What it has told last stays.
    first.registration.onNotice({ kind: 'metrics', families: families(9) });
    first.cut();
    first.registration.leave();
    first.registration.leave();
    assert.is(countIn(await second.state.metricsText()), 13);
    const third = join();
    third.count = 1;
    assert.is(countIn(await second.state.metricsText()), 14);
  });

  check('include what a worker told last that does not answer in time', async () => {
    const { join, clock } = createWorld();
    const [first, second] = [join(), join()];
    [first.count, second.count] = [3, 4];
    assert.is(countIn(await first.state.metricsText()), 7);
    second.cut();
    const text = first.state.metricsText();
    await settle();
    await clock.advance(1000);
    assert.is(countIn(await text), 7);
  });

  check('count a worker once that ends while the others are asked', async () => {
    const { join } = createWorld();
    const [first, second] = [join(), join()];
    [first.count, second.count] = [3, 4];
    assert.is(countIn(await first.state.metricsText()), 7);
    const text = first.state.metricsText();
    await settle().then(() => second.registration.leave());
    const other = first.state.metricsText();
    second.registration.leave();
    assert.equal([countIn(await text), countIn(await other)], [7, 7]);
  });

  check('are refused, and not those of one worker, when the first process does not answer', async () => {
    const { join, clock } = createWorld();
    const worker = join();
    worker.cut();
    const refused = worker.state.metricsText().catch((error: { detail: { kind: string } }) => error.detail.kind);
    await settle();
    await clock.advance(3000);
    assert.is(await refused, 'unavailable');
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { doubtWorld, markerOf, problemOf, units } from './world.ts';

const SETTLES_MS = 120_000;
const WEEK_MS = 7 * 24 * 3_600_000;

describe('earlier recharges in doubt', (check) => {
  check('that are young stop everything, also after a rise: somebody else may have paid', async () => {
    const { look } = await doubtWorld([1000], [], { present: units('11.5') });
    assert.is((await problemOf(look())).kind, 'unresolved-recharge');
  });

  check('that are too young to be sure of stop everything, and say for how long', async () => {
    for (const [ageMs, retryAfterMs] of [
      [0, SETTLES_MS],
      [1, SETTLES_MS - 1],
      [SETTLES_MS - 1, 1],
    ] as const) {
      const { look } = await doubtWorld([ageMs]);
      assert.equal(await problemOf(look()), { kind: 'unresolved-recharge', retryAfterMs, reference: markerOf(0) });
    }
  });

  check('stop everything for the one that is too young, among others that are not', async () => {
    const { look } = await doubtWorld([600_000, 500_000, 1000], [0]);
    assert.equal(await problemOf(look()), {
      kind: 'unresolved-recharge',
      retryAfterMs: SETTLES_MS - 1000,
      reference: markerOf(2),
    });
  });

  check('from a clock that ran ahead stop everything', async () => {
    const { look } = await doubtWorld([-5000]);
    assert.equal(await problemOf(look()), {
      kind: 'unresolved-recharge',
      retryAfterMs: SETTLES_MS + 5000,
      reference: markerOf(0),
    });
  });

  check('are remembered for a week', async () => {
    assert.is((await (await doubtWorld([WEEK_MS - 1])).look()).length, 1);
    for (const ageMs of [WEEK_MS, WEEK_MS + 1]) {
      const { look, reads } = await doubtWorld([ageMs]);
      assert.equal(await look(), []);
      assert.is(reads.length, 0);
    }
  });

  check('are the latest five, and one look at the history is enough for them', async () => {
    const { look, reads } = await doubtWorld(
      [9, 8, 7, 6, 5, 4, 3].map((minutes) => minutes * 60_000),
      [6],
    );
    const doubts = await look();
    assert.equal(
      doubts.map(({ reference, creditSign }) => [reference, creditSign]),
      [2, 3, 4, 5, 6].map((index) => [markerOf(index), index === 6 ? 'history_row' : null]),
    );
    assert.is(reads.length, 1);
  });
});

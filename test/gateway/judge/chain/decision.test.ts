import * as assert from 'uvu/assert';
import {
  allOpen,
  alwaysAsked,
  isAnyCovered,
  openAfter,
  type PartialScores,
  worstOf,
} from '../../../../src/gateway/judge/chain/decision.ts';
import type { DoubtBand } from '../../../../src/gateway/models.ts';
import { describe } from '../../../check.ts';

const BAND: DoubtBand = [0.2, 0.8];
const reach = (covers: readonly boolean[], doubt: readonly DoubtBand[] = covers.map(() => BAND)) => ({ covers, doubt });
const ALL = [true, true];

/** Two categories: what the judge covers, what it says, and which of them stay open. */
const TABLE: readonly (readonly [string, readonly boolean[], PartialScores, readonly boolean[]])[] = [
  ['sure that both are clean', ALL, [0, 0.1], [false, false]],
  ['sure that both are violated', ALL, [1, 0.9], [false, false]],
  ['at the lower end of the band', ALL, [0.2, 0], [true, false]],
  ['just below it', ALL, [0.19, 0], [false, false]],
  ['at the upper end of the band', ALL, [0.8, 0], [false, false]],
  ['just below that', ALL, [0.79, 0], [true, false]],
  ['in doubt of both', ALL, [0.5, 0.5], [true, true]],
  ['silent about what it covers', ALL, [undefined, 0], [true, false]],
  ['asked about one only', [true, false], [0, undefined], [false, true]],
  ['naming what it does not cover', [true, false], [0, 0.9], [false, true]],
  ['in doubt of the one that it covers', [true, false], [0.5, undefined], [true, true]],
  ['covering nothing', [false, false], [0, 0], [true, true]],
];

describe('what is open after a judge', (check) => {
  for (const [name, covers, scores, open] of TABLE)
    check(`that is ${name}`, () => assert.equal(openAfter(allOpen(2), reach(covers), scores), open));

  check('is by category: each may have a band of its own', () => {
    const bands: readonly DoubtBand[] = [
      [0.2, 0.8],
      [0.05, 0.95],
    ];
    assert.equal(openAfter(allOpen(2), reach(ALL, bands), [0.1, 0.1]), [false, true]);
    assert.equal(openAfter(allOpen(2), reach(ALL, bands), [0.9, 0.9]), [false, true]);
  });
  check('is what a later judge doubts, also where an earlier one was sure', () => {
    assert.equal(openAfter([false, true], reach(ALL), [0.5, 0]), [true, false]);
  });
  check('is nothing in doubt in a band that is empty', () => {
    assert.equal(
      openAfter(
        allOpen(2),
        reach(ALL, [
          [0.5, 0.5],
          [0.5, 0.5],
        ]),
        [0.5, 0.5],
      ),
      [false, false],
    );
  });
});

describe('a judge', (check) => {
  check('is asked only where it covers something that is open', () => {
    assert.is(isAnyCovered(reach([true, false]), [true, false]), true);
    assert.is(isAnyCovered(reach([true, false]), [false, true]), false);
    assert.is(isAnyCovered(reach(ALL), [false, false]), false);
  });
  check('is asked about every text where it covers what none before it does', () => {
    const chain = [[true, false, false], [true, true, false], [false, true, false], ALL.concat(true)];
    assert.equal(alwaysAsked(chain.map((covers) => reach(covers))), [true, true, false, true]);
    assert.equal(alwaysAsked([reach([]), reach([])]), [false, false]);
  });
});

describe('the scores of several judges', (check) => {
  check('are the highest of each category, whoever gave it', () => {
    assert.equal(
      worstOf(
        [
          [0.6, 0.1],
          [0.2, 0.3],
        ],
        2,
      ),
      [0.6, 0.3],
    );
  });
  check('include what a judge named beside its own', () => {
    assert.equal(
      worstOf(
        [
          [0, 0.9],
          [0.1, 0.2],
        ],
        2,
      ),
      [0.1, 0.9],
    );
  });
  check('take nothing for a zero', () => {
    assert.equal(
      worstOf(
        [
          [undefined, 0.4],
          [0.3, undefined],
        ],
        2,
      ),
      [0.3, 0.4],
    );
    assert.throws(() => worstOf([[0, undefined]], 2), /No judge has given a score/);
    assert.throws(() => worstOf([], 1), /No judge has given a score/);
  });
});

import * as assert from 'uvu/assert';
import {
  allOpen,
  alwaysAsked,
  isAnyCovered,
  openAfter,
  type PartialScores,
  withCleared,
  worstOf,
} from '../../../../src/gateway/judge/chain/decision.ts';
import type { DoubtBand } from '../../../../src/gateway/models.ts';
import { describe } from '../../../check.ts';

const BAND: DoubtBand = [0.2, 0.8];
const reach = (covers: readonly boolean[], doubt: readonly DoubtBand[] = covers.map(() => BAND)) => ({
  covers,
  clears: covers.map(() => false),
  doubt,
  cleanBelow: doubt.map(([from]) => from),
});
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
    check(`that is ${name}`, () => assert.equal(openAfter(allOpen(2), reach(covers), { scores }), open));

  check('is by category: each may have a band of its own', () => {
    const bands: readonly DoubtBand[] = [
      [0.2, 0.8],
      [0.05, 0.95],
    ];
    assert.equal(openAfter(allOpen(2), reach(ALL, bands), { scores: [0.1, 0.1] }), [false, true]);
    assert.equal(openAfter(allOpen(2), reach(ALL, bands), { scores: [0.9, 0.9] }), [false, true]);
  });
  check('is what a later judge doubts, also where an earlier one was sure', () => {
    assert.equal(openAfter([false, true], reach(ALL), { scores: [0.5, 0] }), [true, false]);
  });
  check('is nothing in doubt in a band that is empty', () => {
    assert.equal(
      openAfter(
        allOpen(2),
        reach(ALL, [
          [0.5, 0.5],
          [0.5, 0.5],
        ]),
        { scores: [0.5, 0.5] },
      ),
      [false, false],
    );
  });
});

/** Three categories, of which the judge covers the first two and may clear the third. */
const CLEARED: readonly (readonly [string, PartialScores, PartialScores])[] = [
  ['is sure that its own are clean', [0, 0.1, undefined], [0, 0.1, 0.1]],
  ['finds a violation', [0.9, 0, undefined], [0.9, 0, undefined]],
  ['is in doubt', [0.2, 0, undefined], [0.2, 0, undefined]],
  ['names the category itself', [0, 0, 0.9], [0, 0, 0.9]],
  ['names it as hardly violated', [0, 0, 0.01], [0, 0, 0.01]],
  ['is silent about one of its own', [0, undefined, undefined], [0, undefined, undefined]],
];

describe('what a judge clears', (check) => {
  const clearing = { ...reach([true, true, false]), clears: [false, false, true] };
  for (const [name, scores, expected] of CLEARED)
    check(`where it ${name}`, () => {
      assert.equal(withCleared({ scores }, clearing), expected);
      const isCleared = scores[2] === undefined && expected[2] !== undefined;
      assert.is(openAfter(allOpen(3), clearing, { scores })[2], !isCleared);
    });
  check('is nothing where it covers nothing, and nothing that it is not to clear', () => {
    const none = { ...reach([false, false, false]), clears: [false, false, true] };
    assert.equal(withCleared({ scores: [undefined, undefined, undefined] }, none), [undefined, undefined, undefined]);
    const scores = [0, 0, undefined];
    assert.equal(withCleared({ scores }, { ...clearing, clears: [true, true, false] }), scores);
    assert.equal(withCleared({ scores, otherHarm: 1 }, clearing), scores);
    assert.is(openAfter(allOpen(3), clearing, { scores, otherHarm: 1 })[2], true);
  });
  check('is nothing where it is not sure of what it was asked beside its own, and no better than that', () => {
    const scores = [0, 0.1, undefined];
    assert.equal(withCleared({ scores, otherHarm: 0.2 }, clearing), scores);
    assert.equal(withCleared({ scores, otherHarm: 0.19 }, clearing), [0, 0.1, 0.19]);
  });
  check('is nothing where it finds a violation below its band of doubt', () => {
    const strict = { ...clearing, cleanBelow: [0.1, 0.1, 0.1] };
    assert.equal(withCleared({ scores: [0.15, 0, undefined] }, strict), [0.15, 0, undefined]);
    assert.is(openAfter(allOpen(3), strict, { scores: [0.15, 0, undefined] })[2], true);
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

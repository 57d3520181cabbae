import * as assert from 'uvu/assert';
import { EvaluationError } from '../../../src/eval/errors.ts';
import type { Sample } from '../../../src/eval/figures/curve.ts';
import type { Observation } from '../../../src/eval/figures/observation.ts';
import { suggestThreshold, type Target } from '../../../src/eval/figures/suggest-threshold.ts';
import { parseTargets, policyFileText, suggestThresholds } from '../../../src/eval/figures/suggestions.ts';
import { parsePolicyFile } from '../../../src/gateway/policy/policy-file.ts';
import { describe } from '../../check.ts';
import { judgedOf } from '../world.ts';

const many = (count: number, score: number, isPositive: boolean): Sample[] =>
  Array.from({ length: count }, () => ({ score, isPositive, isFlagged: score >= 0.5 }));
/** At 0.9 all 30 are positive, at 0.6 half of 20, at 0.3 one of 10, and at 0 the other 60 are negative. */
const SAMPLES = [
  ...many(30, 0.9, true),
  ...many(10, 0.6, true),
  ...many(10, 0.6, false),
  ...many(1, 0.3, true),
  ...many(9, 0.3, false),
  ...many(60, 0, false),
];
const precision = (share: number): Target => ({ measure: 'precision', share });
const recall = (share: number): Target => ({ measure: 'recall', share });
const suggested = (target: Target, samples = SAMPLES) => {
  const suggestion = suggestThreshold('hate', samples, target);
  if (suggestion.kind === 'kept') throw new Error(suggestion.reason);
  return suggestion;
};
const keptBecause = (target: Target, samples: readonly Sample[]): string => {
  const suggestion = suggestThreshold('hate', samples, target);
  return suggestion.kind === 'kept' ? suggestion.reason : 'suggested';
};

describe('a suggested threshold', (check) => {
  check('is the lowest that has the wanted precision, and the highest that has the wanted recall', () => {
    const strict = suggested(precision(0.95));
    assert.equal([strict.threshold.value, strict.precision.value, strict.recall.value], [0.75, 1, 30 / 41]);
    assert.equal([suggested(precision(0.75)).threshold.value, suggested(precision(0.75)).precision.value], [0.5, 0.8]);
    assert.is(suggested(recall(0.7)).threshold.value, 0.75);
    assert.is(suggested(recall(0.9)).threshold.value, 0.5);
    assert.is(suggested(recall(1)).threshold.value, 0.15);
  });

  check('is found where a share is reached exactly', () => {
    const mixed = [...many(55, 0.9, true), ...many(45, 0.9, false), ...many(45, 0.2, true), ...many(55, 0.2, false)];
    assert.is(suggested(precision(0.55), mixed).recall.value, 0.55);
    assert.is(suggested(recall(0.55), mixed).precision.value, 0.55);
  });

  check('comes with intervals that hold the value, are no wider than needed, and are the same each time', () => {
    const one = suggested(precision(0.75));
    for (const { value, low, high } of [one.threshold, one.precision, one.recall])
      assert.ok(low <= value && value <= high, `${low} ${value} ${high}`);
    // The normal approximation of 40 of 50 is 0.69 to 0.91.
    assert.ok(Math.abs(one.precision.low - 0.69) < 0.03 && Math.abs(one.precision.high - 0.91) < 0.03);
    assert.ok(one.reachedPercent > 90);
    assert.equal(suggested(precision(0.75)), one);
    assert.equal(suggested(precision(0.75), SAMPLES.toReversed()).threshold.value, one.threshold.value);
  });

  check('is kept as it is where there is too little data, or where none reaches the target', () => {
    assert.match(
      keptBecause(precision(0.5), [...many(19, 0.9, true), ...many(50, 0, false)]),
      /^too little data: 19 positive and 50 negative/,
    );
    assert.match(
      keptBecause(precision(0.5), [...many(50, 0.9, true), ...many(19, 0, false)]),
      /^too little data: 50 positive/,
    );
    const mixed = [...many(30, 0.9, true), ...many(30, 0.9, false)];
    assert.match(keptBecause(precision(0.9), mixed), /^no threshold above 0 reaches it/);
    assert.match(
      keptBecause(recall(0.9), [...many(15, 0.9, true), ...many(15, 0, true), ...many(30, 0, false)]),
      /^no threshold/,
    );
    // Nine of nine are no precision of 1.
    const few = [...many(9, 0.95, true), ...many(20, 0.6, true), ...many(30, 0.6, false)];
    assert.match(keptBecause(precision(0.9), few), /flags 10 rows$/);
  });
});

describe('a threshold that is kept', (check) => {
  check('is said to be another than the default where the answers show that', () => {
    const few = (score: number, isFlagged: boolean) => [{ score, isFlagged, isPositive: true }];
    assert.not.match(keptBecause(recall(0.9), few(0.5, true)), 'has another');
    assert.not.match(keptBecause(recall(0.9), few(0.45, false)), 'has another');
    assert.match(keptBecause(recall(0.9), few(0.3, true)), /; the policy that judged has another than 0\.5: copy it/);
    assert.match(keptBecause(recall(0.9), few(0.6, false)), 'has another than 0.5');
  });
});

describe('the targets', (check) => {
  check('are one for all, and others for single categories', () => {
    assert.equal(parseTargets([]).all, precision(0.9));
    const { all, byCategory } = parseTargets(['recall=.8', 'self_harm:precision=1', ' hate:recall=0.95']);
    assert.equal(all, recall(0.8));
    assert.equal(
      [...byCategory],
      [
        ['self-harm', precision(1)],
        ['hate', recall(0.95)],
      ],
    );
  });

  check('are refused in words where they are none', () => {
    for (const wrong of [
      '0.9',
      'precision',
      'precision=0',
      'precision=0.0',
      'recall=1.1',
      'f1=0.9',
      'hate:0.9',
      'hate=recall:0.9',
      '',
    ])
      assert.throws(
        () => parseTargets([wrong]),
        (error: unknown) =>
          error instanceof EvaluationError && /^--target: expected precision=0\.9/.test(error.message),
        wrong,
      );
    assert.throws(
      () => parseTargets(['hatred:recall=0.9']),
      /^--target: unknown label "hatred"|unknown label "hatred"/,
    );
    assert.throws(() => parseTargets(['flagged:recall=0.9']), /^--target: flagged has no threshold/);
  });
});

describe('the policy file of suggestions', (check) => {
  const observations = SAMPLES.map(
    ({ score, isPositive }, index): Observation => ({
      id: `${index}`,
      chars: 3,
      known: new Map([
        ['hate', isPositive],
        ['sexual', false],
      ]),
      result: judgedOf({ hate: score }),
    }),
  );
  const suggestions = suggestThresholds(observations, parseTargets(['precision=0.95']));

  const policyOf = async (...given: Parameters<typeof policyFileText>) =>
    parsePolicyFile(await policyFileText(...given)).policies.get('standard');
  const GATEWAY = { policy: '2026-11-22', setHash: 'abc123' };

  check('is taken as it is, has what was found, and leaves the default where nothing was', async () => {
    assert.equal(
      suggestions.map(({ category, kind }) => [category, kind]),
      [
        ['hate', 'suggested'],
        ['sexual', 'kept'],
      ],
    );
    const policy = await policyOf(suggestions, GATEWAY);
    assert.equal(
      policy?.categories.filter(({ threshold }) => threshold !== 0.5).map(({ name, threshold }) => [name, threshold]),
      [['hate', 0.75]],
    );
    assert.is(policy!.guidance, undefined);
  });

  check(
    'has another version where it has other thresholds or is about another set, and the same otherwise',
    async () => {
      const version = async (...given: Parameters<typeof policyFileText>) => (await policyOf(...given))?.version;
      const one = await version(suggestions, GATEWAY);
      assert.match(one ?? '', /^suggested-[0-9a-f]{12}$/);
      assert.is(await version(suggestions, GATEWAY), one);
      assert.is.not(await version(suggestions, { ...GATEWAY, setHash: 'other' }), one);
      const milder = suggestThresholds(observations, parseTargets(['recall=1']));
      assert.is.not(await version(milder, GATEWAY), one);
    },
  );

  check('extends the built-in policy that judged, and is taken without a suggestion too', async () => {
    const policy = await policyOf([], { ...GATEWAY, policy: 'coding-agent/2026-11-22' });
    assert.match(policy?.guidance ?? '', 'coding agent');
  });
});

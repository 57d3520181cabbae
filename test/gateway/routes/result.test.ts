import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY, type Policy } from '../../../src/gateway/policy/policy.ts';
import { createResultWriter, moderationJson } from '../../../src/gateway/routes/result.ts';
import { describe } from '../../check.ts';

/** A result as an object, to be written by JSON.stringify. */
const resultOf = (scores: readonly number[], { categories }: Policy, judged: { text: boolean; image: boolean }) => {
  const table = <T>(valueAt: (index: number) => T) =>
    Object.fromEntries(categories.map(({ name }, index) => [name, valueAt(index)]));
  const isOver = (index: number) => (scores[index] ?? 1) >= (categories[index]?.threshold ?? 0);
  const seesImages = (index: number) => judged.image && CATEGORIES[index]?.images === true;
  return {
    flagged: scores.some((_, index) => isOver(index)),
    categories: table(isOver),
    category_scores: table((index) => scores[index]),
    scores: table((index) => scores[index]),
    category_applied_input_types: table((index) => [
      ...(judged.text ? ['text'] : []),
      ...(seesImages(index) ? ['image'] : []),
    ]),
  };
};

const score = fc.oneof(
  fc.integer({ min: 0, max: 100 }).map((points) => points / 100),
  fc.constantFrom(0, -0, 1, 0.5, 1e-7, 0.1 + 0.2),
);
const zeros = fc.constant(Array<number>(CATEGORIES.length).fill(0));
const thirteen = <T>(one: fc.Arbitrary<T>) =>
  fc.array(one, { minLength: CATEGORIES.length, maxLength: CATEGORIES.length });

describe('a written result', (check) => {
  check('is the JSON of its object, byte for byte, by any policy', () => {
    const judged = fc.record({ text: fc.boolean(), image: fc.boolean() });
    fc.assert(
      fc.property(fc.oneof(thirteen(score), zeros), thirteen(score), judged, (scores, thresholds, types) => {
        const categories = DEFAULT_POLICY.categories.map((one, index) => ({
          ...one,
          threshold: thresholds[index] ?? 0,
        }));
        const policy = { ...DEFAULT_POLICY, categories };
        const expected = resultOf(scores, policy, types);
        const { isFlagged, json } = createResultWriter(policy)(scores, types);
        assert.is(json, JSON.stringify(expected));
        assert.is(isFlagged, expected.flagged);
      }),
    );
  });

  check('is never made of fewer than 13 scores', () => {
    const write = createResultWriter(DEFAULT_POLICY);
    assert.throws(() => write(Array(12).fill(0), { text: true, image: false }), /No score for violence\/graphic/);
  });

  check('stands in the body of the answer as it is, in order', () => {
    const results = [true, false].map((isFlagged) => ({ isFlagged, json: `{"flagged":${isFlagged}}` }));
    assert.equal(JSON.parse(moderationJson('modr-"1"', 'a/b:c', results)), {
      id: 'modr-"1"',
      model: 'a/b:c',
      results: [{ flagged: true }, { flagged: false }],
    });
  });
});

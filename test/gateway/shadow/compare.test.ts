import * as assert from 'uvu/assert';
import { DEFAULT_POLICY, type Policy } from '../../../src/gateway/policy/policy.ts';
import { compareVerdicts, disagreementLine, isDisagreement } from '../../../src/gateway/shadow/compare.ts';
import { isInShare } from '../../../src/gateway/shadow/share.ts';
import { describe } from '../../check.ts';

const POLICY: Pick<Policy, 'categories'> = { categories: DEFAULT_POLICY.categories.slice(0, 3) };
const strict = { categories: POLICY.categories.map((category) => ({ ...category, threshold: 0.2 })) };
const foundBy = (live: number, shadow: number, policy = POLICY) =>
  compareVerdicts({ policy: POLICY, scores: [live, 0, 0] }, { policy, scores: [shadow, 0, 0] })[0]?.foundBy;

describe('two verdicts', (check) => {
  check('are compared by category: both, one of the two, or neither finds a violation', () => {
    assert.equal(
      [foundBy(0.5, 0.5), foundBy(0.5, 0.49), foundBy(0.49, 0.5), foundBy(0.49, 0.49)],
      ['both', 'live', 'shadow', undefined],
    );
  });
  check('are read by the thresholds of their own policies', () => {
    assert.equal([foundBy(0.3, 0.3, strict), foundBy(0.6, 0.3, strict)], ['shadow', 'both']);
  });
  check('are compared in what both policies have, whatever the order', () => {
    const [first, second, third] = POLICY.categories;
    const other = { categories: [third!, first!] };
    const compared = compareVerdicts(
      { policy: POLICY, scores: [0.1, 0.9, 0.3] },
      { policy: other, scores: [0.7, 0.2] },
    );
    assert.equal(compared, [
      { name: first?.name, live: 0.1, shadow: 0.2, foundBy: undefined },
      { name: third?.name, live: 0.3, shadow: 0.7, foundBy: 'shadow' },
    ]);
    assert.ok(!compared.some(({ name }) => name === second?.name));
  });
  check('are kept as a line with scores and no text', () => {
    const compared = compareVerdicts({ policy: POLICY, scores: [0.6, 0, 0] }, { policy: POLICY, scores: [0, 0.7, 0] });
    assert.equal(compared.map(isDisagreement), [true, true, false]);
    const about = {
      ...{ at: 'now', alias: 'a', policy: 'p', shadow_alias: 'b', shadow_policy: 'p', text_sha256: 'x', chars: 5 },
    };
    const [one, two, three] = POLICY.categories.map(({ name }) => name);
    assert.equal(JSON.parse(disagreementLine(about, compared)), {
      ...about,
      only_live: [one],
      only_shadow: [two],
      live: { [one!]: 0.6, [two!]: 0, [three!]: 0 },
      shadow: { [one!]: 0, [two!]: 0.7, [three!]: 0 },
    });
  });
});

describe('a share of all texts', (check) => {
  const texts = Array.from({ length: 4000 }, (_, index) => `text number ${index}`);
  check('has about as many texts as it says', () => {
    for (const share of [0.01, 0.1, 0.5]) {
      const count = texts.filter((text) => isInShare(text, share)).length;
      // Four standard deviations.
      assert.ok(Math.abs(count - share * 4000) < 4 * Math.sqrt(4000 * share * (1 - share)), `${share}: ${count}`);
    }
    assert.is(texts.filter((text) => isInShare(text, 0)).length, 0);
    assert.is(texts.filter((text) => isInShare(text, 1)).length, 4000);
  });
  check('has the same texts each time, and a larger share has those of a smaller one', () => {
    for (const text of texts) {
      assert.is(isInShare(text, 0.1), isInShare(text, 0.1));
      assert.ok(!isInShare(text, 0.1) || isInShare(text, 0.2));
    }
  });
  check('tells long texts apart by their ends', () => {
    const prompts = texts.slice(0, 1000).map((text) => `${'the same beginning '.repeat(500)}${text}`);
    const count = prompts.filter((text) => isInShare(text, 0.5)).length;
    assert.ok(count > 400 && count < 600, String(count));
  });
});

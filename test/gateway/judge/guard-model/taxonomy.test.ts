import * as assert from 'uvu/assert';
import { coverageOf, TAXONOMIES } from '../../../../src/gateway/judge/guard-model/taxonomy.ts';
import { JUDGE_KINDS } from '../../../../src/gateway/models.ts';
import { DEFAULT_POLICY, withGuardCategories } from '../../../../src/gateway/policy/policy.ts';
import { describe } from '../../../check.ts';

const FULL = withGuardCategories(DEFAULT_POLICY);
const OWN = { name: 'own', code: 'C1', definition: 'x', threshold: 0.5, controversial: 0.25 };

describe('what a judge covers', (check) => {
  check('is everything for a chat model, also the categories of an operator', () => {
    assert.ok(coverageOf('prompt', { categories: [...FULL.categories, OWN] }).every((covers) => covers));
  });
  for (const kind of JUDGE_KINDS)
    if (kind !== 'prompt')
      check(`is of its own taxonomy: ${kind}`, () => {
        const covers = coverageOf(kind, { categories: [...FULL.categories, OWN] });
        const named = FULL.categories.filter((_, index) => covers[index]).map(({ name }) => name);
        assert.equal(named.toSorted(), TAXONOMIES[kind].covers.toSorted());
        const found = new Set<string>(Object.values(TAXONOMIES[kind].codes).flat());
        assert.ok(
          TAXONOMIES[kind].covers.every((name) => found.has(name)),
          'some code finds each of them',
        );
        assert.is(covers.at(-1), false, 'no guard model knows a category of an operator');
      });
  check('is no child of a code that is a parent', () => {
    for (const kind of JUDGE_KINDS) {
      const covers = kind === 'prompt' ? [] : TAXONOMIES[kind].covers;
      for (const child of ['self-harm/intent', 'self-harm/instructions', 'violence/graphic', 'hate/threatening'])
        assert.not.ok(
          covers.some((name) => name === child),
          `${kind}: ${child}`,
        );
    }
  });
});

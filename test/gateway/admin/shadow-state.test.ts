import * as assert from 'uvu/assert';
import { addShadows, type ShadowState } from '../../../src/gateway/admin/shadow-state.ts';
import { describe } from '../../check.ts';

const ONE: ShadowState = {
  share: 0.5,
  alias: 'next',
  running: 1,
  texts: { agreed: 5, differed: 2, failed: 1, skipped: 3 },
  categories: [
    { category: 'hate', both: 1, live: 2, shadow: 3 },
    { category: 'violence', both: 4, live: 0, shadow: 0 },
  ],
};

describe('the shadows of several processes', (check) => {
  check('add up, by category', () => {
    const other = { ...ONE, running: 0, categories: [{ category: 'hate', both: 10, live: 20, shadow: 30 }] };
    assert.equal(addShadows([ONE, other]), {
      ...ONE,
      texts: { agreed: 10, differed: 4, failed: 2, skipped: 6 },
      categories: [
        { category: 'hate', both: 11, live: 22, shadow: 33 },
        { category: 'violence', both: 4, live: 0, shadow: 0 },
      ],
    });
  });
  check('are none where no process has one', () => {
    assert.equal([addShadows([]), addShadows([ONE])], [undefined, ONE]);
  });
});

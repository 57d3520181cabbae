import * as assert from 'uvu/assert';
import { addTokens, contextTokensOf, costOf } from '../../../src/agent/model/cost.ts';
import { describe } from '../../check.ts';

const TOKENS = { input: 70, output: 15, reasoning: 5, cache: { read: 30, write: 2 } };

describe('what a step costs', (check) => {
  check('is the sum of its tokens by their prices, thinking paid as output', () => {
    const prices = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 5 };
    assert.is(costOf(TOKENS, prices), (70 + 200 + 3 + 10) / 1_000_000);
  });

  check('takes as much of the context as the backend says, or else the sum', () => {
    assert.is(contextTokensOf(TOKENS), 122);
    assert.is(contextTokensOf({ ...TOKENS, total: 120 }), 120);
  });

  check('is added up field by field', () => {
    assert.equal(addTokens(TOKENS, TOKENS), { input: 140, output: 30, reasoning: 10, cache: { read: 60, write: 4 } });
  });
});

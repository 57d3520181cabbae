import * as assert from 'uvu/assert';
import { createJudgeChain } from '../../../../src/gateway/judge/chain/chain.ts';
import { describe } from '../../../check.ts';
import { aliasOf, fakes, NAMES, PAIR, POLICY } from './world.ts';

describe('the key of a verdict', (check) => {
  const { keyPart } = createJudgeChain({ policy: POLICY, judgeOf: fakes({}).judgeOf });
  const partOf = (table: Readonly<Record<string, unknown>>) => keyPart(aliasOf(table));

  check('of one chat model is as it was before there were several judges', () => {
    assert.is(partOf({ a: 'm' }), 'm\0undefined');
    assert.is(partOf({ a: { model: 'gpt-oss:20b', think: 'high' } }), 'gpt-oss:20b\0high');
  });
  check('differs with everything about any of the judges', () => {
    const tables = [
      { a: 'guard' },
      { a: { model: 'guard', judge: 'llama-guard' } },
      { a: { model: 'guard', judge: 'shieldgemma' } },
      PAIR,
      { ...PAIR, b: 'larger' },
      { ...PAIR, b: { model: 'large', think: true } },
      { ...PAIR, b: { model: 'large', vision: true } },
      { ...PAIR, b: { model: 'large', second: 'c' }, c: 'largest' },
      { ...PAIR, a: { ...PAIR.a, clears: [NAMES[0]] } },
      { ...PAIR, a: { ...PAIR.a, clears: [NAMES[1]] } },
      { ...PAIR, a: { ...PAIR.a, doubt: { default: [0.1, 0.5] } } },
      { ...PAIR, a: { ...PAIR.a, doubt: { [NAMES[0] ?? '']: [0.1, 0.5] } } },
    ];
    assert.is(new Set(tables.map(partOf)).size, tables.length);
  });
  check('is the same for two aliases with the same judges', () => {
    assert.is(partOf(PAIR), partOf({ a: { ...PAIR.a, second: 'other' }, other: 'large' }));
  });
  check('knows the thresholds where they are the bands of doubt', () => {
    const strict = { categories: POLICY.categories.map((category) => ({ ...category, threshold: 0.3 })) };
    const other = createJudgeChain({ policy: strict, judgeOf: fakes({}).judgeOf });
    assert.is.not(other.keyPart(aliasOf(PAIR)), partOf(PAIR));
    assert.is(other.keyPart(aliasOf({ a: 'm' })), partOf({ a: 'm' }));
  });
});

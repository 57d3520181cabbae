import * as assert from 'uvu/assert';
import { createVerdictParser } from '../../../src/gateway/judge/verdict.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { describe } from '../../check.ts';
import { verdictJson } from '../harness/world.ts';

const NONCE = '123456789012';
const parseVerdict = createVerdictParser(DEFAULT_POLICY);

describe('a verdict of low scores', (check) => {
  check('is read in hundredths where one is above 1, and not where all are 0 or 1', () => {
    const verdictOf = (given: Readonly<Record<string, number>>) => parseVerdict(verdictJson(NONCE, given), NONCE);
    const read = verdictOf({ HR: 1, SX: 2 });
    assert.equal(read.kind === 'verdict' && read.verdict.filter((score) => score > 0), [0.01, 0.02]);
    assert.is(verdictOf({ HR: 1, SX: 1 }).kind, 'unusable');
    assert.is(verdictOf({}).kind, 'verdict');
  });
});

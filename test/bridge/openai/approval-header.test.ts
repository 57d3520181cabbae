import * as assert from 'uvu/assert';
import { parseApprovalHeader } from '../../../src/bridge/openai/approvals.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const verdict = (value: string) => parseApprovalHeader(new Headers({ 'x-approval': value }));

describe('the header x-approval', (check) => {
  check('is nothing where it is absent or empty', () => {
    assert.is(parseApprovalHeader(new Headers()), undefined);
    assert.is(verdict('  '), undefined);
  });

  check('approves one question or several', () => {
    assert.equal(verdict('approve abc123'), { isApproved: true, ids: ['abc123'] });
    assert.equal(verdict(' Approve  per_01AB ,c2,c2'), { isApproved: true, ids: ['per_01AB', 'c2'] });
  });

  check('rejects one question, with words for the agent or without', () => {
    assert.equal(verdict('reject abc123'), { isApproved: false, ids: ['abc123'] });
    assert.equal(verdict('REJECT abc123 too much, ask again'), {
      isApproved: false,
      ids: ['abc123'],
      message: 'too much, ask again',
    });
    assert.equal(verdict('reject abc123, too much'), { isApproved: false, ids: ['abc123'], message: 'too much' });
    assert.is(verdict(`reject abc123 ${'x'.repeat(5000)}`)?.message?.length, 4000);
  });

  check('is refused rather than guessed at', () => {
    for (const value of [
      'approve',
      'reject',
      'yes',
      'abc123',
      'approve abc123 def456',
      'approve abc123 not',
      'approve a,',
      'approved abc',
      'approve "a"',
    ])
      assert.is(
        refusalOf(() => verdict(value)),
        'invalid_value at x-approval',
        value,
      );
  });
});

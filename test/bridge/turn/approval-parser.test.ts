import * as assert from 'uvu/assert';
import type { ApprovalRequest } from '../../../src/bridge/output.ts';
import { findRequestID, isAlmostApproval, parseApproval } from '../../../src/bridge/turn/approval-parser.ts';
import { describe } from '../../check.ts';
import { askNamed } from '../harness/log-readers.ts';

const PAY = askNamed('per_0001k3F9xQ');
const SEND = askNamed('per_0002aB12cD');
const ASKS = [PAY, SEND];
const verdict = (words: string, asks: readonly ApprovalRequest[] = ASKS) => parseApproval(words, asks);

describe('the words of an approval', (check) => {
  check('name a question by the end of its id, or by all of it, in any letter case', () => {
    for (const words of [
      'approve k3F9xQ',
      'Approve K3F9XQ',
      ' APPROVE\tk3f9xq. ',
      'approve per_0001k3F9xQ',
      'approve PER_0001K3F9XQ',
      '"approve k3F9xQ"',
      '“approve k3F9xQ”.',
      "'approve k3F9xQ.'",
      'approve k3F9xQ\n',
    ]) {
      const given = verdict(words);
      assert.ok(given?.isApproved, words);
      assert.equal(
        given?.ids.map((id) => findRequestID(id, ASKS)),
        [PAY.id],
        words,
      );
    }
  });

  check('may name several questions', () => {
    for (const words of [
      'approve k3F9xQ aB12cD',
      'approve k3F9xQ, aB12cD',
      'approve k3F9xQ and aB12cD.',
      'approve k3F9xQ,aB12cD',
    ])
      assert.equal(verdict(words), { isApproved: true, ids: ['k3F9xQ', 'aB12cD'] }, words);
  });

  check('count for nothing when there are others beside the ids', () => {
    for (const words of [
      'approve',
      'approve ',
      'approve it',
      'approve all',
      'approve k3F9x',
      'approve k3F9xQ but only half of it',
      'approve k3F9xQ and then stop',
      'approve k3F9xQ and',
      'approve and k3F9xQ or not',
      'approve k3F9xQ!',
      'approve "k3F9xQ"',
      'do not approve k3F9xQ',
      'approved k3F9xQ',
      'approvek3F9xQ',
      'k3F9xQ',
      'yes k3F9xQ',
      'approve k3F9xQ reject aB12cD',
      'approve k3F9xQ unknown',
    ])
      assert.is(verdict(words), undefined, words);
  });

  check('name nothing where two questions fit', () => {
    const alike = [askNamed('per_1k3F9xQ'), askNamed('per_2K3f9XQ')];
    assert.is(verdict('approve k3f9xq', alike), undefined);
    assert.is(findRequestID('k3F9xQ', alike), 'per_1k3F9xQ');
    const same = [askNamed('per_1k3F9xQ'), askNamed('per_2k3F9xQ')];
    assert.is(verdict('approve k3F9xQ', same), undefined);
    assert.is(findRequestID('per_2k3F9xQ', same), 'per_2k3F9xQ');
    assert.is(findRequestID('', same), undefined);
  });

  check('name no question that is not there', () => {
    assert.is(verdict('approve k3F9xQ', []), undefined);
    assert.is(verdict('approve k3F9xQ', [SEND]), undefined);
  });
});

describe('a question that was shown cut', (check) => {
  const CUT = { ...PAY, isCut: true };
  check('is approved by its whole id only', () => {
    assert.is(verdict('approve k3F9xQ', [CUT, SEND]), undefined);
    assert.is(verdict('approve aB12cD k3F9xQ', [CUT, SEND]), undefined);
    assert.is(findRequestID('k3F9xQ', [CUT]), undefined);
    assert.equal(verdict('approve PER_0001k3F9xQ', [CUT]), { isApproved: true, ids: ['PER_0001k3F9xQ'] });
    assert.is(findRequestID('PER_0001k3F9xQ', [CUT]), CUT.id);
  });

  check('lends its short id to no other', () => {
    assert.is(verdict('approve k3F9xQ', [CUT, askNamed('per_2k3F9xQ')]), undefined);
  });

  check('is rejected by its short id, too', () => {
    assert.equal(verdict('reject k3F9xQ no', [CUT]), { isApproved: false, ids: [CUT.id], message: 'no' });
    assert.is(verdict('reject k3F9x', [CUT]), undefined);
  });
});

describe('the words of a rejection', (check) => {
  check('may go on with a reason, which is kept as it is', () => {
    const reasons = [
      ['reject k3F9xQ', undefined],
      ['Reject k3F9xQ.', undefined],
      ['reject k3F9xQ too much', 'too much'],
      ['reject k3F9xQ, because it is\ntoo much.', 'because it is\ntoo much.'],
      ['reject k3F9xQ: ask again', 'ask again'],
      ['reject k3F9xQ and say why', 'and say why'],
      ['reject k3F9xQ k', 'k'],
      ['reject k3F9xQ no "yes" today "', 'no "yes" today "'],
      ['"reject k3F9xQ too much"', 'too much'],
    ] as const;
    for (const [words, message] of reasons) {
      const expected = { isApproved: false, ids: ['k3F9xQ'], ...(message === undefined ? {} : { message }) };
      assert.equal(verdict(words), expected, words);
    }
    assert.equal(verdict('reject k3F9xQ aB12cD both'), {
      isApproved: false,
      ids: ['k3F9xQ', 'aB12cD'],
      message: 'both',
    });
  });

  check('are not longer than an agent takes', () => {
    assert.is(verdict(`reject k3F9xQ ${'x'.repeat(5000)}`)?.message?.length, 4000);
  });

  check('reject nothing that they do not name', () => {
    for (const words of ['reject', 'reject everything', 'reject unknown k3F9xQ', 'do not reject k3F9xQ'])
      assert.is(verdict(words), undefined, words);
  });

  check('cost no more than their length, whatever they are', () => {
    const long = 3_000_000;
    for (const filling of [':', ' ', '"', ', ', 'and ', '" ', 'k3F9xQ ', '.']) {
      const words = `approve k3F9xQ ${filling.repeat(long / filling.length)}x`;
      const startedAt = performance.now();
      assert.is(verdict(words), undefined);
      assert.not.ok(isAlmostApproval(words));
      assert.ok(performance.now() - startedAt < 2000, filling);
    }
  });
});

describe('words that only look like an answer', (check) => {
  check('are distinguished from others', () => {
    for (const words of [
      'yes',
      'Yes, please',
      'ok',
      'Okay!',
      'no',
      'y',
      '"n"',
      'approve',
      'approved',
      'Go ahead',
      'confirm it',
      'denied',
      'reject that',
      ' deny',
    ])
      assert.ok(isAlmostApproval(words), words);
    for (const words of [
      'Nächste Woche',
      'notes please',
      'nobody',
      'yesterday it worked',
      'okra',
      'tell me a joke',
      'approval rules?',
      'I say yes',
      'y2k',
      '',
      `no ${'x'.repeat(200)}`,
    ])
      assert.not.ok(isAlmostApproval(words), words);
  });
});

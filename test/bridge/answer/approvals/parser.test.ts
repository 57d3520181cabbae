import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { isAlmostApproval, parseApproval } from '../../../../src/bridge/answer/approvals/parser.ts';
import type { ApprovalRequest } from '../../../../src/bridge/output.ts';
import { describe, thorough } from '../../../check.ts';

const askNamed = (id: string): ApprovalRequest => ({ id, sessionID: 'ses_1', tool: 'pay', input: '{}', notes: [] });
const PAY = askNamed('per_0001k3F9xQ');
const SEND = askNamed('per_0002aB12cD');
const ASKS = [PAY, SEND];
const parse = (words: string, asks: readonly ApprovalRequest[] = ASKS) => parseApproval(words, asks);

const SHORT = new Map([
  [PAY.id, 'A'],
  [SEND.id, 'B'],
]);
/** Decisions in short: `approve A B; reject all: a reason`. */
const decided = (words: string, asks?: readonly ApprovalRequest[]): string => {
  const parsed = parse(words, asks);
  if (parsed?.kind !== 'decided') return parsed === undefined ? 'none' : parsed.problem.kind;
  const shorts = parsed.decisions.map(({ isApproved, ids, message }) => {
    const named = ids === 'all' ? 'all' : ids.map((id) => SHORT.get(id) ?? id).join(' ');
    return `${isApproved ? 'approve' : 'reject'} ${named}${message === undefined ? '' : `: ${message}`}`;
  });
  return shorts.join('; ');
};

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
    ])
      assert.is(decided(words), 'approve A', words);
  });

  check('may stand among words and marks that change nothing', () => {
    for (const words of [
      'approve k3F9xQ!',
      'approve "k3F9xQ"',
      'approve `k3F9xQ`',
      '**approve** k3F9xQ',
      '`approve k3F9xQ`',
      '```\napprove k3F9xQ\n```',
      '(approve k3F9xQ)',
      'approve [k3F9xQ]',
      '/approve k3F9xQ',
      'please approve k3F9xQ',
      'Yes, please approve k3F9xQ.',
      'ok approve k3F9xQ',
      'thanks! approve k3F9xQ',
      'approve k3F9xQ please',
      'approve k3F9xQ, thanks!',
      'approve k3F9xQ. Thank you.',
      'approve: k3F9xQ',
      'approve\nk3F9xQ',
      '- approve k3F9xQ',
      '1. approve k3F9xQ',
    ])
      assert.is(decided(words), 'approve A', words);
  });

  check('may name several questions', () => {
    for (const words of [
      'approve k3F9xQ aB12cD',
      'approve k3F9xQ, aB12cD',
      'approve k3F9xQ and aB12cD.',
      'approve k3F9xQ,aB12cD',
      'please approve k3F9xQ aB12cD',
      'approve `k3F9xQ` and `aB12cD`, thanks',
      'approve\n- k3F9xQ\n- aB12cD',
    ])
      assert.is(decided(words), 'approve A B', words);
  });

  check('may name all that were shown', () => {
    for (const words of ['approve all', 'Approve all!', 'please approve "all", thanks'])
      assert.is(decided(words), 'approve all', words);
    assert.is(decided('approve all', []), 'approve all');
  });

  check('count for nothing when there are others beside the ids', () => {
    for (const [words, expected] of [
      ['approve', 'no-id'],
      ['approve ', 'no-id'],
      ['approve it', 'no-id'],
      ['approve please', 'no-id'],
      ['approve everything', 'no-id'],
      ['approve k3F9x', 'unknown-id'],
      ['approve k3F9xQ but only half of it', 'other-words'],
      ['approve k3F9xQ and then stop', 'other-words'],
      ['approve k3F9xQ always', 'other-words'],
      ['approve all always', 'other-words'],
      ['approve k3F9xQ always', 'other-words'],
      ['approve all always', 'other-words'],
      ['approve k3F9xQ and', 'other-words'],
      ['approve and k3F9xQ or not', 'other-words'],
      ['approve k3F9xQ?', 'no-id'],
      ['approve k3F9xQ. The other one later.', 'other-words'],
      ['approve k3F9xQ or reject aB12cD', 'other-words'],
      ['approve all but k3F9xQ', 'other-words'],
      ['approve all k3F9xQ', 'other-words'],
      ['approve k3F9xQ unknown', 'other-words'],
      ['approve k3F9xQ 9UsYbZ', 'unknown-id'],
      ['approve k3F9xQ reject', 'no-id'],
      ['do not approve k3F9xQ', 'none'],
      ['you approve k3F9xQ', 'none'],
      ['approved k3F9xQ', 'none'],
      ['approvek3F9xQ', 'none'],
      ['k3F9xQ', 'none'],
      ['yes k3F9xQ', 'none'],
      ['> approve k3F9xQ', 'none'],
      ['', 'none'],
    ] as const)
      assert.is(decided(words), expected, words);
  });

  check('name nothing where two questions fit', () => {
    const alike = [askNamed('per_1k3F9xQ'), askNamed('per_2K3f9XQ')];
    assert.is(decided('approve k3f9xq', alike), 'ambiguous-id');
    assert.is(decided('approve k3F9xQ', alike), 'approve per_1k3F9xQ');
    const same = [askNamed('per_1k3F9xQ'), askNamed('per_2k3F9xQ')];
    assert.is(decided('approve k3F9xQ', same), 'ambiguous-id');
    assert.is(decided('approve per_2k3F9xQ', same), 'approve per_2k3F9xQ');
  });

  check('name no question that is not there', () => {
    assert.is(decided('approve k3F9xQ', []), 'unknown-id');
    assert.is(decided('approve k3F9xQ', [SEND]), 'unknown-id');
  });

  check('approve no id that a text does not hold, whatever the text is', () => {
    const word = fc.constantFrom(
      ...[
        'approve',
        'reject',
        'Approve',
        '/approve',
        'k3F9xQ',
        'AB12CD',
        '`aB12cD`',
        'per_0001k3F9xQ',
        '9UsYbZ',
        'please',
      ],
      ...['and', 'all,', 'not', 'thanks.', 'ok', 'because', 'but', '"', '-', '(', '.', '\n', 'the', 'k3F9xQ:'],
    );
    const text = fc.array(fc.oneof({ weight: 9, arbitrary: word }, fc.string({ maxLength: 8 })), { maxLength: 14 });
    fc.assert(
      fc.property(text, fc.constantFrom(' ', '\n', ', ', '. '), (words, gap) => {
        const written = words.join(gap);
        const parsed = parse(written);
        if (parsed?.kind !== 'decided') return;
        for (const { isApproved, ids } of parsed.decisions) {
          if (ids === 'all') assert.match(written, /all/i);
          else if (isApproved)
            for (const id of ids) assert.ok(written.toLowerCase().includes(id.slice(-6).toLowerCase()), written);
        }
      }),
      { numRuns: thorough(500, 3000) },
    );
  });
});

describe('several decisions in one text', (check) => {
  check('follow each other', () => {
    for (const [words, expected] of [
      ['approve k3F9xQ\napprove aB12cD', 'approve A; approve B'],
      ['Approve k3F9xQ. Approve aB12cD.', 'approve A; approve B'],
      ['approve k3F9xQ; approve aB12cD', 'approve A; approve B'],
      ['approve k3F9xQ reject aB12cD', 'approve A; reject B'],
      ['reject k3F9xQ approve aB12cD', 'reject A; approve B'],
      ['reject k3F9xQ, approve aB12cD', 'reject A; approve B'],
      ['reject k3F9xQ and approve aB12cD', 'reject A; approve B'],
      ['reject k3F9xQ, please approve aB12cD, thanks', 'reject A; approve B'],
      ['1. approve k3F9xQ\n2. reject aB12cD', 'approve A; reject B'],
      ['"approve k3F9xQ"\n"reject aB12cD"', 'approve A; reject B'],
      ['approve k3F9xQ and reject aB12cD because it is late', 'approve A; reject B: because it is late'],
    ] as const)
      assert.is(decided(words), expected, words);
  });

  check('may begin after a reason, at the start of a line or a sentence', () => {
    for (const [words, expected] of [
      ['reject k3F9xQ too much\napprove aB12cD', 'reject A: too much; approve B'],
      ['reject k3F9xQ too much. Approve aB12cD.', 'reject A: too much.; approve B'],
      ['reject k3F9xQ: too much!\n- please approve aB12cD', 'reject A: too much!; approve B'],
      ['reject k3F9xQ too much\nreject all', 'reject A: too much; reject all'],
      ['"reject k3F9xQ too much"\n"approve aB12cD"', 'reject A: too much; approve B'],
      // Here they are still the reason.
      ['reject k3F9xQ I only approve aB12cD', 'reject A: I only approve aB12cD'],
      ['reject k3F9xQ too much. Approve less.', 'reject A: too much. Approve less.'],
      ['reject k3F9xQ too much. Reject all such calls.', 'reject A: too much. Reject all such calls.'],
      // A slip of typing, and more than it may say.
      ['reject k3F9xQ too much. Approve 9UsYbZ.', 'unknown-id'],
      ['reject k3F9xQ too much. Approve all others.', 'other-words'],
      ['reject k3F9xQ too much. Approve aB12cD but less.', 'other-words'],
    ] as const)
      assert.is(decided(words), expected, words);
  });

  check('are reported as far as they were understood', () => {
    const parsed = parse('reject k3F9xQ approve aB12cD but less');
    assert.equal(parsed, {
      kind: 'unclear',
      problem: { kind: 'other-words' },
      decisions: [
        { isApproved: false, ids: [PAY.id] },
        { isApproved: true, ids: [SEND.id] },
      ],
    });
  });
});

describe('a question that was shown cut', (check) => {
  const CUT = { ...PAY, isCut: true };
  check('is approved by its whole id only', () => {
    assert.is(decided('approve k3F9xQ', [CUT, SEND]), 'cut-input');
    assert.is(decided('approve aB12cD k3F9xQ', [CUT, SEND]), 'cut-input');
    assert.is(decided('approve PER_0001k3F9xQ', [CUT]), 'approve A');
  });

  check('lends its short id to no other', () => {
    assert.is(decided('approve k3F9xQ', [CUT, askNamed('per_2k3F9xQ')]), 'ambiguous-id');
  });

  check('is rejected by its short id, too', () => {
    assert.is(decided('reject k3F9xQ no', [CUT]), 'reject A: no');
    assert.is(decided('reject k3F9x', [CUT]), 'unknown-id');
  });
});

describe('the words of a rejection', (check) => {
  check('may go on with a reason, which is kept as it is', () => {
    for (const [words, message] of [
      ['reject k3F9xQ', undefined],
      ['Reject k3F9xQ.', undefined],
      ['reject k3F9xQ, thanks!', undefined],
      ['reject k3F9xQ too much', 'too much'],
      ['reject k3F9xQ, because it is\ntoo much.', 'because it is\ntoo much.'],
      ['reject k3F9xQ: ask again', 'ask again'],
      ['reject k3F9xQ: 9UsYbZ is cheaper', '9UsYbZ is cheaper'],
      ['reject k3F9xQ: aB12cD is cheaper', 'aB12cD is cheaper'],
      ['reject k3F9xQ and say why', 'and say why'],
      ['reject k3F9xQ 100USD is too much', '100USD is too much'],
      ['reject k3F9xQ please, it is late', 'please, it is late'],
      ['reject k3F9xQ k', 'k'],
      ['reject k3F9xQ no "yes" today "', 'no "yes" today "'],
      ['reject k3F9xQ (too much).', '(too much).'],
      ['"reject k3F9xQ too much"', 'too much'],
      ['“reject k3F9xQ too much”.', 'too much'],
      ['```\nreject k3F9xQ too much\n```', 'too much'],
    ] as const)
      assert.is(decided(words), message === undefined ? 'reject A' : `reject A: ${message}`, words);
    assert.is(decided('reject k3F9xQ aB12cD both'), 'reject A B: both');
    assert.is(decided('reject all too much'), 'reject all: too much');
  });

  check('are not longer than an agent takes', () => {
    assert.is(decided(`reject k3F9xQ ${'x'.repeat(5000)}`), `reject A: ${'x'.repeat(4000)}`);
  });

  check('reject nothing that they do not name', () => {
    for (const [words, expected] of [
      ['reject', 'no-id'],
      ['reject everything', 'no-id'],
      ['reject unknown k3F9xQ', 'no-id'],
      ['reject k3F9xQ 9UsYbZ', 'unknown-id'],
      ['do not reject k3F9xQ', 'none'],
    ] as const)
      assert.is(decided(words), expected, words);
  });

  check('cost no more than their length, whatever they are', () => {
    const long = 3_000_000;
    for (const filling of [':', ' ', '"', ', ', 'and ', '" ', 'k3F9xQ ', '.', 'please\n', '. approve ', 'x. '])
      for (const [verb, length] of [
        ['approve', long],
        ['reject', long],
        ['approve', 19_000],
        ['reject', 19_000],
      ] as const) {
        const words = `${verb} k3F9xQ ${filling.repeat(length / filling.length)}x`;
        const startedAt = performance.now();
        if (verb === 'approve') assert.is.not(parse(words)?.kind, 'decided');
        else parse(words);
        assert.not.ok(isAlmostApproval(words));
        assert.ok(performance.now() - startedAt < 500, `${verb} ${filling} ${length}`);
      }
    assert.is(decided(`approve k3F9xQ${' '.repeat(20_000)}`), 'too-long');
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

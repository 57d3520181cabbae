import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createVerdictParser } from '../../../src/gateway/judge/verdict.ts';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { describe, thorough } from '../../check.ts';
import { verdictJson } from '../harness/world.ts';

const NONCE = '123456789012';
const { parse: parseVerdict, parseClosely } = createVerdictParser(DEFAULT_POLICY);

const scoreText = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 100 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('1', '0', '00', '07', '101', '-1', '1.0', '1e2', '"5"', 'null', '100.0') },
);
const gap = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('', ' ') }, fc.constantFrom('  ', '\n', '\t'));

/** Verdicts as judges write them, right and slightly wrong. */
const written = fc
  .record({
    scores: fc.array(scoreText, { minLength: CATEGORIES.length, maxLength: CATEGORIES.length }),
    gaps: fc.array(gap, { minLength: 2, maxLength: 2 }),
    isMild: fc.boolean(),
    word: fc.constantFrom('over', 'over', 'under', 'under', 'Over', 'none', ''),
    nonce: fc.constantFrom(NONCE, NONCE, NONCE, '123456789013', '12345678901', ''),
    around: fc.constantFrom(...(['', ''] as const), ' ', '\n', '```json\n', '<think>x</think>'),
    swapped: fc.nat({ max: 40 }),
    repeated: fc.nat({ max: 40 }),
  })
  .map(({ scores, gaps: [colon = '', comma = ''], isMild, word, nonce, around, swapped, repeated }) => {
    const parts = CATEGORIES.map(({ code }, index) => {
      const score = scores[index] ?? '0';
      return `"${code}":${colon}${isMild && Number(score) >= 50 ? Number(score) % 50 : score}`;
    });
    parts.push(`"word":${colon}"${word}"`, `"nonce":${colon}"${nonce}"`);
    const moved = parts[swapped];
    if (moved !== undefined) parts.splice(swapped, 1, parts[0] ?? '');
    if (moved !== undefined) parts[0] = moved;
    const again = parts[repeated];
    if (again !== undefined) parts.push(again);
    const end = around === '```json\n' ? '\n```' : '';
    return `${around}{${parts.join(`,${comma}`)}}${end}`;
  });

describe('a verdict of low scores', (check) => {
  check('is read in hundredths where one is above 1, and not where all are 0 or 1', () => {
    const verdictOf = (given: Readonly<Record<string, number>>) => parseVerdict(verdictJson(NONCE, given), NONCE);
    const read = verdictOf({ HR: 1, SX: 2 });
    assert.equal(read.kind === 'scores' && Object.values(read.scores).filter((score) => score > 0), [0.01, 0.02]);
    assert.is(verdictOf({ HR: 1, SX: 1 }).kind, 'unusable');
    assert.is(verdictOf({}).kind, 'scores');
  });
});

describe('the shorter way to a verdict', (check) => {
  check('comes to the same as the closer look, whatever is written', () => {
    let verdicts = 0;
    const numRuns = thorough(500, 100_000);
    fc.assert(
      fc.property(written, (content) => {
        const expected = parseClosely(content, NONCE);
        assert.equal(parseVerdict(content, NONCE), expected);
        if (expected.kind === 'scores') verdicts += 1;
      }),
      { numRuns },
    );
    assert.ok(verdicts > numRuns / 50 && verdicts < numRuns, `${verdicts} verdicts of ${numRuns}`);
  });

  check('comes to the same when one character is another, missing or too many', () => {
    const content = verdictJson(NONCE, { HR: 85, SX: 100, IL: 5 });
    assert.is(parseVerdict(content, NONCE).kind, 'scores');
    for (let index = 0; index <= content.length; index++) {
      for (const char of ['', '0', '1', '9', '"', ',', '.', '-', ' ', 'e', '}', content.charAt(index).repeat(2)]) {
        const changed = content.slice(0, index) + char + content.slice(index + 1);
        assert.equal(parseVerdict(changed, NONCE), parseClosely(changed, NONCE), changed);
      }
    }
  });
});

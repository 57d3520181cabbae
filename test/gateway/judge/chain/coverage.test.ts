import * as assert from 'uvu/assert';
import { ConfigError } from '../../../../src/core/config.ts';
import { requireCoverage } from '../../../../src/gateway/judge/chain/coverage.ts';
import { parseModelAliases } from '../../../../src/gateway/models.ts';
import { onePolicy, type PolicySelection } from '../../../../src/gateway/policy/policy.ts';
import { describe } from '../../../check.ts';
import { parsePolicy, selectionOf } from '../../harness/policies.ts';
import { gatewayOver, judging } from '../../harness/world.ts';

const STANDARD = parsePolicy('{"version":"v"}');
const OWN = parsePolicy(
  '{"version":"v","own_categories":{"gambling":{"definition":"Offers bets for money.","threshold":0.5}}}',
);

const problemsOf = (
  table: unknown,
  policies: PolicySelection = onePolicy(STANDARD),
  keyCount = 1,
): readonly string[] => {
  try {
    requireCoverage({ models: parseModelAliases(JSON.stringify(table)), policies, keyCount });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};
const GUARD = { model: 'llama-guard3:8b', judge: 'llama-guard' };

describe('a start', (check) => {
  check('is refused for categories that the judge does not cover, with the list of them', () => {
    assert.equal(problemsOf({ mine: GUARD }), [
      'MODERATION_MODELS: mine: not covered by its judge (llama-guard): harassment, harassment/threatening, hate/threatening, self-harm/intent, self-harm/instructions, violence, violence/graphic; expected "second", the alias of a judge that covers them, as one with "judge": "prompt" does',
    ]);
    assert.throws(
      () => gatewayOver(judging(), { variables: { MODERATION_MODELS: JSON.stringify({ mine: GUARD }) } }),
      /MODERATION_MODELS: mine: not covered/,
    );
  });
  check('is refused for what no judge of several covers', () => {
    const table = { mine: { ...GUARD, second: 'other' }, other: { model: 'shieldgemma:9b', judge: 'shieldgemma' } };
    const [mine = '', other = '', ...rest] = problemsOf(table);
    assert.match(mine, 'MODERATION_MODELS: mine: not covered by any of its judges (llama-guard, shieldgemma): ');
    assert.not.match(mine, /: harassment,/, 'the second one covers it');
    assert.match(other, 'MODERATION_MODELS: other: ');
    assert.equal(rest, []);
  });
  check('goes well with a second judge that covers the rest', () => {
    assert.equal(problemsOf({ mine: { ...GUARD, second: 'moderation-accurate' } }), []);
  });
  check('is refused for an own category of a policy, which no guard model knows', () => {
    const table = {
      mine: { model: 'q', judge: 'qwen3guard', second: 'more' },
      more: { ...GUARD, second: 'moderation-fast' },
    };
    assert.equal(problemsOf(table, onePolicy(OWN)), []);
    const [problem] = problemsOf({ mine: GUARD }, onePolicy(OWN));
    assert.match(problem ?? '', /violence\/graphic, gambling;/);
  });
  check('looks at the policies of the alias and of every key', () => {
    const policies = selectionOf({
      version: 'v',
      policies: {
        strict: { own_categories: { gambling: { definition: 'Offers bets for money.', threshold: 0.5 } } },
      },
      use: { default: 'standard', aliases: { 'moderation-fast': 'strict' } },
    });
    const [problem] = problemsOf({ 'moderation-fast': GUARD }, policies, 2);
    assert.match(problem ?? '', /moderation-fast: .*gambling/);
    const other = problemsOf({ mine: GUARD }, policies, 2);
    assert.not.match(other.join(), 'gambling');
  });
  check('is refused for the categories of guard models where the alias has a guard face', () => {
    const [problem] = problemsOf({ mine: { ...GUARD, guard: 'text' } });
    assert.match(problem ?? '', /violence\/graphic, jailbreak, politics;/);
    assert.not.match(problemsOf({ mine: GUARD }).join(), 'jailbreak');
  });
  check('is refused for what no judge with vision covers, where images are taken', () => {
    const seeing = { ...GUARD, model: 'llama-guard4', vision: true };
    const table = { mine: { ...seeing, second: 'moderation-accurate' } };
    assert.match(
      problemsOf(table).join(),
      /^MODERATION_MODELS: mine: in images, not covered by the judges with "vision" \(llama-guard\): harassment, .*; expected "vision" at a judge/,
    );
    assert.equal(problemsOf({ mine: { ...seeing, second: 'eyes' }, eyes: { model: 'm', vision: true } }), []);
    assert.equal(problemsOf({ mine: { ...GUARD, second: 'eyes' }, eyes: { model: 'm', vision: true } }), []);
  });
});

describe('categories that a judge clears', (check) => {
  const clearing = (clears: unknown, rest: object = { second: 'moderation-accurate' }) =>
    problemsOf({ mine: { ...GUARD, ...rest, clears } });

  check('are those of some policy that it does not cover', () => {
    assert.equal(clearing(['violence', 'violence/graphic', 'jailbreak']), []);
    assert.match(
      clearing(['violense']).join(),
      'mine.clears: category "violense" is not configured; the nearest is "violence"',
    );
    assert.equal(clearing(['hate']), [
      'MODERATION_MODELS: mine.clears: expected no "hate": its judge (llama-guard) covers it',
    ]);
  });
  check('still need a judge that covers them, for the texts that are not clean', () => {
    const table = {
      mine: { ...GUARD, second: 'other', clears: ['violence/graphic'] },
      other: { ...GUARD, second: 'm' },
      m: 'm',
    };
    assert.equal(problemsOf(table), []);
    assert.match(problemsOf({ ...table, other: { model: 'x', judge: 'shieldgemma' } })[0] ?? '', 'violence/graphic');
  });
});

describe('bands of doubt', (check) => {
  const doubting = (doubt: unknown) => problemsOf({ mine: { ...GUARD, second: 'moderation-accurate', doubt } });

  check('are for categories of some policy', () => {
    assert.equal(doubting({ default: [0.2, 0.8], hate: [0.1, 0.9], 'personal-data': [0.1, 0.9] }), []);
    assert.equal(doubting({ hat: [0.2, 0.8] }), [
      'MODERATION_MODELS: mine.doubt: category "hat" is not configured; the nearest is "hate"',
    ]);
  });
  check('are not for what the judge gives no score for', () => {
    assert.equal(doubting({ violence: [0.2, 0.8] }), [
      'MODERATION_MODELS: mine.doubt.violence: expected none: its judge (llama-guard) does not cover it, so that the second one is always asked',
    ]);
  });
});

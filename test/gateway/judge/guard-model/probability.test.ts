import * as assert from 'uvu/assert';
import { readLikelihood } from '../../../../src/gateway/judge/guard-model/probability.ts';
import type { TokenLogprob } from '../../../../src/llm/logprobs.ts';
import { describe } from '../../../check.ts';

/** A token of an answer, and what else might have stood there. */
const place = (token: string, chance: number, others: Readonly<Record<string, number>> = {}): TokenLogprob => ({
  token,
  logprob: Math.log(chance),
  top: Object.entries({ [token]: chance, ...others }).map(([one, p]) => ({ token: one, logprob: Math.log(p) })),
});
const SAFE_UNSAFE = { safe: 0, unsafe: 1 };
const YES_NO = { no: 0, yes: 1 };
const LEVELS = { safe: 0, controversial: 0.4, unsafe: 1 };

const harmOf = (
  tokens: readonly TokenLogprob[],
  label: string,
  labels: Readonly<Record<string, number>> = SAFE_UNSAFE,
  before = '',
): number | string | undefined => {
  const read = readLikelihood(tokens, { label, before }, labels);
  if (read?.kind === 'harm') return Math.round(read.harm * 1000) / 1000;
  return read?.reason;
};

describe('the probability of harm', (check) => {
  check('is that of the harmful label among the labels', () => {
    assert.is(harmOf([place('safe', 0.8, { unsafe: 0.2 })], 'safe'), 0.2);
    assert.is(harmOf([place('unsafe', 0.6, { safe: 0.3, The: 0.1 })], 'unsafe'), 0.667);
    assert.is(harmOf([place('Yes', 0.9, { No: 0.1 })], 'yes', YES_NO), 0.9);
  });
  check('sums the spellings of a label', () => {
    const others = { ' unsafe': 0.1, Unsafe: 0.1, UNSAFE: 0.05, '\nsafe': 0.15 };
    assert.is(harmOf([place('safe', 0.6, others)], 'safe'), 0.25);
  });
  check('takes the beginning of a label for it, where it begins one label only', () => {
    assert.is(harmOf([place('uns', 0.7, { safe: 0.3 }), place('afe', 1)], 'unsafe'), 0.7);
    assert.is(harmOf([place('Safe', 0.6, { Contro: 0.4 })], 'safe', LEVELS), 0.16);
    assert.is(
      harmOf([place('x', 0.9, { xa: 0.1 })], 'xa', { xa: 0, xb: 1 }),
      'its probabilities are those of another answer',
    );
  });
  check('counts a label that says some harm for that much', () => {
    const tokens = [place('Safety', 1), place(':', 1), place(' Controversial', 0.5, { ' Unsafe': 0.3, ' Safe': 0.2 })];
    assert.is(harmOf(tokens, 'controversial', LEVELS, 'Safety: '), 0.5);
  });
  check('is that of the place where the label stands, not of one before', () => {
    const tokens = [place('\n\n', 0.99, { unsafe: 0.01 }), place('safe', 0.7, { unsafe: 0.3 }), place('<|eot_id|>', 1)];
    assert.is(harmOf(tokens, 'safe'), 0.3);
    const tagged = [place('<think>', 1), place('\n', 1), place('</think>', 1), place('<score>', 1)];
    const answer = [...tagged, place(' no', 0.75, { ' yes': 0.25 }), place(' </score>', 1)];
    assert.is(harmOf(answer, 'no', YES_NO, '<think>\n</think><score>'), 0.25);
  });
  check('is never zero for a label that is not listed: it may be as likely as the last that is', () => {
    assert.is(harmOf([place('safe', 0.8, { The: 0.1 })], 'safe'), 0.111);
    assert.is(harmOf([place('safe', 0.7, { The: 0.29 })], 'safe'), 0.014, 'no more than what is left');
    assert.is(
      harmOf([{ token: 'safe', logprob: Math.log(0.9), top: [] }], 'safe'),
      0.1,
      'without others: all that is left',
    );
  });
  check('is no verdict where the labels have little of the probability', () => {
    const little = 'its labels have little of the probability';
    assert.is(harmOf([place('safe', 0.4, { I: 0.3, The: 0.3 })], 'safe'), little);
    assert.is(harmOf([place('safe', 0.45)], 'safe'), little, 'what is not listed is no label');
  });
  check('is no verdict where the token is another one than the answer has', () => {
    assert.is(harmOf([place('safe', 0.9, { unsafe: 0.1 })], 'unsafe'), 'its probabilities are those of another answer');
    assert.is(harmOf([place('I', 0.9, { safe: 0.1 })], 'safe'), 'its probabilities are those of another answer');
  });
  check('is unknown where the tokens are not those of the answer', () => {
    assert.is(harmOf([place('Safety', 1), place(':', 1)], 'safe', LEVELS, 'Safety: '), undefined);
    assert.is(harmOf([place('Verdict', 1), place(': ', 1), place('Safe', 1)], 'safe', LEVELS, 'Safety: '), undefined);
    assert.is(harmOf([], 'safe'), undefined);
  });
});

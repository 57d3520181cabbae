import * as assert from 'uvu/assert';
import type { EvalAnswer } from '../../src/eval/answer.ts';
import { evaluate } from '../../src/eval/evaluate.ts';
import { parseItems } from '../../src/eval/labels.ts';
import { describe, rejection } from '../check.ts';
import { createManualClock, GATEWAY, scoresOf, stream } from './world.ts';

const verdict: EvalAnswer = {
  kind: 'verdict',
  verdict: { scores: scoresOf(), categories: [], flagged: false },
  gateway: GATEWAY,
};
const gone: EvalAnswer = { kind: 'error', code: 'ECONNREFUSED', isUnreachable: true };
const failed: EvalAnswer = { kind: 'error', code: '500' };

/** Judges one row for each answer, one at a time, and remembers what was written. */
const evaluating = (answers: readonly EvalAnswer[]) => {
  const lines: string[] = [];
  let count = 0;
  const rows = answers.map((_, index) => ({
    where: `line ${index}`,
    line: index,
    fields: { text: `${index}`, flagged: 0 },
    isTable: false,
  }));
  const evaluation = evaluate({
    items: () => parseItems(stream(rows), {}, rows.length),
    url: GATEWAY.url,
    asked: { model: 'm' },
    earlier: new Map(),
    openResults: () => ({ append: (text) => lines.push(text), close: () => {} }),
    progress: { start: () => {}, advance: () => {}, stop: () => {} },
    ask: async () => answers[count++] ?? verdict,
    clock: createManualClock(),
    concurrency: 1,
    signal: new AbortController().signal,
  });
  return { evaluation, lines };
};
const times = (count: number, answer: EvalAnswer) => Array.from({ length: count }, () => answer);

describe('an evaluation', (check) => {
  check('gives up at the twentieth failed connection in a row, whatever came before', async () => {
    const apart = [...times(19, gone), failed, ...times(19, gone), verdict, ...times(19, gone), verdict];
    assert.is((await evaluating(apart).evaluation).gaveUp, false);
    const { gaveUp, notReached, errors } = await evaluating([verdict, ...times(25, gone)]).evaluation;
    assert.equal({ gaveUp, notReached, count: errors.count }, { gaveUp: true, notReached: 5, count: 20 });
    assert.is((await evaluating([verdict, ...times(25, failed)]).evaluation).gaveUp, false);
  });

  check('writes errors from before the first verdict with it, and nothing without one', async () => {
    const mixed = evaluating([failed, verdict, failed]);
    await mixed.evaluation;
    const written = mixed.lines.join('').trimEnd().split('\n');
    assert.equal(
      written.map((line) => JSON.parse(line).status),
      ['error', 'judged', 'error'],
    );
    const none = evaluating([failed, failed]);
    await none.evaluation;
    assert.equal(none.lines, []);
  });

  check('ends when the gateway changes in mid-run', async () => {
    const changed: EvalAnswer = { ...verdict, gateway: { ...GATEWAY, policy: '2' } };
    const { evaluation, lines } = evaluating([verdict, changed]);
    assert.match(((await rejection(evaluation)) as Error).message, 'policy 2 does not go with');
    assert.is(lines.length, 1);
  });
});

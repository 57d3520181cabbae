import * as assert from 'uvu/assert';
import type { Label } from '../../../src/eval/category.ts';
import { createSummaryBuilder } from '../../../src/eval/figures/tally.ts';
import { reportJson, reportText } from '../../../src/eval/report/text.ts';
import { describe } from '../../check.ts';
import { judgedOf } from '../world.ts';

const SUBJECT = { file: 'data.jsonl', model: 'm', url: 'http://gate' };
const known = (labels: Partial<Record<Label, boolean>>) => new Map(Object.entries(labels) as [Label, boolean][]);
const counts = {
  rows: 4,
  reused: 0,
  notReached: 0,
  interrupted: false,
  gaveUp: false,
  backendModel: 'big',
  policy: '7',
};

/** Four rows: one right, one missed, one without a label for hate, one error. */
const sample = () => {
  const tally = createSummaryBuilder();
  tally.add(known({ hate: true, flagged: true }), judgedOf({ hate: 0.9 }, 10));
  tally.add(known({ hate: true, flagged: true }), judgedOf({ violence: 0.8 }, 20));
  tally.add(known({ flagged: false }), judgedOf({}, 30));
  tally.add(known({ hate: false, flagged: false }), { id: '4', hash: 'h', status: 'error', code: '502 bad', ms: 99 });
  return tally.summary();
};
const line = (text: string, name: string) =>
  text
    .split('\n')
    .find((row) => row.startsWith(name))
    ?.trim()
    .split(/ {2,}/);

describe('the report', (check) => {
  check('an error is in no count, rate or latency but its own', () => {
    const { judged, errors, flagged, latencyMs, overall, categories } = sample();
    assert.is(judged, 3);
    assert.equal(errors, { count: 1, byCode: { '502 bad': 1 } });
    assert.equal(flagged, { count: 2, rate: 2 / 3 });
    assert.equal(latencyMs, { p50: 20, p95: 30, p99: 30 });
    assert.equal([overall.known, overall.truePositives, overall.trueNegatives], [3, 2, 1]);
    assert.equal([categories.hate?.known, categories.hate?.truePositives, categories.hate?.falseNegatives], [2, 1, 1]);
    assert.is(categories.violence?.known, 0);
  });

  check('text shows a row per labelled category, the rest by name, and says what has no verdict', () => {
    const text = reportText({ ...counts, ...sample() }, SUBJECT);
    assert.equal(line(text, 'overall'), ['overall', '3', '2', '2', '0', '0', '1', '1.000', '1.000', '1.000', '1.000']);
    assert.equal(line(text, 'hate '), ['hate', '2', '2', '1', '0', '1', '0', '1.000', '0.500', '0.667', '1.000']);
    assert.match(text, 'no labels for: harassment, harassment/threatening, hate/threatening');
    assert.match(text, 'ERRORS: 1 of 4 rows have no verdict');
    assert.match(text, '  502 bad: 1\n');
    assert.match(text, 'latency  p50 20.0 ms, p95 30.0 ms, p99 30.0 ms');
    assert.not.match(text, 'INTERRUPTED');
  });

  check('what cannot be had is a dash in text and null in JSON', () => {
    const tally = createSummaryBuilder();
    tally.add(known({ hate: false, flagged: false }), judgedOf());
    const evaluation = { ...counts, ...tally.summary() };
    assert.equal(line(reportText(evaluation, SUBJECT), 'hate '), [
      'hate',
      '1',
      '0',
      '0',
      '0',
      '0',
      '1',
      '-',
      '-',
      '-',
      '-',
    ]);
    const parsed = JSON.parse(reportJson(evaluation, SUBJECT));
    assert.is(parsed.categories.hate.auprc, null);
    const nothing = reportText({ ...counts, ...createSummaryBuilder().summary() }, SUBJECT);
    assert.match(nothing, 'flagged  0 of 0 judged (-)');
    assert.match(nothing, 'no labels for: single categories');
    assert.match(nothing, 'p50 -, p95 -, p99 -');
  });

  check('JSON holds the same and all 13 categories, on one line', () => {
    const text = reportJson({ ...counts, interrupted: true, notReached: 1, ...sample() }, SUBJECT);
    assert.is(text.indexOf('\n'), text.length - 1);
    const parsed = JSON.parse(text);
    assert.is(Object.keys(parsed.categories).length, 13);
    assert.equal(
      [parsed.file, parsed.model, parsed.rows, parsed.judged, parsed.interrupted],
      ['data.jsonl', 'm', 4, 3, true],
    );
    assert.is(parsed.errors.byCode['502 bad'], 1);
  });

  check('the head names file, alias, address, backend model and policy', () => {
    const [head, rows] = reportText({ ...counts, ...sample() }, SUBJECT).split('\n');
    assert.is(head, 'data.jsonl judged by m at http://gate: backend model big, policy 7');
    assert.is(rows, '4 rows, 3 judged, 1 error');
    assert.match(reportText({ ...counts, policy: null, ...sample() }, SUBJECT), 'policy not named');
    assert.match(reportText({ ...counts, ...createSummaryBuilder().summary() }, SUBJECT), '0 judged, 0 errors');
  });

  check('a run that gave up says so and how much is left', () => {
    const text = reportText({ ...counts, gaveUp: true, notReached: 2, ...sample() }, SUBJECT);
    assert.match(text, 'STOPPED: nothing answers any more, 2 of 4 rows were not reached; run it again without --fresh');
  });

  check('an interrupted run says so and how much is left', () => {
    const text = reportText({ ...counts, interrupted: true, notReached: 1, reused: 2, ...sample() }, SUBJECT);
    assert.match(text, 'INTERRUPTED: 1 of 4 rows were not reached; run it again without --fresh');
    assert.match(text, '3 judged (2 of them in earlier runs)');
  });
});

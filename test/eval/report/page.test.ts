import * as assert from 'uvu/assert';
import type { Label } from '../../../src/eval/category.ts';
import type { Observation } from '../../../src/eval/figures/observation.ts';
import { parseTargets, suggestThresholds } from '../../../src/eval/figures/suggestions.ts';
import { REPORT_OPENING, type ReportContent, type ReportedRun, reportPage } from '../../../src/eval/report/page.ts';
import { describe } from '../../check.ts';
import { judgedOf } from '../world.ts';

const observation = (index: number, score: number, isPositive: boolean): Observation => ({
  id: `row-${index}`,
  chars: index * 50,
  known: new Map<Label, boolean>([
    ['hate', isPositive],
    ['flagged', isPositive],
  ]),
  result: { ...judgedOf({ hate: score }, 5 + index), cache: index % 2 === 0 ? 'hit' : 'miss' },
});
const OBSERVATIONS = Array.from({ length: 60 }, (_, index) =>
  observation(index, (index % 21) / 20, index % 3 === 0 || index % 21 > 15),
);
const RUN: ReportedRun = { model: 'm', backendModel: 'big', policy: '7', observations: OBSERVATIONS };
const CONTENT: ReportContent = {
  file: 'data.jsonl',
  setHash: 'abc123',
  rows: 60,
  runs: [RUN],
  warnings: [],
  tokens: { prompt: 1000, output: 50, cached: 200, rows: 60 },
  suggestions: [],
  madeAt: new Date(0),
};
const pageOf = (some: Partial<ReportContent> = {}) => reportPage({ ...CONTENT, ...some });
const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;
/** The text that a browser would show. */
const shown = (page: string): string =>
  page
    .replace(/^[\s\S]*<body>/, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
    .replace(/\s+/g, ' ');

describe('the page of a report', (check) => {
  const page = pageOf();

  check('has set and policy in its title, and the figures of labels that some row has', () => {
    assert.match(page, '<title>Moderation report: data.jsonl, set abc123, policy 7</title>');
    assert.ok(page.startsWith(REPORT_OPENING));
    const text = shown(page);
    const cached = { prompt: 0, output: 0, cached: 0, rows: 60 };
    assert.match(
      shown(pageOf({ tokens: cached })),
      'Tokens none for 60 rows judged in this run: their verdicts were in the gateway’s cache',
    );
    assert.match(text, /alias m , backend model big , policy 7 ; 60 rows judged, 0 without a verdict/);
    assert.match(text, '1,000 in prompts (200 of them');
    assert.match(text, 'No row has labels for: harassment, harassment/threatening,');
    assert.equal(
      [...page.matchAll(/<h2 id="([\w-]+)"/g)].map(([, id]) => id),
      ['overview', 'label-flagged', 'label-hate', 'latency'],
    );
  });

  check('needs nothing from elsewhere and no script, and forbids both', () => {
    for (const one of [page, pageOf({ runs: [RUN, RUN] })]) {
      assert.not.match(
        one,
        /<(?:script|link|img|iframe|object|use|image|base|form)\b|\bon\w+=|javascript:|https?:|@import|url\((?!#)/i,
      );
      assert.equal(
        [...one.matchAll(/\b(?:src|href)="([^"]*)"/g)].filter(([, to = '']) => !to.startsWith('#')),
        [],
      );
      assert.match(one, `content="default-src 'none'; style-src 'unsafe-inline'"`);
    }
  });

  check('gives each drawing a title, a description and its numbers, and every id once', () => {
    const drawings = countOf(page, /<svg viewBox="0 0 360/g);
    // Curve, scores and calibration of two labels, and the latency.
    assert.is(drawings, 7);
    assert.is(
      countOf(
        page,
        /role="img" aria-labelledby="[\w-]+ [\w-]+"><title id="[\w-]+">[^<]+<\/title><desc id="[\w-]+">[^<]+<\/desc>/g,
      ),
      drawings,
    );
    assert.is(countOf(page, /<details>/g), drawings);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.is(new Set(ids).size, ids.length);
    const wanted = [...page.matchAll(/(?:href="#|url\(#|aria-labelledby=")([^")]+)/g)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    assert.equal(
      wanted.filter((id) => !ids.includes(id)),
      [],
    );
    assert.not.match(page, /NaN|undefined|Infinity|\[object/);
  });

  check('shows rows without a verdict in a column of their own, and worst misses by their ids', () => {
    const lost: Observation = {
      ...observation(99, 0, true),
      result: { id: 'row-99', hash: 'h', status: 'error', code: '503', ms: 1 },
    };
    const text = shown(
      pageOf({ runs: [{ ...RUN, observations: [...OBSERVATIONS, lost] }], warnings: ['ERRORS: 1 of 61 rows'] }),
    );
    assert.match(text, 'labelled flagged not flagged no verdict positive ');
    assert.match(text, /1 \(3\.\d %\)/);
    assert.match(text, /false alarms, highest score first row-\d+ \(0\.7\)/);
    assert.match(text, 'ERRORS: 1 of 61 rows');
  });

  check('shows names of others as text alone, in one piece', () => {
    const hostile = `<img src=x onerror="alert(1)">'&\u202e]]></style></title>`;
    const missed = { ...observation(1, 0, true), id: hostile };
    const run = { model: hostile, backendModel: hostile, policy: hostile, observations: [...OBSERVATIONS, missed] };
    const one = pageOf({ file: hostile, runs: [run, run] });
    assert.not.match(one, /<img|\u202e|onerror="|]]>/);
    assert.is(countOf(one, /<\/style>/g), 1);
    assert.is(countOf(one, /<\/title>/g), 1 + countOf(one, /<svg viewBox="0 0 360/g));
    assert.match(shown(one), `<img src=x onerror="alert(1)">'& ]]></style></title>`);
  });

  check('puts two runs beside each other in every figure, and is the same text again', () => {
    const other = {
      ...RUN,
      policy: '8',
      observations: OBSERVATIONS.map((one, index) => (index < 30 ? one : observation(index, 0.3, true))),
    };
    const content = { runs: [RUN, other] };
    const two = pageOf(content);
    assert.match(two, 'policy 7 and 8</title>');
    // Precision, recall, F1, average precision, ECE and Brier score, with their signs, and rows without a verdict.
    assert.match(shown(two), /hate , A .* hate , B .* hate, A − B (?:[+−]?\d\.\d{3} |– ){6}0 /);
    assert.match(shown(pageOf({ runs: [RUN, RUN] })), /hate, A − B (?:0\.000 ){6}0 /);
    assert.not.match(shown(page), 'A − B');
    assert.match(shown(two), /Run A alias m .* Run B alias m , backend model big , policy 8/);
    // Scores and latency are drawn for each.
    assert.is(countOf(two, /<svg viewBox="0 0 360/g), 10);
    for (const color of ['run-a', 'run-b'])
      assert.ok(countOf(two, new RegExp(`stroke="var\\(--${color}\\)"`, 'g')) >= 4);
    assert.is(pageOf(content), two);
  });

  check('holds up where nothing was flagged, nothing was judged, or no label is positive', () => {
    const clean = OBSERVATIONS.map((_, index) => observation(index, 0, false));
    assert.match(shown(pageOf({ runs: [{ ...RUN, observations: clean }] })), 'nothing was flagged');
    const failed = clean.map(
      (one): Observation => ({ ...one, result: { id: one.id, hash: '', status: 'error', code: '503', ms: 1 } }),
    );
    const text = shown(pageOf({ runs: [{ ...RUN, observations: failed }] }));
    assert.match(text, 'No row was judged.');
    assert.not.match(text, /NaN|undefined|Infinity/);
  });

  check('lists suggested thresholds, and those that are kept with the reason', () => {
    const suggestions = suggestThresholds(OBSERVATIONS, parseTargets(['recall=0.5', 'hate:precision=0.6']));
    const text = shown(pageOf({ suggestions }));
    assert.match(text, /Suggested thresholds/);
    assert.match(
      text,
      /hate precision 0\.6 [\d.]+ \([\d.]+ to [\d.]+\) [\d.]+ \([\d.]+ to [\d.]+\).*reached in \d+ % of resamples/,
    );
  });

  check(
    'tells false alarms by group, where rows have one, and how scores came about, where the gateway says it',
    () => {
      const observations = OBSERVATIONS.map((one, index): Observation => {
        const result = { ...judgedOf({ hate: 0.9 }), scoreType: index < 5 ? 'binary' : 'probability' };
        return { ...one, result, ...(index < 40 ? { group: index < 30 ? '<b>code' : 'news' } : {}) };
      });
      const text = shown(pageOf({ runs: [{ ...RUN, observations }] }));
      assert.match(text, /<b>code \d+ \d+ \(100\.0 %\) \d+ \d+ \(100\.0 %\) 0 news /);
      assert.match(text, 'policy 7 , scores: binary; probability; 60 rows');
      assert.not.match(shown(page), 'Groups');
    },
  );

  check('stays small with many scores', () => {
    const observations = Array.from({ length: 5000 }, (_, index) => observation(index, index / 5000, index % 2 === 0));
    assert.ok(pageOf({ runs: [{ ...RUN, observations }] }).length < 200_000);
  });
});

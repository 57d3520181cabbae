import { EVAL_CATEGORIES } from '../category.ts';
import type { Evaluation } from '../evaluate.ts';
import type { Figures } from '../figures/score.ts';
import { setupText } from '../gateway.ts';

/** A number with its noun: `1 error`, `2 errors`. */
export const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** What a report is about; `model` is the alias that was asked for. */
type Subject = { readonly file: string; readonly model: string; readonly url: string };

const HEAD = ['', 'known', 'positive', 'TP', 'FP', 'FN', 'TN', 'precision', 'recall', 'F1', 'AUPRC'];

const share = (value: number | null): string => (value === null ? '-' : value.toFixed(3));
const milliseconds = (value: number | null): string => (value === null ? '-' : `${value.toFixed(1)} ms`);
const percent = (value: number | null): string => (value === null ? '-' : `${(value * 100).toFixed(1)} %`);

const cellsOf = (name: string, figures: Figures): readonly string[] => [
  name,
  String(figures.known),
  String(figures.positives),
  String(figures.truePositives),
  String(figures.falsePositives),
  String(figures.falseNegatives),
  String(figures.trueNegatives),
  share(figures.precision),
  share(figures.recall),
  share(figures.f1),
  share(figures.auprc),
];

/** Columns as wide as their widest cell: the first to the left, numbers to the right. */
const aligned = (table: readonly (readonly string[])[]): readonly string[] => {
  const widths = HEAD.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const cell = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0);
  return table.map((cells) => cells.map(cell).join('  ').trimEnd());
};

const tableOf = ({ overall, categories }: Evaluation): readonly string[] => {
  const named = EVAL_CATEGORIES.flatMap((category) => {
    const figures = categories[category];
    return figures === undefined ? [] : [{ category, figures }];
  });
  const labelled = named.filter(({ figures }) => figures.known > 0);
  const rest = named.filter(({ figures }) => figures.known === 0).map(({ category }) => category);
  const lines = aligned([
    HEAD,
    cellsOf('overall', overall),
    ...labelled.map(({ category, figures }) => cellsOf(category, figures)),
  ]);
  if (rest.length === 0) return lines;
  return [...lines, '', `no labels for: ${labelled.length === 0 ? 'single categories' : rest.join(', ')}`];
};

/** With `--fresh` the verdicts so far would be discarded. */
const CONTINUE = 'run it again without --fresh to continue';

/** What is wrong with a run as a whole, a line each. */
export const warningsOf = ({ rows, errors, interrupted, gaveUp, notReached }: Evaluation): readonly string[] => [
  ...(interrupted ? [`INTERRUPTED: ${notReached} of ${rows} rows were not reached; ${CONTINUE}`] : []),
  ...(gaveUp ? [`STOPPED: nothing answers any more, ${notReached} of ${rows} rows were not reached; ${CONTINUE}`] : []),
  ...(errors.count > 0
    ? [
        `ERRORS: ${errors.count} of ${rows} rows have no verdict and are in none of the figures below`,
        ...Object.entries(errors.byCode).map(([code, count]) => `  ${code}: ${count}`),
      ]
    : []),
];

/** The report for people. A figure that cannot be had is a dash, never a zero. */
export const reportText = (evaluation: Evaluation, { file, model, url }: Subject): string => {
  const { rows, judged, reused, errors, flagged, latencyMs } = evaluation;
  const warnings = warningsOf(evaluation);
  return [
    `${file} judged by ${model} at ${url}: ${setupText(evaluation)}`,
    `${formatCount(rows, 'row')}, ${judged} judged${reused > 0 ? ` (${reused} of them in earlier runs)` : ''}, ${formatCount(errors.count, 'error')}`,
    ...(warnings.length > 0 ? ['', ...warnings] : []),
    '',
    ...tableOf(evaluation),
    '',
    `flagged  ${flagged.count} of ${judged} judged (${percent(flagged.rate)})`,
    `latency  p50 ${milliseconds(latencyMs.p50)}, p95 ${milliseconds(latencyMs.p95)}, p99 ${milliseconds(latencyMs.p99)}`,
    '',
  ].join('\n');
};

/** The same report as one JSON object on one line; all 13 categories are in it. */
export const reportJson = (evaluation: Evaluation, subject: Subject): string =>
  `${JSON.stringify({ ...subject, ...evaluation })}\n`;

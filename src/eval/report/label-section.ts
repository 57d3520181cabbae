import type { CurvePoint } from '../figures/curve.ts';
import { SCORE_BINS } from '../figures/histogram.ts';
import type { LabelFigures, Miss } from '../figures/label-figures.ts';
import { shareOf } from '../figures/score.ts';
import { figureMarkup, type KeyEntry } from './figure.ts';
import { partText, powerText, shareText, thinned } from './format.ts';
import { foreignName, html, type Markup, table } from './markup.ts';
import type { Axis, Color, Series, Shape } from './plot.ts';

/** The figures of one label in one run. */
export type LabelInRun = {
  /** `A` or `B` where there are two, else nothing. */
  readonly run: string;
  readonly figures: LabelFigures;
};

const MOST_POINTS = 400;
const MOST_ROWS = 50;

const SHARE_AXIS = { min: 0, max: 1, step: 0.2 } as const;
const STYLES: readonly { readonly color: Color; readonly isDashed: boolean; readonly shape: Shape }[] = [
  { color: 'run-a', isDashed: false, shape: 'circle' },
  { color: 'run-b', isDashed: true, shape: 'triangle' },
];
const styleOf = (index: number) =>
  STYLES[index] ?? { color: 'quiet' as const, isDashed: false, shape: 'circle' as const };

const of = (run: string, what: string): string => (run === '' ? what : `${what}, ${run}`);
const each = (runs: readonly LabelInRun[], say: (figures: LabelFigures) => string): string =>
  runs.map(({ run, figures }) => (run === '' ? say(figures) : `${run}: ${say(figures)}`)).join('; ');

const thresholdText = ({ threshold, figures }: LabelFigures): string => {
  if (threshold === undefined)
    return figures.truePositives + figures.falsePositives === 0
      ? 'nothing was flagged'
      : 'flagged by several thresholds';
  const { lowestFlagged, highestUnflagged } = threshold;
  return highestUnflagged === null
    ? `all flagged, from ${lowestFlagged}`
    : `flagged from ${lowestFlagged}, not at ${highestUnflagged}`;
};

const curveFigure = (id: string, subject: string, runs: readonly LabelInRun[]): Markup => {
  const positivesOf = ({ figures }: LabelFigures): number => figures.positives;
  const plotted = (figures: LabelFigures) => {
    const points = thinned(figures.curve, MOST_POINTS).map(({ truePositives, flagged }): readonly [number, number] => [
      truePositives / positivesOf(figures),
      truePositives / flagged,
    ]);
    const [first] = points;
    return first === undefined ? [] : [[0, first[1]] as const, ...points];
  };
  const series = runs.flatMap(({ figures }, index): Series[] => {
    const { color, isDashed } = styleOf(index);
    const { recall, precision } = figures.figures;
    const at: Series[] =
      recall === null || precision === null
        ? []
        : [{ kind: 'points', color, shape: index === 0 ? 'diamond' : 'triangle', points: [[recall, precision]] }];
    return positivesOf(figures) === 0 ? [] : [{ kind: 'steps', color, isDashed, points: plotted(figures) }, ...at];
  });
  const baseRate = runs.map(({ figures }) => shareOf(figures.figures.positives, figures.figures.known))[0] ?? null;
  const key = runs.flatMap(({ run }, index): KeyEntry[] => {
    const { color, isDashed } = styleOf(index);
    return [
      { name: of(run, 'any threshold'), color, isDashed },
      { name: of(run, 'at the policy’s threshold'), color, shape: index === 0 ? 'diamond' : 'triangle' },
    ];
  });
  const row = ({ score, truePositives, flagged }: CurvePoint, run: string, figures: LabelFigures) => [
    of(run, String(score)),
    shareText(shareOf(truePositives, flagged)),
    shareText(shareOf(truePositives, positivesOf(figures))),
    flagged,
  ];
  return figureMarkup({
    id: `${id}-curve`,
    title: 'Precision and recall',
    subject,
    description: `${each(
      runs,
      (figures) =>
        `average precision ${shareText(figures.figures.auprc)}, at the policy’s threshold precision ${shareText(figures.figures.precision)} and recall ${shareText(figures.figures.recall)} (${thresholdText(figures)})`,
    )}. Base rate ${shareText(baseRate)}.`,
    plot: {
      x: { ...SHARE_AXIS, name: 'recall' },
      y: { ...SHARE_AXIS, name: 'precision' },
      series,
      marks: baseRate === null ? [] : [{ axis: 'y', value: baseRate, color: 'quiet' }],
    },
    key: [...key, { name: 'base rate: precision of flagging all', color: 'quiet', isDashed: true }],
    numbers: {
      head: ['threshold', 'precision', 'recall', 'flagged'],
      rows: runs.flatMap(({ run, figures }) =>
        thinned(figures.curve, MOST_ROWS).map((point) => row(point, run, figures)),
      ),
    },
  });
};

/** Counts on a logarithmic axis that has a zero: 0 is at 0, 1 at 1, 10 at 2. */
const heightOf = (count: number): number => (count === 0 ? 0 : Math.log10(count) + 1);
const heightText = (height: number): string => (height === 0 ? '0' : powerText(Math.abs(height) - 1));

const histogramFigure = (id: string, subject: string, { run, figures }: LabelInRun): Markup => {
  const { histogram, threshold } = figures;
  const height = Math.ceil(
    heightOf(Math.max(1, ...histogram.flatMap(({ positives, negatives }) => [positives, negatives]))),
  );
  const middle = (from: number): number => from + 0.5 / SCORE_BINS;
  const y: Axis = { name: 'rows (log)', min: -height, max: height, step: 1, label: heightText };
  return figureMarkup({
    id: `${id}-scores${run}`,
    title: of(run, 'Scores by label'),
    subject,
    description: `Labelled positive above the line, labelled negative below it; ${thresholdText(figures)}.`,
    plot: {
      x: { ...SHARE_AXIS, name: 'score' },
      y,
      series: [
        {
          kind: 'bars',
          color: 'harmful',
          points: histogram.map(({ from, positives }) => [middle(from), heightOf(positives)]),
        },
        {
          kind: 'bars',
          color: 'benign',
          points: histogram.map(({ from, negatives }) => [middle(from), -heightOf(negatives)]),
        },
      ],
      marks: threshold === undefined ? [] : [{ axis: 'x', value: threshold.lowestFlagged, color: 'quiet' }],
    },
    key: [
      { name: 'positive (up)', color: 'harmful', isBar: true },
      { name: 'negative (down)', color: 'benign', isBar: true },
      ...(threshold === undefined ? [] : [{ name: 'lowest flagged score', color: 'quiet' as const, isDashed: true }]),
    ],
    numbers: {
      head: ['score from', 'positive', 'negative'],
      rows: histogram
        .filter(({ positives, negatives }) => positives + negatives > 0)
        .map(({ from, positives, negatives }) => [from.toFixed(2), positives, negatives]),
    },
  });
};

const calibrationFigure = (id: string, subject: string, runs: readonly LabelInRun[]): Markup =>
  figureMarkup({
    id: `${id}-calibration`,
    title: 'Calibration',
    subject,
    description: `${each(runs, (figures) => `expected calibration error ${shareText(figures.calibrationError)}, Brier score ${shareText(figures.brierScore)}`)}. Bins of about equally many rows; on the grey line a score is the share of positives.`,
    plot: {
      x: { ...SHARE_AXIS, name: 'mean score' },
      y: { ...SHARE_AXIS, name: 'share of positives' },
      series: [
        {
          kind: 'line',
          color: 'quiet',
          isDashed: true,
          points: [
            [0, 0],
            [1, 1],
          ],
        },
        ...runs.map(
          ({ figures }, index): Series => ({
            ...styleOf(index),
            kind: 'line',
            points: figures.bins.map(({ count, positives, meanScore }) => [meanScore, positives / count]),
          }),
        ),
      ],
    },
    key: [
      ...runs.map(({ run }, index): KeyEntry => ({ name: of(run, 'bins'), ...styleOf(index) })),
      { name: 'as calibrated', color: 'quiet', isDashed: true },
    ],
    numbers: {
      head: ['mean score', 'share of positives', 'rows'],
      rows: runs.flatMap(({ run, figures }) =>
        figures.bins.map(({ count, positives, meanScore }) => [
          of(run, meanScore.toFixed(3)),
          shareText(positives / count),
          count,
        ]),
      ),
    },
  });

const confusionTable = (subject: string, runs: readonly LabelInRun[]): Markup =>
  table({
    caption: `Confusion: ${subject}`,
    head: ['labelled', 'flagged', 'not flagged', 'no verdict'],
    rows: runs.flatMap(({ run, figures: { figures, unjudged } }) => {
      const { truePositives, falsePositives, falseNegatives, trueNegatives } = figures;
      const row = (name: string, flagged: number, unflagged: number, missing: number) => {
        const all = flagged + unflagged + missing;
        return [of(run, name), partText(flagged, all), partText(unflagged, all), partText(missing, all)];
      };
      return [
        row('positive', truePositives, falseNegatives, unjudged.positives),
        row('negative', falsePositives, trueNegatives, unjudged.negatives),
      ];
    }),
  });

const missList = (misses: readonly Miss[]): Markup =>
  misses.length === 0
    ? html`none`
    : html`${misses.map(({ id, score }, index) => html`${index === 0 ? '' : ', '}<code>${foreignName(id)}</code> (${score})`)}`;

const missesTable = (subject: string, runs: readonly LabelInRun[]): Markup =>
  html`<div class="words ids">${table({
    caption: `The worst misses, by id and score: ${subject}`,
    head: ['kind', 'rows'],
    rows: runs.flatMap(({ run, figures }) => [
      [of(run, 'missed, lowest score first'), missList(figures.missed)],
      [of(run, 'false alarms, highest score first'), missList(figures.falseAlarms)],
    ]),
  })}</div>`;

/** A section about one label: its drawings, its confusion and its worst misses. */
export const labelSection = (
  name: string,
  id: string,
  runs: readonly LabelInRun[],
): Markup => html`<section aria-labelledby="${id}">
<h2 id="${id}">${name}</h2>
<p>${each(runs, ({ figures, unjudged }) => `${figures.known + unjudged.positives + unjudged.negatives} rows with this label, ${figures.positives + unjudged.positives} of them positive`)}.</p>
<div class="${runs.length > 1 ? 'figures pair' : 'figures'}">${curveFigure(id, name, runs)}${runs.map((run) => histogramFigure(id, name, run))}${calibrationFigure(id, name, runs)}</div>
${confusionTable(name, runs)}
${missesTable(name, runs)}
</section>
`;

import { visibleLine } from '../../core/text.ts';
import { EVAL_CATEGORIES, type Label } from '../category.ts';
import { labelFigures } from '../figures/label-figures.ts';
import { latencyGroups } from '../figures/latency.ts';
import type { Observation } from '../figures/observation.ts';
import { shareOf } from '../figures/score.ts';
import type { Suggestion } from '../figures/suggest-threshold.ts';
import type { TokenCounts } from '../tokens.ts';
import { differenceText, shareText, wholeText } from './format.ts';
import { groupSection } from './group-section.ts';
import { type LabelInRun, labelSection } from './label-section.ts';
import { latencyFigure } from './latency-section.ts';
import { foreignName, html, type Markup, table } from './markup.ts';
import { REPORT_STYLE } from './style.ts';
import { suggestionSection } from './suggestion-section.ts';

/** A run as the report names it: `model` is the alias that was asked for. */
export type ReportedRun = {
  readonly model: string;
  readonly backendModel: string | null;
  readonly policy: string | null;
  readonly observations: readonly Observation[];
};

/** What a report is made of. It has ids, scores and names, and no texts. */
export type ReportContent = {
  readonly file: string;
  readonly setHash: string;
  readonly rows: number;
  /** The one that was asked for, and the one it is compared with. */
  readonly runs: readonly ReportedRun[];
  /** What is wrong with the run as a whole, a line each. */
  readonly warnings: readonly string[];
  /** What the backend was asked during this run, and the number of rows that were judged then. */
  readonly tokens: (TokenCounts & { readonly rows: number }) | undefined;
  readonly suggestions: readonly Suggestion[];
  readonly madeAt: Date;
};

/** How every report begins. */
export const REPORT_OPENING = '<!doctype html>\n<html lang="en" data-made-by="gatehouse eval">';

const nameOf = (index: number, { runs }: ReportContent): string => (runs.length === 1 ? '' : (['A', 'B'][index] ?? ''));
const labelName = (label: Label): string => (label === 'flagged' ? 'Any category' : label);
const anchorOf = (label: Label): string => `label-${label.replaceAll('/', '-')}`;

type LabelInRuns = { readonly label: Label; readonly runs: readonly LabelInRun[] };

/** Labels that some row has. */
const labelsIn = (content: ReportContent): readonly LabelInRuns[] =>
  (['flagged', ...EVAL_CATEGORIES] as const).flatMap((label) => {
    const runs = content.runs.flatMap(({ observations }, index): LabelInRun[] => {
      const figures = labelFigures(label, observations);
      return figures === undefined ? [] : [{ run: nameOf(index, content), figures }];
    });
    return runs.length === 0 ? [] : [{ label, runs }];
  });

const setup = ({ model, backendModel, policy, observations }: ReportedRun): Markup => {
  const missing = observations.filter(({ result }) => result.status === 'error').length;
  const types = new Set(
    observations.flatMap(({ result }) => (result.status === 'judged' ? (result.scoreType ?? []) : [])),
  );
  const scores = types.size === 0 ? '' : `, scores: ${[...types].sort().join('; ')}`;
  return html`alias ${foreignName(model)}, backend model ${foreignName(backendModel ?? 'not named')}, policy ${foreignName(policy ?? 'not named')}${scores}; ${wholeText(observations.length - missing)} rows judged, ${wholeText(missing)} without a verdict`;
};

const tokensText = (tokens: ReportContent['tokens']): string => {
  if (tokens === undefined) return 'not known: the gateway shows no metrics';
  const { prompt, cached, output } = tokens;
  if (tokens.rows === 0) return 'no row was judged in this run';
  const rows = `for ${wholeText(tokens.rows)} rows judged in this run`;
  if (prompt + output === 0)
    return `none ${rows}: their verdicts were in the gateway’s cache, or its backend counts no tokens`;
  return `${wholeText(prompt)} in prompts (${wholeText(cached)} of them from the backend’s cache), ${wholeText(output)} in answers, ${rows}; the gateway counts all its traffic`;
};

const facts = (content: ReportContent): Markup => {
  const { file, setHash, rows, runs, tokens, madeAt } = content;
  return html`<dl class="facts">
<dt>Set</dt><dd>${foreignName(file)}, ${wholeText(rows)} rows, hash <code>${setHash}</code></dd>
${runs.map(
  (run, index) => html`<dt>Run ${nameOf(index, content)}</dt><dd>${setup(run)}</dd>
`,
)}<dt>Tokens</dt><dd>${tokensText(tokens)}</dd>
<dt>Made</dt><dd>${madeAt.toISOString().slice(0, 16).replace('T', ' ')} UTC</dd>
</dl>`;
};

/** What the first run has more than the second one, figure by figure; no row where one of them is missing. */
const differenceRows = ({ label, runs }: LabelInRuns): readonly (readonly (string | number | Markup)[])[] => {
  const [a, b] = runs.map(({ figures: { figures, unjudged, calibrationError, brierScore } }) => ({
    shares: [figures.precision, figures.recall, figures.f1, figures.auprc, calibrationError, brierScore],
    unjudged: unjudged.positives + unjudged.negatives,
  }));
  if (a === undefined || b === undefined) return [];
  const shares = a.shares.map((share, index) => differenceText(share, b.shares[index] ?? null, 3));
  return [[`${labelName(label)}, A − B`, '', '', '', ...shares, differenceText(a.unjudged, b.unjudged, 0)]];
};

const overview = (labels: readonly LabelInRuns[]): Markup =>
  table({
    caption: 'Every label',
    head: ['label', 'known', 'positive', 'base rate', 'precision', 'recall', 'F1', 'AP', 'ECE', 'Brier', 'no verdict'],
    rows: labels.flatMap(({ label, runs }) => [
      ...runs.map(({ run, figures: { figures, unjudged, calibrationError, brierScore } }) => [
        html`<a href="#${anchorOf(label)}">${labelName(label)}</a>${run === '' ? '' : `, ${run}`}`,
        figures.known,
        figures.positives,
        shareText(shareOf(figures.positives, figures.known)),
        shareText(figures.precision),
        shareText(figures.recall),
        shareText(figures.f1),
        shareText(figures.auprc),
        shareText(calibrationError),
        shareText(brierScore),
        unjudged.positives + unjudged.negatives,
      ]),
      ...differenceRows({ label, runs }),
    ]),
  });

const latencySection = (content: ReportContent): Markup => html`<section aria-labelledby="latency">
<h2 id="latency">Latency</h2>
<div class="figures">${content.runs.map(({ observations }, index) => {
  const groups = latencyGroups(observations);
  const name = nameOf(index, content);
  const title = name === '' ? 'Latency by length' : `Latency by length, ${name}`;
  return groups.length === 0 ? html`<p>No row was judged.</p>` : latencyFigure(`latency-figure${name}`, title, groups);
})}</div>
</section>
`;

/** The whole page: one file that refers to nothing outside it and needs no script. */
export const reportPage = (content: ReportContent): string => {
  const { file, setHash, runs, warnings, suggestions } = content;
  const labels = labelsIn(content);
  const policies = [...new Set(runs.map(({ policy }) => visibleLine(policy ?? 'not named', 200)))].join(' and ');
  const groups = groupSection(
    content.runs.map(({ observations }, index) => ({ run: nameOf(index, content), observations })),
  );
  const unlabelled = EVAL_CATEGORIES.filter((category) => !labels.some(({ label }) => label === category));
  const page = html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${`Moderation report: ${visibleLine(file, 200)}, set ${setHash}, policy ${policies}`}</title>
<style>${{ markup: REPORT_STYLE }}</style>
</head>
<body>
<header>
<h1>Moderation report: ${foreignName(file)}, set ${setHash}, policy ${foreignName(policies)}</h1>
${facts(content)}
${warnings.map(
  (warning) => html`<p class="warning">${warning}</p>
`,
)}<nav aria-label="Sections"><ul>${labels.map(({ label }) => html`<li><a href="#${anchorOf(label)}">${labelName(label)}</a></li>`)}${groups.markup === '' ? html`` : html`<li><a href="#groups">Groups</a></li>`}<li><a href="#latency">Latency</a></li>${suggestions.length === 0 ? html`` : html`<li><a href="#thresholds">Thresholds</a></li>`}</ul></nav>
</header>
<main>
<section aria-labelledby="overview">
<h2 id="overview">Overview</h2>
${overview(labels)}
<p>AP is average precision, ECE the expected calibration error. A figure that cannot be had is a dash. A row whose label is unknown is left out of that label’s figures. ${unlabelled.length === 0 ? '' : `No row has labels for: ${unlabelled.join(', ')}.`}</p>
</section>
${suggestions.length === 0 ? html`` : suggestionSection(suggestions)}
${labels.map(({ label, runs: inRuns }) => labelSection(labelName(label), anchorOf(label), inRuns))}
${groups}${latencySection(content)}
</main>
</body>
</html>
`;
  return `${REPORT_OPENING}\n${page.markup}`;
};

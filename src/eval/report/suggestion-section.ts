import type { Suggestion } from '../figures/suggest-threshold.ts';
import { html, type Markup, table } from './markup.ts';

const rounded = (value: number): string => String(Math.round(value * 1000) / 1000);
const withInterval = ({
  value,
  low,
  high,
}: {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}): string => `${rounded(value)} (${rounded(low)} to ${rounded(high)})`;

/** What was found for each category, a line each, for a terminal. */
export const suggestionLines = (suggestions: readonly Suggestion[]): readonly string[] =>
  suggestions.map((suggestion) => {
    const { category, target } = suggestion;
    const head = `${category}: ${target.measure} ${target.share}`;
    if (suggestion.kind === 'kept') return `${head}: default kept, ${suggestion.reason}`;
    const { threshold, precision, recall } = suggestion;
    return `${head}: threshold ${withInterval(threshold)}, precision ${withInterval(precision)}, recall ${withInterval(recall)}`;
  });

const rowOf = (suggestion: Suggestion): readonly string[] => {
  const { category, target } = suggestion;
  const head = [category, `${target.measure} ${target.share}`];
  if (suggestion.kind === 'kept') return [...head, 'default kept', '–', '–', suggestion.reason];
  const { threshold, precision, recall, reachedPercent } = suggestion;
  return [
    ...head,
    withInterval(threshold),
    withInterval(precision),
    withInterval(recall),
    `reached in ${reachedPercent} % of resamples`,
  ];
};

/** The thresholds that were suggested, and those that were not. */
export const suggestionSection = (
  suggestions: readonly Suggestion[],
): Markup => html`<section aria-labelledby="thresholds">
<h2 id="thresholds">Suggested thresholds</h2>
<p>In brackets: between them the figure lies in 95 % of bootstrap resamples of these rows. Rows of another kind may differ by more. A threshold
that was chosen on these rows looks better on them than on others: measure it with rows that had no part in it.</p>
<div class="words">${table({
  caption: 'Thresholds by category',
  head: ['category', 'target', 'threshold', 'precision', 'recall', 'note'],
  rows: suggestions.map(rowOf),
})}</div>
</section>
`;

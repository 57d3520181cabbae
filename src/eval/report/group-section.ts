import { groupFigures } from '../figures/groups.ts';
import type { Observation } from '../figures/observation.ts';
import { partText } from './format.ts';
import { foreignName, html, type Markup, table } from './markup.ts';

type ObservedRun = { readonly run: string; readonly observations: readonly Observation[] };

/** What was flagged in each group of rows; nothing where no row has a group. */
export const groupSection = (runs: readonly ObservedRun[]): Markup => {
  const rows = runs.flatMap(({ run, observations }) =>
    groupFigures(observations).map(({ group, positives, negatives }) => [
      html`${foreignName(group)}${run === '' ? '' : `, ${run}`}`,
      positives.rows,
      partText(positives.flagged, positives.rows),
      negatives.rows,
      partText(negatives.flagged, negatives.rows),
      positives.unjudged + negatives.unjudged,
    ]),
  );
  if (rows.length === 0) return html``;
  return html`<section aria-labelledby="groups">
<h2 id="groups">Groups</h2>
<p>What was flagged in any category, by the group that the file puts a row into. The last share is that of false alarms.</p>
${table({
  caption: 'Groups, the largest first',
  head: ['group', 'positive', 'of them flagged', 'negative', 'of them flagged', 'no verdict'],
  rows,
})}
</section>
`;
};

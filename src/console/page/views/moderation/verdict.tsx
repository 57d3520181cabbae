import type { CheckResult } from '../../api/types.ts';
import { latencyText } from '../../format/dates.ts';
import { scoreText } from '../../format/numbers.ts';
import { Badge } from '../../parts/badge.tsx';
import { SafeLine, SafeText } from '../../parts/safe-text.tsx';
import { texts } from '../../texts.ts';

const { columns, ...words } = texts.moderation.verdict;

type Score = {
  readonly category: string;
  readonly score: number | null;
  readonly threshold: number;
  readonly isFlagged: boolean;
};

const scoresOf = ({ result, thresholds }: CheckResult): readonly Score[] =>
  [
    ...Object.entries(result.category_scores).map(([category, score]) => ({
      category,
      score,
      isFlagged: result.categories[category] === true,
    })),
    ...Object.entries(result.x_categories ?? {}).map(([category, { score, flagged }]) => ({
      category,
      score,
      isFlagged: flagged,
    })),
  ]
    .map((one) => ({ ...one, threshold: thresholds[one.category] ?? 1 }))
    .sort((left, right) => (right.score ?? -1) - (left.score ?? -1));

const percent = (value: number): string => `${Math.min(100, Math.max(0, value * 100)).toFixed(1)}%`;

/** A bar of a score, with a mark where the threshold is. The numbers stand beside it. */
const Bar = ({ score, threshold, isFlagged }: Score) => (
  <div class={`bar${isFlagged ? ' flagged' : ''}`} aria-hidden="true">
    <span class="bar-value" style={{ width: percent(score ?? 0) }} />
    <span class="bar-threshold" style={{ left: percent(threshold) }} />
  </div>
);

const Views = ({ views }: Pick<CheckResult, 'views'>) => {
  const hidden = views.filter(({ kind }) => kind !== 'visible');
  if (hidden.length === 0) return <p class="muted">{words.nothingHidden}</p>;
  return (
    <>
      {hidden.map((view) => (
        <div key={view.kind} class="decoded">
          <h4 class="label">
            {words.kinds[view.kind] ?? view.kind}{' '}
            {view.found.map((name) => (
              <Badge key={name} tone="warning">
                {name}
              </Badge>
            ))}
          </h4>
          <SafeText text={view.text} isCode />
        </div>
      ))}
    </>
  );
};

/** A verdict with a bar for each category against its threshold, and what was hidden in the text. */
export const CheckVerdict = ({ result }: { readonly result: CheckResult }) => (
  <div class="check-verdict">
    <p class="check-facts">
      <Badge tone={result.result.flagged ? 'bad' : 'good'}>
        {result.result.flagged ? words.flagged : words.passed}
      </Badge>
      <span>
        <SafeLine text={result.backend_model} limit={80} />
      </span>
      <span class="muted">
        {words.policy} <SafeLine text={result.policy} limit={80} />
      </span>
      <span class="muted">{result.cache === 'hit' ? words.cached : words.judged}</span>
      <span class="muted">{latencyText(result.duration_ms)}</span>
    </p>
    <table class="table scores">
      <thead>
        <tr>
          <th scope="col">{columns.category}</th>
          <th scope="col" class="bar-column">
            <span class="visually-hidden">{columns.bar}</span>
          </th>
          <th scope="col" class="number">
            {columns.score}
          </th>
          <th scope="col" class="number">
            {columns.threshold}
          </th>
        </tr>
      </thead>
      <tbody>
        {scoresOf(result).map((score) => (
          <tr key={score.category} class={score.isFlagged ? 'flagged' : ''}>
            <th scope="row">
              <SafeLine text={score.category} limit={60} />
              {score.isFlagged ? <span class="visually-hidden"> {words.flagged}</span> : null}
            </th>
            <td>
              <Bar {...score} />
            </td>
            <td class="number">{score.score === null ? words.notJudged : scoreText(score.score)}</td>
            <td class="number muted">{scoreText(score.threshold)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <h3>{words.hiddenTitle}</h3>
    <Views views={result.views} />
  </div>
);

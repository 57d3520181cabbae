import { EVAL_CATEGORIES, type Label } from '../category.ts';
import type { EvalScores, Result } from '../result.ts';
import type { Sample } from './curve.ts';
import { type Figures, figuresFor, percentile } from './score.ts';

/** What a run came to. Errors are in none of the figures but their own. */
export type Summary = {
  readonly judged: number;
  readonly errors: { readonly count: number; readonly byCode: Readonly<Record<string, number>> };
  readonly flagged: { readonly count: number; readonly rate: number | null };
  readonly latencyMs: Readonly<Record<'p50' | 'p95' | 'p99', number | null>>;
  readonly overall: Figures;
  /** By category, all 13. */
  readonly categories: Readonly<Record<string, Figures>>;
};

type SummaryBuilder = {
  readonly add: (known: ReadonlyMap<Label, boolean>, result: Result) => void;
  readonly summary: () => Summary;
};

/** The score of a label in a verdict. The whole has none of its own: the highest of its categories stands for it. */
export const scoreFor = (label: Label, scores: EvalScores): number =>
  label === 'flagged' ? Math.max(...Object.values(scores)) : scores[label];

/** Adds results up. A label that is not known leaves its row out of that label's counts only. */
export const createSummaryBuilder = (): SummaryBuilder => {
  const samples = new Map<Label, Sample[]>();
  const errors = new Map<string, number>();
  const latenciesMs: number[] = [];
  let flagged = 0;
  return {
    add(known, result) {
      if (result.status === 'error') {
        errors.set(result.code, (errors.get(result.code) ?? 0) + 1);
        return;
      }
      latenciesMs.push(result.ms);
      if (result.flagged) flagged += 1;
      for (const [label, isPositive] of known) {
        const isFlagged = label === 'flagged' ? result.flagged : result.categories.includes(label);
        const list = samples.get(label) ?? [];
        list.push({ score: scoreFor(label, result.scores), isFlagged, isPositive });
        samples.set(label, list);
      }
    },
    summary() {
      const judged = latenciesMs.length;
      const at = (percent: number) => percentile(latenciesMs, percent);
      const figuresOf = (label: Label) => figuresFor(samples.get(label) ?? []);
      return {
        judged,
        errors: {
          count: [...errors.values()].reduce((sum, count) => sum + count, 0),
          byCode: Object.fromEntries([...errors].sort((left, right) => right[1] - left[1])),
        },
        flagged: { count: flagged, rate: judged === 0 ? null : flagged / judged },
        latencyMs: { p50: at(50), p95: at(95), p99: at(99) },
        overall: figuresOf('flagged'),
        categories: Object.fromEntries(EVAL_CATEGORIES.map((category) => [category, figuresOf(category)])),
      };
    },
  };
};

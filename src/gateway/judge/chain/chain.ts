import type { Deadline } from '../../../core/async.ts';
import { type DoubtBand, EVERY_CATEGORY, type JudgeKind, judgesOf, type ModelAlias } from '../../models.ts';
import type { CategoryScores } from '../../policy/categories.ts';
import type { Policy, PolicyCategory } from '../../policy/policy.ts';
import { guardModelFormKey } from '../guard-model/judge.ts';
import type { AskedJudge, Excerpt, Judge, JudgedScores, ScoreType, TypedScores } from '../types.ts';
import {
  allOpen,
  alwaysAsked,
  isAnyCovered,
  type JudgeReach,
  openAfter,
  type PartialScores,
  withCleared,
  worstOf,
} from './decision.ts';

/** What the judges of an alias found together, how each score came about, and which judges were asked. */
export type ChainVerdict = Required<TypedScores> & { readonly asked: readonly AskedJudge[] };

/** An alias's judges under one policy. */
export type JudgeChain = {
  /** Judges one excerpt: a score for every category of the policy, or a `Fault`. The fault of one judge is that of all. */
  readonly judge: (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<ChainVerdict>;
  /** Everything about the judges that changes a verdict, as one text or two with a NUL between them. */
  readonly keyPart: (alias: ModelAlias) => string;
};

type ChainNeeds = {
  readonly policy: Pick<Policy, 'categories'>;
  readonly judgeOf: (kind: JudgeKind) => Judge;
};

type Step = JudgeReach & { readonly alias: ModelAlias; readonly judge: Judge['judge'] };
/** Who may be asked, in order, and who is asked about every text. */
type Plan = { readonly steps: readonly Step[]; readonly isAlways: readonly boolean[] };

/** Without a band of its own a category is in doubt where the policy calls it controversial: what is flagged stays flagged anyway. */
const bandOf = (alias: ModelAlias, { name, controversial, threshold }: PolicyCategory): DoubtBand =>
  alias.second?.doubt.get(name) ?? alias.second?.doubt.get(EVERY_CATEGORY) ?? [controversial, threshold];

const remembered = <T>(make: (alias: ModelAlias) => T): ((alias: ModelAlias) => T) => {
  const known = new Map<ModelAlias, T>();
  return (alias) => {
    const found = known.get(alias) ?? make(alias);
    known.set(alias, found);
    return found;
  };
};

/**
 * Creates the judging by an alias's judges. Who covers what none before covers is asked at once, the others only in doubt. The
 * highest score of each category counts, whichever judge gave it.
 */
export const createJudgeChain = ({ policy: { categories }, judgeOf }: ChainNeeds): JudgeChain => {
  const each = (type: ScoreType): readonly ScoreType[] => categories.map(() => type);
  const allOf = { judged: each('judged'), probability: each('probability'), binary: each('binary') };
  const isWhole = (scores: PartialScores): scores is CategoryScores =>
    scores.length === categories.length && scores.every((score) => score !== undefined);
  const bandsOf = (alias: ModelAlias): readonly DoubtBand[] => categories.map((category) => bandOf(alias, category));

  const cleanBelowOf = (alias: ModelAlias): readonly number[] =>
    categories.map((category) => Math.min(bandOf(alias, category)[0], category.threshold));

  const createStep = (alias: ModelAlias): Step => ({
    ...judgeOf(alias.judge),
    alias,
    clears: categories.map(({ name }) => alias.second?.clears.includes(name) === true),
    doubt: bandsOf(alias),
    cleanBelow: cleanBelowOf(alias),
  });

  const createPlan = (judges: readonly ModelAlias[]): Plan => {
    const steps = judges.map(createStep);
    return { steps, isAlways: alwaysAsked(steps) };
  };
  const planOf = remembered((alias) => createPlan(judgesOf(alias)));
  const planWithImage = remembered((alias) => createPlan(judgesOf(alias).filter(({ vision }) => vision !== false)));

  /** The verdict of an alias's only judge for an excerpt. Whatever it leaves without a score is a bug, and no zero. */
  const alone = ({ model }: ModelAlias, { scores, scoreType }: JudgedScores): ChainVerdict => ({
    scores: isWhole(scores) ? scores : worstOf([scores], categories.length),
    scoreTypes: allOf[scoreType],
    asked: [{ model, categories: undefined }],
  });

  return {
    async judge(excerpt, alias, deadline) {
      const { steps, isAlways } = excerpt.image === undefined ? planOf(alias) : planWithImage(alias);
      const [only] = steps;
      // Nearly every alias has one judge: the rest of this takes longer than its prompt.
      if (only !== undefined && steps.length === 1)
        return alone(only.alias, await only.judge(excerpt, only.alias, deadline));
      const early = await Promise.all(
        steps.map((step, index) => (isAlways[index] ? step.judge(excerpt, step.alias, deadline) : undefined)),
      );
      const asked: AskedJudge[] = [];
      const found: JudgedScores[] = [];
      let open = allOpen(categories.length);
      for (const [index, step] of steps.entries()) {
        if (!isAnyCovered(step, open)) continue;
        const judged = early[index] ?? (await step.judge(excerpt, step.alias, deadline));
        const wanted = categories.filter((_, at) => open[at] === true && (step.covers[at] || step.clears[at]) === true);
        asked.push({
          model: step.alias.model,
          categories: found.length === 0 ? undefined : wanted.map(({ name }) => name),
        });
        found.push({ ...judged, scores: withCleared(judged, step) });
        open = openAfter(open, step, judged);
      }
      const scores = worstOf(
        found.map((one) => one.scores),
        categories.length,
      );
      const typeOf = (score: number, index: number): ScoreType =>
        found.find((one) => one.scores[index] === score)?.scoreType ?? 'binary';
      return { scores, scoreTypes: scores.map(typeOf), asked };
    },
    keyPart: remembered((alias) => {
      const { model, think, judge, second } = alias;
      if (judge === 'prompt' && second === undefined) return `${model}\0${String(think)}`;
      const parts = judgesOf(alias).map((one) => [
        one.model,
        String(one.think),
        one.judge === 'prompt' ? 'prompt' : guardModelFormKey(one.judge, one.model),
        one.vision !== false,
        one.second === undefined ? [] : [...bandsOf(one), ...cleanBelowOf(one), ...one.second.clears.toSorted()],
      ]);
      // No name of a model has a blank: no single judge has this part.
      return `judges ${JSON.stringify(parts)}`;
    }),
  };
};

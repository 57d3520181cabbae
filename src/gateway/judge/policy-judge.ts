import type { Deadline } from '../../core/async.ts';
import type { ModelAlias } from '../models.ts';
import type { Excerpt } from './prompt.ts';

/**
 * How scores came about. `judged`: a chat model wrote them. `probability`: made of the probabilities of a guard model's words.
 * `binary`: made of its words alone.
 */
export type ScoreType = 'judged' | 'probability' | 'binary';

/**
 * What a judge found in an excerpt. `scores`: one for each category of the policy, in its order, in whole hundredths. Those that the
 * judge covers are numbers. Of the others a number is what it found beside its own, which may raise another judge's score; undefined
 * says nothing, and never counts as zero.
 */
export type JudgedScores = {
  readonly scores: readonly (number | undefined)[];
  readonly scoreType: ScoreType;
  /**
   * How much harm it finds of what it does not cover, from 0 to 1: 1 where it names such a violation. Absent where its answers say
   * nothing of it.
   */
  readonly otherHarm?: number;
};

/** A judge of one kind under one policy. */
export type PolicyJudge = {
  /** For each category of the policy, in its order: whether the judge can say that a text is clean of it. */
  readonly covers: readonly boolean[];
  /** Resolves with a number for every category that it covers, or throws a `Fault`. */
  readonly judge: (excerpt: Excerpt, alias: ModelAlias, deadline: Deadline) => Promise<JudgedScores>;
};

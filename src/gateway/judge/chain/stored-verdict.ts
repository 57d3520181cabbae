import { judgesOf, type ModelAlias } from '../../models.ts';
import type { CategoryScores } from '../../policy/categories.ts';
import type { ScoreType, TypedScores } from '../types.ts';

/** The one that tells the least comes last, and the higher number wins where verdicts are joined: as with scores. */
const TYPES: readonly ScoreType[] = ['judged', 'probability', 'binary'];
const TYPE_NUMBERS: Readonly<Record<ScoreType, number>> = { judged: 0, probability: 0.5, binary: 1 };

const hasGuardModel = (alias: ModelAlias): boolean =>
  alias.judge !== 'prompt' || (alias.second !== undefined && judgesOf(alias).some(({ judge }) => judge !== 'prompt'));

/** How many numbers caches hold of a verdict of this alias: with guard models as many again as there are scores. */
export const storedCount = (alias: ModelAlias, categoryCount: number): number =>
  hasGuardModel(alias) ? 2 * categoryCount : categoryCount;

/** A verdict as caches hold it: its scores, and after them for aliases with guard models a number for each score's type. */
export const toStored = ({ scores, scoreTypes }: Required<TypedScores>, alias: ModelAlias): CategoryScores =>
  hasGuardModel(alias) ? [...scores, ...scoreTypes.map((type) => TYPE_NUMBERS[type])] : scores;

/** The verdict in the numbers that a cache holds. */
export const fromStored = (numbers: CategoryScores, categoryCount: number): TypedScores =>
  numbers.length === categoryCount
    ? { scores: numbers }
    : {
        scores: numbers.slice(0, categoryCount),
        scoreTypes: numbers.slice(categoryCount).map((number) => TYPES[Math.round(number * 2)] ?? 'binary'),
      };

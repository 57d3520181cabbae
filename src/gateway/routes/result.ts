import type { ScoreType } from '../judge/types.ts';
import { CATEGORIES, type CategoryScores } from '../policy/categories.ts';
import { ownCategories, type Policy } from '../policy/policy.ts';

/** One input's result in OpenAI's shape, as JSON, and whether it is flagged. */
type WrittenResult = { readonly isFlagged: boolean; readonly json: string };

/** What was judged of an input. */
type JudgedTypes = { readonly text: boolean; readonly image: boolean };

/**
 * Writes a result: always all 13 categories, and beside them the operator's own where the policy has any, and how each score came
 * about where guard models judge.
 */
type WriteResult = (scores: CategoryScores, judged: JudgedTypes, scoreTypes?: readonly ScoreType[]) => WrittenResult;

const typesJson = (judged: JudgedTypes): string => {
  const textOnly = judged.text ? ['text'] : [];
  const withImage = judged.image ? [...textOnly, 'image'] : textOnly;
  return JSON.stringify(
    Object.fromEntries(CATEGORIES.map(({ name, images }) => [name, images ? withImage : textOnly])),
  );
};

/** By whether text and images were judged. */
const TYPES = [false, true].map((text) => [false, true].map((image) => typesJson({ text, image })));

const isAllZero = (scores: CategoryScores, count: number): boolean =>
  scores.length === count && scores.every((score) => score === 0);

/** Creates the writer of the member with the operator's own categories; undefined where the policy has none. */
const createOwnWriter = (policy: Policy): ((scores: CategoryScores) => WrittenResult) | undefined => {
  const own = ownCategories(policy);
  if (own.length === 0) return undefined;
  return (scores) => {
    const table = own.map(({ name, threshold }, index) => {
      const score = scores[CATEGORIES.length + index];
      if (score === undefined) throw new TypeError(`No score for ${name}`);
      return { name, flagged: score >= threshold, score };
    });
    const members = table.map(({ name, ...values }) => `${JSON.stringify(name)}:${JSON.stringify(values)}`);
    return { isFlagged: table.some(({ flagged }) => flagged), json: `,"x_categories":{${members.join(',')}}` };
  };
};

/**
 * Creates the writer of results by a policy. It joins texts that are made once: an object of four tables for
 * `JSON.stringify` would take four times as long, and as many objects, for every input.
 */
export const createResultWriter = (policy: Policy): WriteResult => {
  const columns = policy.categories.slice(0, CATEGORIES.length).map(({ name, threshold }) => ({
    name,
    threshold,
    label: `${JSON.stringify(name)}:`,
  }));
  const writeOwn = createOwnWriter(policy);
  const writeTypes = (scoreTypes: readonly ScoreType[] | undefined): string =>
    scoreTypes === undefined
      ? ''
      : `,"x_score_types":${JSON.stringify(Object.fromEntries(policy.categories.map(({ name }, index) => [name, scoreTypes[index]])))}`;
  const write: WriteResult = (scores, judged, scoreTypes) => {
    let isFlagged = false;
    let flags = '';
    let numbers = '';
    let comma = '';
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index];
      const score = scores[index];
      if (column === undefined || score === undefined) throw new TypeError(`No score for ${column?.name}`);
      const isOver = score >= column.threshold;
      isFlagged ||= isOver;
      flags += `${comma}${column.label}${isOver}`;
      numbers += `${comma}${column.label}${score}`;
      comma = ',';
    }
    // The same numbers twice: once under the name in our specification.
    const tables = `"categories":{${flags}},"category_scores":{${numbers}},"scores":{${numbers}}`;
    const applied = TYPES[Number(judged.text)]?.[Number(judged.image)];
    const own = writeOwn?.(scores);
    isFlagged ||= own?.isFlagged === true;
    return {
      isFlagged,
      json: `{"flagged":${isFlagged},${tables},"category_applied_input_types":${applied}${own?.json ?? ''}${writeTypes(scoreTypes)}}`,
    };
  };
  const zeros = policy.categories.map(() => 0);
  const clean = [false, true].map((text) => [false, true].map((image) => write(zeros, { text, image })));
  // Most texts have a score of zero in every category.
  return (scores, judged, scoreTypes) =>
    (scoreTypes === undefined && isAllZero(scores, policy.categories.length)
      ? clean[Number(judged.text)]?.[Number(judged.image)]
      : undefined) ?? write(scores, judged, scoreTypes);
};

/** The body of an answer, from its results. */
export const moderationJson = (id: string, model: string, results: readonly WrittenResult[]): string =>
  `{"id":${JSON.stringify(id)},"model":${JSON.stringify(model)},"results":[${results.map(({ json }) => json).join(',')}]}`;

/** The scores of an input without a verdict: every score is 1, whatever the thresholds. */
export const flaggedScores = ({ categories }: Policy): CategoryScores => categories.map(() => 1);

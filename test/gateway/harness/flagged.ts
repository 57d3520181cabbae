import * as assert from 'uvu/assert';
import { eachCategory, errorOf, resultsOf } from './read-answer.ts';

/** Shows that an answer flags everything in every way, and says how many results it has and why. */
export const flaggedOf = async (
  response: Response,
): Promise<{ readonly reason: string | null; readonly results: number }> => {
  const results = await resultsOf(response);
  for (const result of results) {
    assert.equal(result, {
      flagged: true,
      categories: eachCategory(true),
      category_scores: eachCategory(1),
      scores: eachCategory(1),
      category_applied_input_types: eachCategory<string[]>([]),
    });
  }
  assert.is(response.headers.get('x-moderation-backend-model'), null, 'nobody judged');
  return { reason: response.headers.get('x-moderation-no-verdict'), results: results.length };
};

/** What became of a request without a verdict, in one text: `502 backend_error`, or `flagged backend_error`. */
export const unjudgedOutcomeOf = async (response: Response): Promise<string> => {
  if (response.status === 200) return `flagged ${(await flaggedOf(response)).reason}`;
  const { status, code } = await errorOf(response);
  return `${status} ${code}`;
};

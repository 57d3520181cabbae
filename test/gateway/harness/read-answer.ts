import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { ErrorAnswer, ModerationAnswer } from '../../../src/gateway/openapi.ts';
import { CATEGORIES, type CategoryName } from '../../../src/gateway/policy/categories.ts';

/** What an error answer says, once it is shown to be what `/openapi.json` promises and no more. */
export const errorOf = async (response: Response) => {
  const text = await response.text();
  const body: unknown = JSON.parse(text);
  const parsed = v.parse(ErrorAnswer, body);
  assert.equal(parsed, body, 'an error holds nothing but the four members');
  assert.ok(new TextEncoder().encode(text).length <= 512, 'an error is at most 512 bytes');
  assert.is(response.headers.get('content-type'), 'application/json');
  const { headers, status } = response;
  const [retryAfter, shouldRetry] = [headers.get('retry-after'), headers.get('x-should-retry')];
  return { status, ...parsed.error, retryAfter, shouldRetry };
};

/** The results of an answer that holds verdicts, shown to be what `/openapi.json` promises and no more. */
export const resultsOf = async (response: Response) => {
  const body: unknown = await response.json();
  assert.is(response.status, 200, JSON.stringify(body));
  const parsed = v.parse(ModerationAnswer, body);
  assert.equal(parsed, body, 'an answer holds nothing but what is described');
  return parsed.results;
};

/** Status and code in one word, for tables: `200` or `400 invalid_json`. */
export const outcomeOf = async (response: Response): Promise<string> => {
  if (response.status === 200) {
    await resultsOf(response);
    return '200';
  }
  const { status, code } = await errorOf(response);
  return `${status} ${code}`;
};

/** A number for every category: `rest` but for those given. */
export const eachCategory = <T>(rest: T, given: Partial<Record<CategoryName, T>> = {}): Record<string, T> => ({
  ...Object.fromEntries(CATEGORIES.map(({ name }) => [name, rest])),
  ...given,
});

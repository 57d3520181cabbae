/** Which values a query parameter accepts, as text. `expected` goes into the error message. */
type QueryRule = {
  readonly expected: string;
  readonly accepts: (text: string) => boolean;
};

export type QueryRules = Readonly<Record<string, QueryRule>>;

const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

export const wholeNumberRule = (least: number, most: number): QueryRule => ({
  expected: `a whole number from ${least} to ${most}`,
  accepts: (text) => NUMBER.test(text) && Number(text) >= least && Number(text) <= most,
});

export const oneOfRule = (...words: readonly string[]): QueryRule => ({
  expected: words.join(' | '),
  accepts: (text) => words.includes(text),
});

export const patternRule = (pattern: RegExp, expected: string): QueryRule => ({
  expected,
  accepts: (text) => pattern.test(text),
});

export const FLAG = oneOfRule('true', 'false');
export const ID = wholeNumberRule(1, Number.MAX_SAFE_INTEGER);
/** A platform, a status or another of the relay's own words, whose list grows from release to release. */
export const WORD = patternRule(/^[a-z][a-z0-9_-]{0,31}$/, 'a word of lower-case letters, digits, - and _');
export const MODEL = patternRule(/^[A-Za-z0-9._:/-]{1,100}$/, 'a model name of letters, digits and . _ : / -');

/** The relay silently replaces a page_size outside its range by 20, so ours stays inside the range. */
export const PAGES: QueryRules = { page: wholeNumberRule(1, 10_000), page_size: wholeNumberRule(1, 100) };
export const SORT_ORDER: QueryRules = { sort_order: oneOfRule('asc', 'desc') };

const DATE = patternRule(/^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a date such as 2026-01-31');
const TIME_ZONE = patternRule(
  /^(?=.{1,64}$)[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/,
  'a zone such as Asia/Tokyo',
);
export const ZONE: QueryRules = { timezone: TIME_ZONE };
export const DATES: QueryRules = { start_date: DATE, end_date: DATE, ...ZONE };
export const GRANULARITY: QueryRules = { granularity: oneOfRule('day', 'hour') };
export const LIMIT: QueryRules = { limit: wholeNumberRule(1, 50) };
export const PARTIES: QueryRules = { user_id: ID, api_key_id: ID, account_id: ID, group_id: ID };

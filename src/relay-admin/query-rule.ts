/** What a query parameter takes, as text; `expected` is for whoever got it wrong. */
export type QueryRule = {
  readonly expected: string;
  readonly accepts: (text: string) => boolean;
};

export type QueryRules = Readonly<Record<string, QueryRule>>;

const NUMBER = /^(?:0|[1-9]\d{0,15})$/;

export const wholeNumber = (least: number, most: number): QueryRule => ({
  expected: `a whole number from ${least} to ${most}`,
  accepts: (text) => NUMBER.test(text) && Number(text) >= least && Number(text) <= most,
});

export const oneOf = (...words: readonly string[]): QueryRule => ({
  expected: words.join(' | '),
  accepts: (text) => words.includes(text),
});

export const matching = (pattern: RegExp, expected: string): QueryRule => ({
  expected,
  accepts: (text) => pattern.test(text),
});

export const FLAG = oneOf('true', 'false');
export const ID = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** A word of the relay's own, such as a platform or a status, whose list grows from release to release. */
export const WORD = matching(/^[a-z][a-z0-9_-]{0,31}$/, 'a word of lower-case letters, digits, - and _');
export const MODEL = matching(/^[A-Za-z0-9._:/-]{1,100}$/, 'a model name of letters, digits and . _ : / -');

/** The relay takes a page_size it does not like for 20 without a word, so ours stays where it is honoured. */
export const PAGES: QueryRules = { page: wholeNumber(1, 10_000), page_size: wholeNumber(1, 100) };
export const SORT_ORDER: QueryRules = { sort_order: oneOf('asc', 'desc') };

const DATE = matching(/^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a date such as 2026-01-31');
const TIME_ZONE = matching(
  /^(?=.{1,64}$)[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/,
  'a zone such as Asia/Tokyo',
);
export const ZONE: QueryRules = { timezone: TIME_ZONE };
export const DATES: QueryRules = { start_date: DATE, end_date: DATE, ...ZONE };
export const GRANULARITY: QueryRules = { granularity: oneOf('day', 'hour') };
export const LIMIT: QueryRules = { limit: wholeNumber(1, 50) };
export const PARTIES: QueryRules = { user_id: ID, api_key_id: ID, account_id: ID, group_id: ID };

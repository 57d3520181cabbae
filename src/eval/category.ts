/** The 13 categories of OpenAI's moderation API, in its order and under the names its answers use. */
export const EVAL_CATEGORIES = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const;

export type EvalCategory = (typeof EVAL_CATEGORIES)[number];

/** What a text can be labelled: a category, or `flagged` for any of them. */
export type Label = EvalCategory | 'flagged';

/** The short names of OpenAI's evaluation set of 2022. They count in capitals only: `s` or `h` may be anything. */
const SHORT_NAMES: readonly (readonly [string, EvalCategory])[] = [
  ['S', 'sexual'],
  ['H', 'hate'],
  ['V', 'violence'],
  ['HR', 'harassment'],
  ['SH', 'self-harm'],
  ['S3', 'sexual/minors'],
  ['H2', 'hate/threatening'],
  ['V2', 'violence/graphic'],
];

const plain = (name: string): string =>
  name
    .trim()
    .toLowerCase()
    .replace(/[\s/_-]+/g, '-');

const BY_SHORT_NAME = new Map(SHORT_NAMES);
const BY_PLAIN_NAME = new Map(EVAL_CATEGORIES.map((category) => [plain(category), category]));

/** The category a name stands for. `Self_Harm`, `self-harm` and the short `SH` are one. */
const categoryFor = (name: string): EvalCategory | undefined =>
  BY_SHORT_NAME.get(name.trim()) ?? BY_PLAIN_NAME.get(plain(name));

/** The label a name stands for; `flagged` and `label` both stand for the whole. */
export const labelFor = (name: string): Label | undefined =>
  /^\s*(?:flagged|label)\s*$/i.test(name) ? 'flagged' : categoryFor(name);

/** The names worth suggesting to someone who mistyped one. */
export const LABEL_NAMES: readonly string[] = ['flagged', ...EVAL_CATEGORIES];

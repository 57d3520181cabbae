import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import { EVAL_CATEGORIES } from './category.ts';
import { EvaluationError } from './errors.ts';
import { Gateway } from './gateway.ts';

export const EvalScores = v.object(
  v.entriesFromList(EVAL_CATEGORIES, v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
);
export type EvalScores = v.InferOutput<typeof EvalScores>;

/** The verdict of the gateway on one text: all 13 scores, which of them it flagged, and whether any category, an own one included. */
export type EvalVerdict = {
  readonly scores: EvalScores;
  readonly categories: readonly (typeof EVAL_CATEGORIES)[number][];
  readonly flagged: boolean;
};

const base = { id: v.string(), hash: v.string(), ms: v.number() };

/** The alias that was asked for. */
const AskedFor = v.object({ model: v.string() });
export type AskedFor = Readonly<v.InferOutput<typeof AskedFor>>;
const JudgedResult = v.object({
  ...base,
  status: v.literal('judged'),
  flagged: v.boolean(),
  categories: v.array(v.picklist(EVAL_CATEGORIES)),
  scores: EvalScores,
  gateway: Gateway,
  /** Undefined where the gateway does not say. */
  cache: v.optional(v.picklist(['hit', 'miss'])),
  /** How the scores came about, in the gateway's words: judged, probability, binary. */
  scoreType: v.optional(v.string()),
  asked: AskedFor,
});
const Failed = v.object({ ...base, status: v.literal('error'), code: v.string() });
const Line = v.union([JudgedResult, Failed]);

/** One line of the results file. It holds no text: `hash` stands for text and model. */
export type JudgedResult = Readonly<v.InferOutput<typeof JudgedResult>>;
type Failed = Readonly<v.InferOutput<typeof Failed>>;
export type Result = JudgedResult | Failed;

/** How every line of ours begins; a file whose torn end begins otherwise is not ours to cut. */
const OPENING = '{"id":';

/** One line of the results file, with its line break. */
export const formatLine = ({ id, ...rest }: Result): string => `${JSON.stringify({ id, ...rest })}\n`;

const notOurs = (source: string, line: number) =>
  new EvaluationError(`${source} line ${line}: expected a result of an earlier run; give another file`);

/** What an earlier run left: verdicts of one gateway by hash, how many are of others, and how much is whole. */
type EarlierResults = {
  readonly judged: ReadonlyMap<string, JudgedResult>;
  readonly unused: number;
  readonly wholeBytes: number;
};

/**
 * Reads a results file. Errors are left out, so that they are tried again; a last line torn in the writing is left out
 * too. Anything that is no result is an `EvaluationError`: the file may be somebody's. `source`: the flag and the file, for that.
 * Without `url` every gateway's count.
 */
export const parseEarlierResults = (text: string, source: string, url?: string): EarlierResults => {
  const lines = text.split('\n');
  const torn = lines.pop() ?? '';
  const judged = new Map<string, JudgedResult>();
  let unused = 0;
  for (const [index, line] of lines.entries()) {
    const result = parseJson(Line, line);
    if (result === undefined) throw notOurs(source, index + 1);
    if (result.status === 'error') continue;
    if ((url ?? result.gateway.url) === result.gateway.url) judged.set(result.hash, result);
    else unused += 1;
  }
  if (!torn.startsWith(OPENING.slice(0, torn.length))) throw notOurs(source, lines.length + 1);
  const whole = text.slice(0, text.length - torn.length);
  return { judged, unused, wholeBytes: new TextEncoder().encode(whole).length };
};

/** Stands for a text as judged by a model, so that an edited row is judged again and the text cannot be read from it. */
export const hashOf = async (text: string, model: string): Promise<string> => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${model}\0${text}`));
  return [...new Uint8Array(digest).subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
};

/** Where results are kept; `append` returns once a line would outlive us. */
export type ResultsFile = { readonly append: (line: string) => void; readonly close: () => void };

/** Results on their way to a file. */
type ResultsWriter = { readonly add: (result: Result) => void; readonly close: () => void };

/** Opens the file at the first verdict and holds errors back until then: a run without one changes no file. */
export const createResultsWriter = (open: () => ResultsFile): ResultsWriter => {
  let file: ResultsFile | undefined;
  let held = '';
  return {
    add(result) {
      held += formatLine(result);
      if (result.status === 'judged') file ??= open();
      if (file === undefined) return;
      file.append(held);
      held = '';
    },
    close: () => file?.close(),
  };
};

import * as v from 'valibot';
import {
  CommaList,
  ConfigError,
  isBaseUrl,
  nearestName,
  readVariables,
  type Variables,
  WholeNumber,
  withoutVersionPath,
} from '../core/config.ts';
import { LABEL_NAMES } from './category.ts';
import { EvaluationError } from './errors.ts';

type Flag = { readonly name: string; readonly value?: string; readonly help: readonly string[] };

const DEFAULT_URL = 'http://127.0.0.1:8000';

/** Every flag of the command; one without `value` is a switch. */
export const FLAGS: readonly Flag[] = [
  { name: 'file', value: 'PATH', help: ['labelled rows, .jsonl or .csv with a header (required)'] },
  { name: 'url', value: 'URL', help: [`where the gateway answers (${DEFAULT_URL})`] },
  { name: 'key', value: 'KEY', help: ['a key of the gateway (the variable MODERATION_API_KEY)'] },
  { name: 'model', value: 'NAME', help: ['the model to ask for (moderation-fast)'] },
  { name: 'text-field', value: 'NAME', help: ['the field with the text (text, else prompt)'] },
  { name: 'id-field', value: 'NAME', help: ['the field that names a row (id, else the line number)'] },
  { name: 'group-field', value: 'NAME', help: ['the field that says of what kind a row is, for the page (group)'] },
  {
    name: 'labels',
    value: 'LIST',
    help: ['which labels count, by comma (all that are found):', 'names of labels, or field=label'],
  },
  { name: 'concurrency', value: 'N', help: ['requests at a time, 1 to 256 (4)'] },
  { name: 'limit', value: 'N', help: ['read only the first N rows'] },
  { name: 'out', value: 'PATH', help: ['where results are kept (FILE.MODEL.results.jsonl)'] },
  { name: 'fresh', help: ['throw the results of earlier runs away'] },
  { name: 'report', value: 'PATH', help: ['write a page with figures, .html: one file, without scripts'] },
  {
    name: 'compare',
    value: 'PATH',
    help: ['results of an earlier run over the same file, for the page', '(of another alias, policy or gateway)'],
  },
  {
    name: 'suggest-thresholds',
    value: 'PATH',
    help: ['write a policy file, .json, whose thresholds reach --target'],
  },
  {
    name: 'target',
    value: 'LIST',
    help: ['precision=0.9 or recall=0.9 (precision=0.9), by comma also of', 'one category: hate:recall=0.95'],
  },
  { name: 'json', help: ['print the report as one JSON object'] },
  { name: 'timeout-ms', value: 'N', help: ['how long to wait for one answer (30000)'] },
  { name: 'help', help: ['print this'] },
];

const usageOf = ({ name, value, help }: Flag): string =>
  help
    .map(
      (line, index) =>
        `  ${(index > 0 ? '' : `--${name}${value === undefined ? '' : ` ${value}`}`).padEnd(19)} ${line}`,
    )
    .join('\n');

/** What `--help` prints. */
export const HELP = `gatehouse eval --file data.jsonl [options]

Sends a labelled file through a running gateway and prints precision, recall, F1 and
average precision (AUPRC) per category and overall. A run that was stopped goes on where
it stopped; rows that ended in an error are tried again. Results hold scores and hashes,
never texts; those of another --url are not used, and the run ends when the backend
model or policy is no longer the one that judged them.

${FLAGS.map(usageOf).join('\n')}

Labels may be fields of their own, an object or a list in "labels" or "categories", or
one overall "flagged" or "label". Values: true, false, 1, 0, safe, unsafe; empty or null
is unknown and left out. Known labels:
  ${LABEL_NAMES.slice(0, 7).join(', ')},
  ${LABEL_NAMES.slice(7).join(', ')}
and the short S, H, V, HR, SH, S3, H2, V2 of OpenAI's set of 2022.

Exit codes: 0 no errors, 1 nothing to report, 2 some rows ended in errors, 130 interrupted.
`;

/** A word of the command line, as a reader of flags took it. */
type Token =
  | { readonly kind: 'positional' | 'option-terminator'; readonly index: number }
  | {
      readonly kind: 'option';
      readonly name: string;
      readonly rawName: string;
      readonly value: string | undefined;
      readonly inlineValue: boolean | undefined;
    };

/** What each flag was given; the last one counts. Values are never quoted in an error: one may be a key. */
export const parseArguments = (tokens: readonly Token[]): Variables => {
  const given: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind !== 'option') throw new EvaluationError(`word ${token.index + 1}: expected a flag; see --help`);
    const flag = FLAGS.find(({ name }) => name === token.name);
    if (flag === undefined) {
      const nearest = nearestName(
        token.name,
        FLAGS.map(({ name }) => name),
      );
      throw new EvaluationError(`unknown flag ${token.rawName.slice(0, 40)}, the nearest known is --${nearest}`);
    }
    const hasValue = token.value !== undefined && (token.inlineValue === true || !token.value.startsWith('--'));
    if (hasValue !== (flag.value !== undefined)) {
      throw new EvaluationError(
        `--${flag.name}: expected ${flag.value === undefined ? 'no value' : `a value, ${flag.value}`}`,
      );
    }
    given[`--${flag.name}`] = token.value ?? 'on';
  }
  return given;
};

const Url = v.pipe(
  v.string(),
  v.trim(),
  v.check(isBaseUrl, 'expected http(s)://host:port, without a user, a query or a fragment'),
  v.transform(withoutVersionPath),
);

const Options = v.object({
  '--file': v.pipe(
    v.optional(v.string(), ''),
    v.regex(/\.(?:jsonl|ndjson|csv)$/i, 'expected a path that ends in .jsonl, .ndjson or .csv'),
  ),
  '--url': v.optional(Url, DEFAULT_URL),
  '--key': v.pipe(
    v.optional(v.string(), ''),
    v.trim(),
    v.regex(/^[\x21-\x7e]+$/, 'expected a key of the gateway, here or in the variable MODERATION_API_KEY'),
  ),
  '--model': v.optional(v.string(), 'moderation-fast'),
  '--text-field': v.optional(v.string()),
  '--id-field': v.optional(v.string()),
  '--group-field': v.optional(v.string()),
  '--labels': v.optional(CommaList),
  '--concurrency': v.optional(WholeNumber(1, 256), '4'),
  '--limit': v.optional(WholeNumber(1, 1_000_000_000)),
  '--out': v.optional(v.string()),
  '--fresh': v.optional(v.string()),
  '--report': v.optional(v.pipe(v.string(), v.regex(/\.html?$/i, 'expected a path that ends in .html'))),
  '--compare': v.optional(v.string()),
  '--suggest-thresholds': v.optional(v.pipe(v.string(), v.regex(/\.json$/i, 'expected a path that ends in .json'))),
  '--target': v.optional(CommaList),
  '--json': v.optional(v.string()),
  '--timeout-ms': v.optional(WholeNumber(1, 600_000), '30000'),
});

/** Flags that would be ignored in silence where another one is missing. */
const ONLY_WITH = [
  ['--compare', '--report'],
  ['--target', '--suggest-thresholds'],
] as const;

/** The options of the command, complete and within bounds. */
export type Options = ReturnType<typeof resolveOptions>;

/** Reads flags and their texts; all that is wrong comes at once, as a `ConfigError` that names flags and no values. */
export const resolveOptions = (given: Variables) => {
  const read = readVariables(Options, given);
  const idle = ONLY_WITH.filter(([name, needed]) => read[name] !== undefined && read[needed] === undefined);
  if (idle.length > 0) throw new ConfigError(idle.map(([name, needed]) => `${name}: has no effect without ${needed}`));
  const file = read['--file'];
  const model = read['--model'];
  return {
    file,
    model,
    url: read['--url'],
    key: read['--key'],
    textField: read['--text-field'],
    idField: read['--id-field'],
    groupField: read['--group-field'],
    labels: read['--labels'],
    concurrency: read['--concurrency'],
    limit: read['--limit'] ?? Number.POSITIVE_INFINITY,
    out: read['--out'] ?? `${file}.${model.replace(/[^\w.-]+/g, '_')}.results.jsonl`,
    report: read['--report'],
    compare: read['--compare'],
    policyOut: read['--suggest-thresholds'],
    targets: read['--target'] ?? [],
    isFresh: read['--fresh'] !== undefined,
    asJson: read['--json'] !== undefined,
    timeoutMs: read['--timeout-ms'],
  };
};

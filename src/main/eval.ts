import { basename, dirname } from 'node:path';
import type { WriteStream } from 'node:tty';
import { parseArgs } from 'node:util';
import { systemClock } from '../adapter/node/clock.ts';
import { STOP_SIGNALS } from '../adapter/node/signals.ts';
import type { Clock } from '../core/clock.ts';
import { ConfigError, type Variables } from '../core/config.ts';
import {
  createProgressBar,
  createProgressLines,
  FileError,
  isDirectory,
  openResultsFile,
  readIfExists,
  readTable,
  readText,
  writeWhole,
} from '../eval/adapter/files.ts';
import { createVerdictRequester } from '../eval/ask.ts';
import { parseLabelChoices } from '../eval/choice.ts';
import { EvaluationError } from '../eval/errors.ts';
import { type Evaluation, evaluate } from '../eval/evaluate.ts';
import { parseTargets, policyFileText, suggestThresholds } from '../eval/figures/suggestions.ts';
import { type EvalItem, parseItems } from '../eval/labels.ts';
import { FLAGS, HELP, type Options, parseArguments, resolveOptions } from '../eval/options.ts';
import { suggestionLines } from '../eval/report/suggestion-section.ts';
import { formatCount, reportJson, reportText, warningsOf } from '../eval/report/text.ts';
import { parseEarlierResults, type Result } from '../eval/result.ts';
import { jsonRows, tableRows } from '../eval/row.ts';
import { type ComparedRun, comparedRun, joinRuns } from '../eval/runs.ts';
import { readTokenCounts, type TokenCounts, tokensBetween } from '../eval/tokens.ts';

/** Monotonic and finer than a millisecond, for latencies. */
const clock: Clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

const TYPES = Object.fromEntries(
  FLAGS.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
);

/** Where the command writes, and what it is given beside its arguments. `terminal` is undefined where output is not a terminal. */
type Surroundings = {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly terminal: WriteStream | undefined;
  readonly variables: Variables;
};

const ofProcess = (): Surroundings => ({
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  variables: process.env,
});

type Judged = { readonly evaluation: Evaluation; readonly results: ReadonlyMap<string, Result> };

const itemsOf = ({ file, limit, labels, textField, idField, groupField }: Options): AsyncIterable<EvalItem> => {
  const rows = /\.csv$/i.test(file) ? tableRows(readTable(file), file) : jsonRows(readText(file), file);
  return parseItems(rows, { textField, idField, groupField, choices: labels && parseLabelChoices(labels) }, limit);
};

const isReported = ({ report, policyOut }: Options): boolean => report !== undefined || policyOut !== undefined;

const evaluateFile = async (
  options: Options,
  { writeError, terminal }: Surroundings,
  signal: AbortSignal,
): Promise<Judged> => {
  const { url, key, model, concurrency, timeoutMs, out, isFresh } = options;
  // Read even when it is to be thrown away: a file that holds something else is not ours to clear.
  const found = parseEarlierResults((await readIfExists(out)) ?? '', `--out ${out}`, url);
  const earlier = isFresh ? parseEarlierResults('', out, url) : found;
  if (earlier.unused > 0) {
    writeError(
      `${formatCount(earlier.unused, 'result')} in ${out} not used: of another --url, or of an older version\n`,
    );
  }
  const results = new Map<string, Result>(earlier.judged);
  const evaluation = await evaluate({
    url,
    asked: { model },
    concurrency,
    items: () => itemsOf(options),
    earlier: earlier.judged,
    openResults: () => openResultsFile(out, earlier.wholeBytes),
    ask: createVerdictRequester({ url, key, model, timeoutMs, fetcher: fetch, clock }),
    clock,
    signal,
    progress: terminal === undefined ? createProgressLines(writeError, clock) : createProgressBar(terminal),
    // Nothing of a row is held that no report needs.
    ...(isReported(options) ? { onResult: (result: Result) => void results.set(result.hash, result) } : {}),
  });
  return { evaluation, results };
};

/** Reads what is needed beside the rows, before anything is asked: a mistake in it must not cost a run. */
const prepare = async ({ file, out, report, compare, policyOut, targets }: Options) => {
  // Results are written from the first verdict on, the others at the end of a run. By default results are beside the file.
  const written = { '--out': out, '--report': report, '--suggest-thresholds': policyOut };
  for (const [flag, path] of Object.entries(written))
    if (path !== undefined && dirname(path) !== dirname(file) && !(await isDirectory(dirname(path))))
      throw new EvaluationError(`${flag}: expected a path in a directory that exists, ${dirname(path)} is none`);
  if (policyOut !== undefined && (await readIfExists(policyOut)) !== undefined)
    throw new EvaluationError(`--suggest-thresholds: ${policyOut} is there already; give another path or remove it`);
  const page = report === undefined ? undefined : await import('../eval/report/page.ts');
  const before = report === undefined ? undefined : await readIfExists(report);
  if (page !== undefined && before !== undefined && !before.startsWith(page.REPORT_OPENING))
    throw new EvaluationError(`--report: ${report} is no report of an earlier run; give another path`);
  const compared = compare === undefined ? undefined : await readComparedRun(compare);
  return { page, compared, targets: parseTargets(targets) };
};

const readComparedRun = async (file: string): Promise<ComparedRun> => {
  const text = await readIfExists(file);
  if (text === undefined) throw new EvaluationError(`--compare: expected a results file, found none at ${file}`);
  return comparedRun(parseEarlierResults(text, `--compare ${file}`).judged, file);
};

/** Writes the page and the policy that were asked for. */
const writeReport = async (
  options: Options,
  { page, compared, targets }: Awaited<ReturnType<typeof prepare>>,
  { evaluation, results }: Judged,
  tokens: TokenCounts | undefined,
  writeError: Surroundings['writeError'],
): Promise<void> => {
  const { file, model, report, policyOut } = options;
  if (!isReported(options)) return;
  const runs = [{ asked: { model }, results }, ...(compared === undefined ? [] : [compared])];
  const { setHash, rows, observations } = await joinRuns(itemsOf(options), runs);
  const [own = [], other = []] = observations;
  const suggestions = policyOut === undefined ? [] : suggestThresholds(own, targets);
  if (policyOut !== undefined && suggestions.length === 0) {
    writeError(`no category has labels, so no threshold is suggested and ${policyOut} is not written\n`);
  } else if (policyOut !== undefined) {
    await writeWhole(policyOut, await policyFileText(suggestions, { policy: evaluation.policy, setHash }));
    writeError(
      `${policyOut} (thresholds alone: guidance and own categories of the policy that judged are not in it):\n${suggestionLines(
        suggestions,
      )
        .map((line) => `  ${line}\n`)
        .join('')}`,
    );
  }
  if (report === undefined || page === undefined) return;
  const { backendModel, policy, judged, reused } = evaluation;
  const content = {
    file: basename(file),
    setHash,
    rows,
    runs: [
      { model, backendModel, policy, observations: own },
      ...(compared === undefined ? [] : [{ ...compared.setup, observations: other }]),
    ],
    warnings: warningsOf(evaluation),
    tokens: tokens && { ...tokens, rows: judged - reused },
    suggestions,
    madeAt: new Date(clock.now()),
  };
  await writeWhole(report, page.reportPage(content));
  writeError(`the report is in ${report}\n`);
};

const report = async (options: Options, surroundings: Surroundings): Promise<number> => {
  const { write, writeError } = surroundings;
  const stop = new AbortController();
  // Taken once: a second signal has no handler and ends the program at once.
  const interrupt = () => {
    writeError('\nfinishing the running requests; press again to stop at once\n');
    stop.abort();
  };
  for (const signal of STOP_SIGNALS) process.once(signal, interrupt);
  try {
    const prepared = await prepare(options);
    const { file, model, url } = options;
    const counts = () => (prepared.page === undefined ? undefined : readTokenCounts(url, fetch));
    const before = await counts();
    const judged = await evaluateFile(options, surroundings, stop.signal);
    const { evaluation } = judged;
    write((options.asJson ? reportJson : reportText)(evaluation, { file, model, url }));
    await writeReport(options, prepared, judged, tokensBetween(before, await counts()), writeError);
    return evaluation.interrupted ? 130 : evaluation.errors.count > 0 ? 2 : 0;
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, interrupt);
  }
};

/** Runs `gatehouse eval` and answers with its exit code. Only a bug makes it reject. */
export const runEval = async (words: readonly string[], surroundings = ofProcess()): Promise<number> => {
  try {
    const { tokens } = parseArgs({
      args: [...words],
      options: TYPES,
      strict: false,
      allowPositionals: true,
      tokens: true,
    });
    const given = parseArguments(tokens);
    if (given['--help'] !== undefined) {
      surroundings.write(HELP);
      return 0;
    }
    return await report(resolveOptions({ '--key': surroundings.variables.MODERATION_API_KEY, ...given }), surroundings);
  } catch (error) {
    if (!(error instanceof EvaluationError || error instanceof ConfigError || error instanceof FileError)) throw error;
    for (const problem of error instanceof ConfigError ? error.problems : [error.message]) {
      surroundings.writeError(`gatehouse eval: ${problem}\n`);
    }
    return 1;
  }
};

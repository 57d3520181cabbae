import { parseArgs } from 'node:util';
import {
  createProgressBar,
  createProgressLines,
  FileError,
  openResultsFile,
  readIfExists,
  readTable,
  readText,
} from '../adapter/files/eval.ts';

import { systemClock } from '../adapter/node/clock.ts';
import { STOP_SIGNALS } from '../adapter/node/signals.ts';
import type { Clock } from '../core/clock.ts';
import { ConfigError } from '../core/config.ts';
import { createVerdictRequester, createVerdictsRequester } from '../eval/ask.ts';
import { parseLabelChoices } from '../eval/choice.ts';
import { EvaluationError } from '../eval/errors.ts';
import { type Evaluation, evaluate } from '../eval/evaluate.ts';
import { createGroupedRequester } from '../eval/group.ts';
import { FLAGS, HELP, type Options, parseArguments, resolveOptions } from '../eval/options.ts';
import { formatCount, reportJson, reportText } from '../eval/report.ts';

import { parseEarlierResults } from '../eval/result.ts';
import { jsonRows, tableRows } from '../eval/row.ts';

/** Monotonic and finer than a millisecond, for latencies. */
const clock: Clock = { ...systemClock, now: () => performance.timeOrigin + performance.now() };

const TYPES = Object.fromEntries(
  FLAGS.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
);

const evaluateFile = async (options: Options, signal: AbortSignal): Promise<Evaluation> => {
  const { file, url, key, model, inputs, limit, concurrency, timeoutMs, out, labels, textField, idField, isFresh } =
    options;
  const { stderr } = process;
  // Read even when it is to be thrown away: a file that holds something else is not ours to clear.
  const found = parseEarlierResults((await readIfExists(out)) ?? '', out, url);
  const earlier = isFresh ? parseEarlierResults('', out, url) : found;
  if (earlier.unused > 0) {
    stderr.write(
      `${formatCount(earlier.unused, 'result')} in ${out} not used: of another --url, or of an older version\n`,
    );
  }
  const requestNeeds = { url, key, model, timeoutMs, fetcher: fetch, clock };
  return evaluate({
    url,
    model,
    inputs,
    limit,
    concurrency: concurrency * inputs,
    rows: () => (/\.csv$/i.test(file) ? tableRows(readTable(file), file) : jsonRows(readText(file), file)),
    fields: { textField, idField, choices: labels && parseLabelChoices(labels) },
    earlier: earlier.judged,
    openResults: () => openResultsFile(out, earlier.wholeBytes),
    ask:
      inputs === 1
        ? createVerdictRequester(requestNeeds)
        : createGroupedRequester({ request: createVerdictsRequester(requestNeeds), size: inputs, clock }),
    clock,
    signal,
    progress: stderr.isTTY ? createProgressBar(stderr) : createProgressLines((line) => stderr.write(line), clock),
  });
};

const report = async (options: Options): Promise<number> => {
  const stop = new AbortController();
  // Taken once: a second signal has no handler and ends the program at once.
  const interrupt = () => {
    process.stderr.write('\nfinishing the running requests; press again to stop at once\n');
    stop.abort();
  };
  for (const signal of STOP_SIGNALS) process.once(signal, interrupt);
  try {
    const evaluation = await evaluateFile(options, stop.signal);
    const { file, model, url } = options;
    process.stdout.write((options.asJson ? reportJson : reportText)(evaluation, { file, model, url }));
    return evaluation.interrupted ? 130 : evaluation.errors.count > 0 ? 2 : 0;
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, interrupt);
  }
};

/** Runs `gatehouse eval` and answers with its exit code. Only a bug makes it reject. */
export const runEval = async (words: readonly string[]): Promise<number> => {
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
      process.stdout.write(HELP);
      return 0;
    }
    return await report(resolveOptions({ '--key': process.env.MODERATION_API_KEY, ...given }));
  } catch (error) {
    if (!(error instanceof EvaluationError || error instanceof ConfigError || error instanceof FileError)) throw error;
    for (const problem of error instanceof ConfigError ? error.problems : [error.message]) {
      process.stderr.write(`gatehouse eval: ${problem}\n`);
    }
    return 1;
  }
};

import { EvalProblem } from './eval-problem.ts';
import { type Fields, itemFrom } from './labels.ts';
import { hashOf, type Judged, lineFrom } from './result.ts';
import type { Row } from './row.ts';
import { type HashedItem, type RunNeeds, runItems } from './run.ts';
import { createTally, type Summary } from './tally.ts';

/** Shows how far a run is. */
export type Progress = {
  readonly start: (total: number, done: number) => void;
  readonly advance: (done: number, errors: number) => void;
  readonly stop: () => void;
};

/** Where results are kept; `append` returns once a line would outlive us. */
export type ResultsFile = { readonly append: (line: string) => void; readonly close: () => void };

export type EvaluateNeeds = RunNeeds & {
  /** Reads the file from its start; it is read twice. */
  readonly rows: () => AsyncIterable<Row>;
  readonly fields: Fields;
  readonly model: string;
  readonly limit: number;
  readonly earlier: ReadonlyMap<string, Judged>;
  /** Opened once the file has been found good, so that a bad one neither makes nor clears a results file. */
  readonly openResults: () => ResultsFile;
  readonly progress: Progress;
};

/** What a run came to, and how much of the file it covers. */
export type Evaluation = Summary & {
  readonly rows: number;
  /** Judged in earlier runs and not asked again. */
  readonly reused: number;
  /** Left over because the run was interrupted. */
  readonly notReached: number;
  readonly interrupted: boolean;
};

async function* itemsOf({ rows, fields, model, limit }: EvaluateNeeds): AsyncGenerator<HashedItem> {
  let count = 0;
  for await (const row of rows()) {
    const item = itemFrom(row, fields);
    yield { ...item, hash: await hashOf(item.text, model) };
    count += 1;
    if (count === limit) return;
  }
}

async function* unjudged(needs: EvaluateNeeds): AsyncGenerator<HashedItem> {
  for await (const item of itemsOf(needs)) if (!needs.earlier.has(item.hash)) yield item;
}

/**
 * Judges what earlier runs have not and sums up both. The whole file is read first, so that a bad row or a file without
 * labels costs no calls. Nothing of it is held but numbers.
 */
export const evaluate = async (needs: EvaluateNeeds): Promise<Evaluation> => {
  const tally = createTally();
  let rows = 0;
  let reused = 0;
  let labelled = 0;
  for await (const { known, hash } of itemsOf(needs)) {
    rows += 1;
    if (known.size > 0) labelled += 1;
    const judged = needs.earlier.get(hash);
    if (judged === undefined) continue;
    reused += 1;
    tally.add(known, judged);
  }
  if (rows === 0) throw new EvalProblem('--file: expected at least one row');
  if (labelled === 0) throw new EvalProblem('--file: expected labels, found none in any row; see --labels');

  const results = needs.openResults();
  let done = reused;
  let errors = 0;
  needs.progress.start(rows, done);
  try {
    for await (const { item, result } of runItems(unjudged(needs), needs)) {
      results.append(lineFrom(result));
      tally.add(item.known, result);
      done += 1;
      if (result.status === 'error') errors += 1;
      needs.progress.advance(done, errors);
    }
  } finally {
    needs.progress.stop();
    results.close();
  }
  return { rows, reused, notReached: rows - done, interrupted: needs.signal.aborted, ...tally.summary() };
};

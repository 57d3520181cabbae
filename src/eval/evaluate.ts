import { EvaluationError } from './errors.ts';
import { createSummaryBuilder, type Summary } from './figures/tally.ts';
import { createGatewayCheck, type Gateway, type GatewayCheck } from './gateway.ts';
import type { EvalItem } from './labels.ts';
import { createResultsWriter, hashOf, type JudgedResult, type Result, type ResultsFile } from './result.ts';
import { type HashedItem, type RunNeeds, runItems } from './run.ts';

/** Shows how far a run is. */
export type Progress = {
  readonly start: (total: number, done: number) => void;
  readonly advance: (done: number, errors: number) => void;
  readonly stop: () => void;
};

type EvaluateNeeds = RunNeeds & {
  /** Reads the file from its start; it is read twice. */
  readonly items: () => AsyncIterable<EvalItem>;
  readonly url: string;
  readonly earlier: ReadonlyMap<string, JudgedResult>;
  /** Opened at the first verdict, so that a bad file, address or key neither makes nor clears a results file. */
  readonly openResults: () => ResultsFile;
  readonly progress: Progress;
  /** Gets each new result as it comes. */
  readonly onResult?: (result: Result) => void;
};

/** What a run came to, and how much of the file it covers. */
export type Evaluation = Summary & {
  readonly rows: number;
  /** Judged in earlier runs and not asked again. */
  readonly reused: number;
  /** Left over because the run was interrupted or gave up. */
  readonly notReached: number;
  readonly interrupted: boolean;
  /** Nothing listened any more. */
  readonly gaveUp: boolean;
} & Pick<Gateway, 'backendModel' | 'policy'>;

/** So many requests that fail one after the other mean that the gateway is gone. */
const MOST_UNREACHABLE = 20;

async function* itemsOf({ items, asked }: EvaluateNeeds): AsyncGenerator<HashedItem> {
  for await (const item of items()) yield { ...item, hash: await hashOf(item.text, asked.model) };
}

async function* unjudged(needs: EvaluateNeeds): AsyncGenerator<HashedItem> {
  for await (const item of itemsOf(needs)) if (!needs.earlier.has(item.hash)) yield item;
}

/** Asks for an old verdict once more, which counts nowhere: it shows whether the gateway is still what it was. */
const askAgain = async (item: HashedItem, gateway: GatewayCheck, needs: EvaluateNeeds): Promise<void> => {
  const items = async function* () {
    yield item;
  };
  for await (const { answer } of runItems(items(), needs)) {
    if (answer.kind === 'verdict') gateway.add(answer.gateway);
    else {
      throw new EvaluationError(
        `${needs.url}: no new verdict to compare the earlier results with (${answer.code}); try again`,
      );
    }
  }
};

/**
 * Judges what earlier runs have not and sums up both. The whole file is read first, so that a bad row or a file without
 * labels costs no calls. Nothing of it is held but numbers.
 */
export const evaluate = async (needs: EvaluateNeeds): Promise<Evaluation> => {
  const tally = createSummaryBuilder();
  const gateway = createGatewayCheck();
  let again: HashedItem | undefined;
  let rows = 0;
  let reused = 0;
  let labelled = 0;
  for await (const item of itemsOf(needs)) {
    const { known, hash } = item;
    rows += 1;
    if (known.size > 0) labelled += 1;
    const judged = needs.earlier.get(hash);
    if (judged === undefined) continue;
    reused += 1;
    gateway.add(judged.gateway);
    again ??= item;
    tally.add(known, judged);
  }
  if (rows === 0) throw new EvaluationError('--file: expected at least one row');
  if (labelled === 0) throw new EvaluationError('--file: expected labels, found none in any row; see --labels');

  const results = createResultsWriter(needs.openResults);
  let done = reused;
  let errors = 0;
  let unreachable = 0;
  needs.progress.start(rows, done);
  try {
    for await (const { item, answer, result } of runItems(unjudged(needs), needs)) {
      // Before anything is written or counted: verdicts of two gateways must not be mixed.
      if (answer.kind === 'verdict') gateway.add(answer.gateway);
      results.add(result);
      needs.onResult?.(result);
      tally.add(item.known, result);
      done += 1;
      if (result.status === 'error') errors += 1;
      needs.progress.advance(done, errors);
      unreachable = answer.kind === 'error' && answer.isUnreachable ? unreachable + 1 : 0;
      if (unreachable >= MOST_UNREACHABLE) break;
    }
  } finally {
    needs.progress.stop();
    results.close();
  }
  const gaveUp = unreachable >= MOST_UNREACHABLE;
  if (again !== undefined && !gaveUp && done - errors === reused) await askAgain(again, gateway, needs);
  const { backendModel = null, policy = null } = gateway.known() ?? {};
  const interrupted = needs.signal.aborted;
  return { backendModel, policy, rows, reused, notReached: rows - done, interrupted, gaveUp, ...tally.summary() };
};

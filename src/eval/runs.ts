import { EvaluationError } from './errors.ts';
import type { Observation } from './figures/observation.ts';
import { createGatewayCheck, type Gateway } from './gateway.ts';
import type { EvalItem } from './labels.ts';
import { type AskedFor, hashOf, type JudgedResult, type Result } from './result.ts';

/** What a run asked for, and its results by their hashes. */
export type RunResults = { readonly asked: AskedFor; readonly results: ReadonlyMap<string, Result> };

/** An earlier run that a report shows beside this one. */
export type ComparedRun = RunResults & {
  readonly setup: { readonly model: string } & Pick<Gateway, 'backendModel' | 'policy'>;
};

/** A run as its results file tells it. Throws an `EvaluationError` where it holds several runs, or none. */
export const comparedRun = (results: ReadonlyMap<string, JudgedResult>, file: string): ComparedRun => {
  const gateways = createGatewayCheck();
  let asked: AskedFor | undefined;
  for (const { gateway, asked: askedHere } of results.values()) {
    gateways.add(gateway);
    asked ??= askedHere;
    if (askedHere.model !== asked.model)
      throw new EvaluationError(`--compare: ${file} holds results of several aliases, expected one`);
  }
  const { backendModel = null, policy = null } = gateways.known() ?? {};
  if (asked === undefined) throw new EvaluationError(`--compare: expected results, found none in ${file}`);
  return { asked, results, setup: { model: asked.model, backendModel, policy } };
};

/** A labelled file and what each run made of its rows. */
export type JoinedRuns = {
  /** Stands for texts, ids and labels, in any order: two reports with the same hash are about the same set. */
  readonly setHash: string;
  readonly rows: number;
  /** In the order of the runs. A row that a run has not judged is one without a verdict. */
  readonly observations: readonly (readonly Observation[])[];
};

const SET_HASH_CHARS = 12;

/** Reads the file once more and puts rows and results together. Texts are not kept. */
export const joinRuns = async (items: AsyncIterable<EvalItem>, runs: readonly RunResults[]): Promise<JoinedRuns> => {
  const hashes: string[] = [];
  const observations = runs.map((): Observation[] => []);
  for await (const { id, text, group, known } of items) {
    hashes.push(await hashOf(text, JSON.stringify([id, [...known].sort()])));
    for (const [index, { asked, results }] of runs.entries()) {
      const hash = await hashOf(text, asked.model);
      const result = results.get(hash) ?? { id, hash, status: 'error', code: 'not_judged', ms: 0 };
      observations[index]?.push({ id, chars: text.length, group, known, result });
    }
  }
  const setHash = (await hashOf(hashes.sort().join('\n'), 'set')).slice(0, SET_HASH_CHARS);
  return { setHash, rows: hashes.length, observations };
};

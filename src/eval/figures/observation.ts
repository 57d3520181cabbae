import type { Label } from '../category.ts';
import type { Result } from '../result.ts';
import type { Sample } from './curve.ts';
import { scoreFor } from './tally.ts';

/** A row of the file and what a run made of it. It has no text: its length is all that figures need of one. */
export type Observation = {
  readonly id: string;
  readonly chars: number;
  readonly group?: string | undefined;
  /** A label that is not in it is unknown. */
  readonly known: ReadonlyMap<Label, boolean>;
  readonly result: Result;
};

/** A judged row as seen by one label. */
export type LabelledSample = Sample & { readonly id: string };

/** The judged rows whose label is known. */
export const samplesOf = (label: Label, observations: readonly Observation[]): readonly LabelledSample[] =>
  observations.flatMap(({ id, known, result }) => {
    const isPositive = known.get(label);
    if (isPositive === undefined || result.status === 'error') return [];
    const isFlagged = label === 'flagged' ? result.flagged : result.categories.includes(label);
    return [{ id, score: scoreFor(label, result.scores), isFlagged, isPositive }];
  });

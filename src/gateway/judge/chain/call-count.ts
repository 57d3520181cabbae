import { judgesOf, type ModelAlias } from '../../models.ts';
import { guardCallsPerWindow } from '../guard-model/guard-judge.ts';

type SizeLimits = {
  readonly MAX_INPUTS: number;
  readonly MAX_INPUT_CHARS: number;
  readonly MODERATION_WINDOW_CHARS: number;
};

/** The most calls that the judges of an alias make together about one window. */
const callsPerWindow = (alias: ModelAlias, windowChars: number): number =>
  judgesOf(alias)
    .map(({ judge, model }) => (judge === 'prompt' ? 1 : guardCallsPerWindow(judge, model, windowChars)))
    .reduce((all, calls) => all + calls);

/** The most calls that the largest allowed request needs: of all judges, for two views of each input, and the windows of all its text. */
export const maxCallsPerRequest = (
  { MAX_INPUTS, MAX_INPUT_CHARS, MODERATION_WINDOW_CHARS: windowChars }: SizeLimits,
  limitBytes: number,
  models: ReadonlyMap<string, ModelAlias>,
): number => {
  const perWindow = Math.max(...[...models.values()].map((alias) => callsPerWindow(alias, windowChars)));
  const chars = Math.min(limitBytes, MAX_INPUTS * MAX_INPUT_CHARS);
  // Windows overlap by a tenth at most.
  return perWindow * 2 * (MAX_INPUTS + Math.ceil((2 * chars) / (0.9 * windowChars)));
};

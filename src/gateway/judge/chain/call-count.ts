import { judgesOf, type ModelAlias } from '../../models.ts';
import { guardModelCallsPerWindow } from '../guard-model/judge.ts';

type SizeLimits = {
  readonly MAX_CONCURRENCY: number;
  readonly MAX_INPUTS: number;
  readonly MAX_INPUT_CHARS: number;
  readonly MODERATION_WINDOW_CHARS: number;
};

/** The most calls that the judges of an alias make together about one window. */
const callsPerWindow = (alias: ModelAlias, windowChars: number): number =>
  judgesOf(alias)
    .map(({ judge, model }) => (judge === 'prompt' ? 1 : guardModelCallsPerWindow(judge, model, windowChars)))
    .reduce((all, calls) => all + calls);

/** Calls that may wait for each running one: enough for a burst, few enough that a waiting call still gets an answer. */
const WAITING_PER_RUNNING = 4;

/** The most calls that the largest allowed request needs: of all judges, for two views of each input, and the windows of all its text. */
const maxCallsPerRequest = (
  { MAX_INPUTS, MAX_INPUT_CHARS, MODERATION_WINDOW_CHARS: windowChars }: SizeLimits,
  limitBytes: number,
  models: ReadonlyMap<string, ModelAlias>,
): number => {
  const perWindow = Math.max(...[...models.values()].map((alias) => callsPerWindow(alias, windowChars)));
  const chars = Math.min(limitBytes, MAX_INPUTS * MAX_INPUT_CHARS);
  // Windows overlap by a tenth at most.
  return perWindow * 2 * (MAX_INPUTS + Math.ceil((2 * chars) / (0.9 * windowChars)));
};

/** How many calls may wait: those of the largest request at least. */
export const callQueueLimit = (
  settings: SizeLimits,
  limitBytes: number,
  models: ReadonlyMap<string, ModelAlias>,
): number => Math.max(settings.MAX_CONCURRENCY * WAITING_PER_RUNNING, maxCallsPerRequest(settings, limitBytes, models));

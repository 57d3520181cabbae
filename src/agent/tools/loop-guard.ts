import { canonicalJson } from '../../core/json.ts';

/** What to do with a tool call that repeats itself. */
type LoopDecision = 'run' | 'refuse' | 'stop';

const MAX_EQUAL_RUNS = 3;
const MAX_REFUSALS = 3;

/**
 * Detects, over all steps of a turn, a model that repeats one call. The same call with the same outcome may run three
 * times; after that it is refused with an explanation, and a model that still repeats it is stopped.
 */
export const createLoopGuard = () => {
  const seen = new Map<string, { runs: number; outcome: string | undefined }>();
  let refusals = 0;
  const signatureOf = (name: string, input: unknown): string => canonicalJson([name, input]);
  return {
    /** Counts the call at once: calls that run at the same time must not all count as the first. */
    decide(name: string, input: unknown): LoopDecision {
      const signature = signatureOf(name, input);
      const known = seen.get(signature) ?? { runs: 0, outcome: undefined };
      if (known.runs < MAX_EQUAL_RUNS) {
        seen.set(signature, { ...known, runs: known.runs + 1 });
        return 'run';
      }
      refusals += 1;
      return refusals > MAX_REFUSALS ? 'stop' : 'refuse';
    },
    /** A call with a new outcome was worth making: its count starts again. */
    record(name: string, input: unknown, outcome: string): void {
      const signature = signatureOf(name, input);
      const { runs = 1, outcome: before } = seen.get(signature) ?? {};
      const isNew = before !== undefined && before !== outcome;
      seen.set(signature, { runs: isNew ? 1 : runs, outcome });
    },
  };
};
export type LoopGuard = ReturnType<typeof createLoopGuard>;

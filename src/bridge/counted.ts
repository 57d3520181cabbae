import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import type { AnswerFacts, Meter } from './metrics.ts';
import type { AnswerEnd, Saying } from './turn/output.ts';

export type Counting = {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly startedAt: number;
  readonly endpoint: AnswerFacts['endpoint'];
  readonly isStreamed: boolean;
  /** Hears of an answer that came to its end. */
  readonly onEnd?: (end: AnswerEnd) => void;
};

/** The same sayings, counted when they have ended or their reader has left. */
export async function* counted(sayings: AsyncGenerator<Saying>, counting: Counting): AsyncGenerator<Saying> {
  const { clock, meter, startedAt, endpoint, isStreamed } = counting;
  let firstWordMs: number | undefined;
  let outcome: AnswerFacts['outcome'] = 'left';
  try {
    for await (const saying of sayings) {
      if (saying.kind === 'text') firstWordMs ??= clock.now() - startedAt;
      else if (saying.kind === 'failure') outcome = 'failed';
      else if (saying.kind === 'end') {
        outcome = saying.end.asks.length > 0 ? 'asked' : 'answered';
        counting.onEnd?.(saying.end);
      }
      yield saying;
    }
  } catch (error) {
    if (!(error instanceof Fault && error.detail.kind === 'client-left')) outcome = 'failed';
    throw error;
  } finally {
    meter.answer({ endpoint, isStreamed, outcome, firstWordMs, durationMs: clock.now() - startedAt });
  }
}

import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { AnswerMeasurement, BridgeMetrics } from '../metrics.ts';
import type { AnswerEnd, OutputEvent } from '../output.ts';
import type { PolledOutput } from '../stream/polled-output.ts';

export type MeasurementOptions = {
  readonly clock: Clock;
  readonly meter: Pick<BridgeMetrics, 'recordAnswer'>;
  readonly startedAt: number;
  readonly endpoint: AnswerMeasurement['endpoint'];
  readonly isStreamed: boolean;
  readonly onEnd?: (end: AnswerEnd) => void;
};

/** The same output, measured when it has ended or its reader has stopped. */
export const measureOutput = (
  output: PolledOutput,
  { clock, meter, startedAt, endpoint, isStreamed, onEnd }: MeasurementOptions,
): PolledOutput => {
  let firstWordMs: number | undefined;
  let outcome: AnswerMeasurement['outcome'] = 'left';
  let isRecorded = false;
  const record = (): void => {
    if (isRecorded) return;
    isRecorded = true;
    meter.recordAnswer({ endpoint, isStreamed, outcome, firstWordMs, durationMs: clock.now() - startedAt });
  };
  const measure = (event: OutputEvent): void => {
    if (event.kind === 'text') firstWordMs ??= clock.now() - startedAt;
    else if (event.kind === 'failure') outcome = 'failed';
    else if (event.kind === 'end') {
      outcome = event.end.approvalRequests.length > 0 ? 'asked' : 'answered';
      onEnd?.(event.end);
    }
  };
  return {
    ...output,
    poll() {
      try {
        const event = output.poll();
        if (event !== undefined) measure(event);
        return event;
      } catch (error) {
        if (!(error instanceof Fault && error.detail.kind === 'client-left')) outcome = 'failed';
        throw error;
      }
    },
    stop() {
      output.stop();
      record();
    },
  };
};

import type { OutputEvent } from '../output.ts';
import type { PolledOutput } from './polled-output.ts';

/** Whether an event is a piece of the model's reasoning. */
export const isReasoning = ({ kind }: OutputEvent): boolean => kind === 'reasoning' || kind === 'reasoning-end';

/** The same output without the model's reasoning. Its tokens stay in the usage. */
export const withoutReasoning = (output: PolledOutput): PolledOutput => ({
  ...output,
  poll() {
    for (;;) {
      const event = output.poll();
      if (event === undefined || !isReasoning(event)) return event;
    }
  },
});

import type { Steps } from '../../../src/core/time-slices.ts';
import * as decode from '../../../src/gateway/text/decode.ts';

/** The result of steps that nothing interrupts. */
export const atOnce = <T>(steps: Steps<T>): T => {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
};

/** The views of a text, without a pause. */
export const createViews = (text: string) => atOnce(decode.createViews(text));
/** The decoded text, without a pause. */
export const decodeHidden = (text: string) => atOnce(decode.decodeHidden(text));

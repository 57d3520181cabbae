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
export const createViews = (text: string): readonly string[] => atOnce(decode.createViews(text)).texts;
/** How something was hidden in a text. */
export const findHiding = (text: string): readonly decode.Hiding[] => atOnce(decode.createViews(text)).hidden;
/** The decoded text, without a pause; undefined when nothing was hidden. */
export const decodeHidden = (text: string): string | undefined => atOnce(decode.decodeHidden(text)).text;

import { Fault } from '../../../../src/core/fault.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import type { Views } from '../../../../src/gateway/text/decode.ts';
import { createMakeViews, type MakeViewsElsewhere } from '../../../../src/gateway/text/make-views.ts';
import { createFakeClock } from '../../../fake-clock.ts';

/** A request that does not end. */
export const never = new AbortController().signal;
/** A text that is large enough to be taken elsewhere. */
export const LARGE = 'ä'.repeat(100_000);

/** A place for large texts that takes a second for each, and a trace of whose text it worked on when. */
export const createWorld = (msPerText = 1000, make: (text: string) => Views | undefined = () => undefined) => {
  const clock = createFakeClock();
  const trace: string[] = [];
  const decoded: unknown[] = [];
  const elsewhere: MakeViewsElsewhere = async (text, owner, signal) => {
    trace.push(owner);
    await new Promise<void>((resolve, reject) => {
      clock.after(msPerText, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    return make(text) ?? { texts: [`views of ${owner}`], hidden: [] };
  };
  const views = createMakeViews({
    clock,
    runInSlices: createTimeSlices(clock),
    elsewhere,
    onLarge: (one) => decoded.push(one),
  });
  return { clock, trace, decoded, ...views };
};

/** What became of a text, in a word. */
export const outcome = async (made: unknown): Promise<string> => {
  try {
    await made;
    return 'made';
  } catch (error) {
    return error instanceof Fault ? error.detail.kind : String(error);
  }
};

import v8 from 'node:v8';

/** Small generations, and one optimising compiler instead of two. */
const WISHES = ['--optimize-for-size', '--no-maglev'];

/**
 * Has the engine favour memory over speed from now on. For programs that stand beside others and wait most of the time: the
 * young generation would otherwise grow to several times what they need and never shrink. Takes nothing away where an engine
 * knows no such wish.
 */
export const favourMemory = (): void => {
  try {
    for (const wish of WISHES) v8.setFlagsFromString(wish);
  } catch {
    // Another engine, or one that takes no wishes.
  }
};

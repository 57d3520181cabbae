import { type ByteBudget, createByteBudget, UNCOUNTED_BYTES } from '../../core/byte-budget.ts';
import { Fault } from '../../core/fault.ts';

/** The decoding that is done, and waits, for one gateway key. Times are in milliseconds. */
export type OwnerLoad = {
  /**
   * Waits until a large text may be worked on. Faults with `overloaded` where the owner's texts have to wait for each other for
   * too long already; the texts of one request, which share a signal, are refused together or not at all.
   */
  readonly begin: (chars: number, signal: AbortSignal) => Promise<OwnedWork>;
  /** Counts what a short text takes of the event loop, until the function that it returns is called. */
  readonly beginShort: () => () => void;
  /** Whether its short texts have used their share of the event loop. */
  readonly hasUsedLoopShare: () => boolean;
};

/** A large text that is worked on. */
type OwnedWork = {
  /** Ends it. `isDone`: it was worked on to its end, and shows what the owner's texts take. */
  readonly end: (isDone: boolean) => void;
};

/** How much of an owner is worked on at a time: one long text, or several short ones, so that none waits for a message. */
const OWN_CHARS = 131_072;
/** And of all owners together: what is worked on takes about a hundred bytes of memory a character. */
export const TOGETHER_CHARS = 2 * OWN_CHARS;
/** How long the large texts of an owner may have to wait for each other. */
const WAIT_LIMIT_MS = 5000;
const MIN_RETRY_AFTER_MS = 1000;
/** Until an owner's own texts show what they take: between plain texts, and the costliest with four times that. */
const FIRST_CHARS = 100_000;
const FIRST_MS = 50;
/** Of so many characters it is remembered what they took, and then of half of them. */
const REMEMBERED_CHARS = 500_000;
/** What short texts may take of the event loop: this at once, and then a tenth of its time. */
const LOOP_BURST_MS = 50;
const LOOP_SHARE = 0.1;

/** Takes what a text needs of a budget of characters: all of it where the text is longer, and never too little to count. */
const takeFor = (chars: number, budget: ByteBudget, signal: AbortSignal): Promise<() => void> =>
  budget.take(Math.min(budget.limitBytes, Math.max(chars, UNCOUNTED_BYTES + 1)), signal);

/** Creates the load of one owner. All owners share `together`, a budget of `TOGETHER_CHARS`. */
export const createOwnerLoad = (now: () => number, together: ByteBudget): OwnerLoad => {
  const own = createByteBudget(OWN_CHARS);
  const admitted = new WeakSet<AbortSignal>();
  /** Of the large texts that wait or are worked on. */
  let chars = 0;
  let running = 0;
  let knownChars = FIRST_CHARS;
  let knownMs = FIRST_MS;
  let countedUntil = 0;
  let shortRunning = 0;
  let shortCountedUntil = 0;
  let loopMs = 0;
  let loopAt = now();

  const admit = (signal: AbortSignal): void => {
    const excessMs = (chars * knownMs) / knownChars - WAIT_LIMIT_MS;
    if (excessMs > 0 && !admitted.has(signal))
      throw new Fault({ kind: 'overloaded', retryAfterMs: Math.max(MIN_RETRY_AFTER_MS, excessMs) });
    admitted.add(signal);
  };

  /** Counts the time since the last text that was done: they are worked on side by side. */
  const countDone = (doneChars: number): void => {
    knownMs += now() - countedUntil;
    knownChars += doneChars;
    countedUntil = now();
    if (knownChars <= REMEMBERED_CHARS) return;
    knownMs /= 2;
    knownChars /= 2;
  };

  const take = async (workChars: number, signal: AbortSignal): Promise<() => void> => {
    const giveBackOwn = await takeFor(workChars, own, signal);
    try {
      const giveBack = await takeFor(workChars, together, signal);
      return () => {
        giveBack();
        giveBackOwn();
      };
    } catch (error) {
      giveBackOwn();
      throw error;
    }
  };

  return {
    async begin(workChars, signal) {
      admit(signal);
      chars += workChars;
      try {
        const giveBack = await take(workChars, signal);
        if (running === 0) countedUntil = now();
        running += 1;
        return {
          end(isDone) {
            if (isDone) countDone(workChars);
            running -= 1;
            chars -= workChars;
            giveBack();
          },
        };
      } catch (error) {
        chars -= workChars;
        throw error;
      }
    },
    beginShort() {
      if (shortRunning === 0) shortCountedUntil = now();
      shortRunning += 1;
      return () => {
        loopMs += now() - shortCountedUntil;
        shortCountedUntil = now();
        shortRunning -= 1;
      };
    },
    hasUsedLoopShare() {
      loopMs = Math.max(0, loopMs - (now() - loopAt) * LOOP_SHARE);
      loopAt = now();
      return loopMs > LOOP_BURST_MS;
    },
  };
};

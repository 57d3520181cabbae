/**
 * An append-only text that outlives the process, possibly shared with others. The order of its lines is the same for
 * everyone who reads it: that is what the journal decides by.
 */
export type JournalFile = {
  /** Adds one line whole, after all that was there, and settles once it would survive a power cut. */
  readonly append: (line: string) => Promise<void>;
  /** The whole lines that were added, by anyone, since the last call. */
  readonly readNew: () => Promise<readonly string[]>;
};

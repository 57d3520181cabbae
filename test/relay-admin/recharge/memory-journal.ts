import type { JournalFile } from '../../../src/relay-admin/recharge/journal.ts';

/** A file in memory that any number of journals may share, each with its own place in it, as processes do. */
type MemoryFile = {
  readonly lines: string[];
  /** The file as one more process sees it. */
  readonly open: () => JournalFile;
};

export const createMemoryFile = (): MemoryFile => {
  const lines: string[] = [];
  return {
    lines,
    open() {
      let read = 0;
      return {
        async append(line) {
          lines.push(line);
        },
        async readNew() {
          const fresh = lines.slice(read);
          read = lines.length;
          return fresh;
        },
      };
    },
  };
};

/** Ids that are as long as real ones and all different. */
export const createIds = (): (() => string) => {
  let drawn = 0;
  return () => `00000000-0000-4000-8000-${String(++drawn).padStart(12, '0')}`;
};

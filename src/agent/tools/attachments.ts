import { formatFileNote, type ToolFile, type ToolOutcome } from './tool.ts';

/** How much of the largest session files of tools may fill. The rest is for texts: none of those is refused. */
const FILES_SHARE = 0.75;

type CapacityNeeds = {
  /** The size of the session's messages as they are stored. */
  readonly storedBytes: () => Promise<number>;
  /** The largest session. */
  readonly limitBytes: number;
};

const countChars = (files: readonly ToolFile[]): number => files.reduce((sum, { url }) => sum + url.length, 0);

const withoutFiles = (outcome: ToolOutcome, files: readonly ToolFile[]): ToolOutcome => {
  const { files: _, ...rest } = outcome;
  const notes = files.map((file) => formatFileNote(file, 'the session has no capacity for it'));
  return { ...rest, output: [...(outcome.output === '' ? [] : [outcome.output]), ...notes].join('\n\n') };
};

/**
 * Stores the outcomes of the calls of one session with the files for which it has capacity; a line takes the place of each
 * other file. Calls that end at the same time count each other's files.
 */
export const createFileCapacity = ({ storedBytes, limitBytes }: CapacityNeeds) => {
  let storingChars = 0;
  return async <Stored>(outcome: ToolOutcome, store: (outcome: ToolOutcome) => Promise<Stored>): Promise<Stored> => {
    const { files = [], isError } = outcome;
    if (files.length === 0 || isError) return store(outcome);
    const chars = countChars(files);
    storingChars += chars;
    try {
      const fits = (await storedBytes()) + storingChars <= limitBytes * FILES_SHARE;
      if (fits) return await store(outcome);
    } finally {
      storingChars -= chars;
    }
    return store(withoutFiles(outcome, files));
  };
};

import { lineFrom, type Result } from './result.ts';

/** Where results are kept; `append` returns once a line would outlive us. */
export type ResultsFile = { readonly append: (line: string) => void; readonly close: () => void };

/** Results on their way to a file. */
export type HeldResults = { readonly add: (result: Result) => void; readonly close: () => void };

/** Opens the file at the first verdict and holds errors back until then: a run without one changes no file. */
export const holdResults = (open: () => ResultsFile): HeldResults => {
  let file: ResultsFile | undefined;
  let held = '';
  return {
    add(result) {
      held += lineFrom(result);
      if (result.status === 'judged') file ??= open();
      if (file === undefined) return;
      file.append(held);
      held = '';
    },
    close: () => file?.close(),
  };
};

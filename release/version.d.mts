type ReadText = (file: string) => string;
export const problemsOf: (version: string, readText: ReadText) => readonly string[];
export const withVersion: (file: string, text: string, version: string) => string;
type Ask = (url: string, init: { readonly signal: AbortSignal }) => Promise<Response>;
export const nameProblems: (
  name: string,
  ours: string | undefined,
  ask: Ask,
  registry: string,
) => Promise<readonly string[]>;

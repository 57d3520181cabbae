type ReadText = (file: string) => string;
export const problemsOf: (version: string, readText: ReadText) => readonly string[];
export const withVersion: (file: string, text: string, version: string) => string;

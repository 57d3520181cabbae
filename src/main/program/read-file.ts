import { readFileSync } from 'node:fs';

/** The text of a file; `undefined` when it cannot be read. */
export const readIfPresent = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

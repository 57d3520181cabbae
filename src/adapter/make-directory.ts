import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether the system says that what was to be made is there already. */
export const isThere = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';

/**
 * Makes a directory for its owner alone, and those above it. Node's own way to do so never ends where the system says that
 * there is none above, as /proc does.
 */
export const makeDirectory = (path: string): void => {
  const parent = dirname(path);
  if (existsSync(path) || parent === path) return;
  makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isThere(error)) throw error;
  }
};

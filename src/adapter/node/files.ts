import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';

/** Whether a file could not be created because it exists. */
export const isThere = (error: unknown): boolean => errorCode(error) === 'EEXIST';

/**
 * Creates the directory of a file that a service is about to create, with access for the owner only, and returns whether it was
 * missing. Its parent has to exist: no default needs more, and a mistyped path should not begin a new tree beside the old one.
 */
export const makeDirectoryOf = (file: string): boolean => {
  const path = dirname(file);
  if (existsSync(path)) return false;
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (!isThere(error)) throw error;
    return false;
  }
};

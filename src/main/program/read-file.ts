import { readFileSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import type { ReadFile } from '../../core/config.ts';

/** Why a file cannot be read, in the words of the system with its code. Those of Node repeat the path. Empty where it does not say. */
export const unreadableReason = (error: unknown): string => {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : 0;
  const [code, words] = getSystemErrorMap().get(errno) ?? [];
  return words === undefined ? '' : `${words} (${code})`;
};

/** The text of a file; `undefined` when it cannot be read, after `onUnreadable` received the reason. */
export const readIfPresent: ReadFile = (path, onUnreadable) => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    onUnreadable?.(unreadableReason(error));
    return undefined;
  }
};

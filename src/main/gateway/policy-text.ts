import { readFile } from 'node:fs/promises';
import { getSystemErrorMap } from 'node:util';
import { ConfigError } from '../../core/config.ts';

/** The words of the system, because those of Node repeat the path. */
const reasonOf = (error: unknown): string => {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : 0;
  const [, words] = getSystemErrorMap().get(errno) ?? [];
  return words === undefined ? '' : `: ${words}`;
};

/** Reads a policy file; undefined where there is none. Throws a `ConfigError` when it cannot be read. */
export const readPolicyText = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined
    ? undefined
    : readFile(file, 'utf8').catch((error: unknown) => {
        throw new ConfigError([
          `MODERATION_POLICY_FILE: expected the path of a file that can be read${reasonOf(error)}`,
        ]);
      });

import { readFile } from 'node:fs/promises';
import { ConfigError, unreadableFile } from '../../core/config.ts';
import { unreadableReason } from '../program/read-file.ts';

/** Reads a policy file; undefined where there is none. Throws a `ConfigError` when it cannot be read. */
export const readPolicyText = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined
    ? undefined
    : readFile(file, 'utf8').catch((error: unknown) => {
        throw new ConfigError([`MODERATION_POLICY_FILE: ${unreadableFile(unreadableReason(error))}`]);
      });

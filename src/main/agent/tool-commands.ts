import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandLookup, DEFAULT_COMMAND_LOOKUP } from '../../adapter/mcp/command.ts';
import { DEFAULT_FILE } from '../../agent/config/sources.ts';
import type { Variables } from '../../core/config.ts';

/** Where the command of all services is, beside this file: as a bundle, or as its source. */
const COMMAND_FILES = ['./gatehouse.js', '../gatehouse.ts'].map((name) =>
  fileURLToPath(new URL(name, import.meta.url)),
);

/** In commands of tool servers `gatehouse` is this very program, and files may stand beside the configuration. */
export const programsFor = ({ AGENT_CONFIG }: Variables): CommandLookup => {
  const own = COMMAND_FILES.find((file) => existsSync(file));
  return {
    replacements: new Map([
      ...DEFAULT_COMMAND_LOOKUP.replacements,
      ...(own === undefined ? [] : [['gatehouse', [process.execPath, own]] as const]),
    ]),
    directory: dirname(resolve(AGENT_CONFIG?.trim() || DEFAULT_FILE)),
  };
};

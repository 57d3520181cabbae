import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandLookup, DEFAULT_COMMAND_LOOKUP } from '../../adapter/mcp/command.ts';
import { DEFAULT_FILE } from '../../agent/config/sources.ts';
import type { Variables } from '../../core/config.ts';

/** The file of the `gatehouse` command: as a bundle next to this one, or as source. */
const COMMAND_FILES = ['./gatehouse.js', '../gatehouse.ts'].map((name) =>
  fileURLToPath(new URL(name, import.meta.url)),
);

/** In commands of tool servers, `gatehouse` means this program, and file paths are relative to the configuration. */
export const createCommandLookup = ({ AGENT_CONFIG }: Variables): CommandLookup => {
  const own = COMMAND_FILES.find((file) => existsSync(file));
  return {
    replacements: new Map([
      ...DEFAULT_COMMAND_LOOKUP.replacements,
      ...(own === undefined ? [] : [['gatehouse', [process.execPath, own]] as const]),
    ]),
    directory: dirname(resolve(AGENT_CONFIG?.trim() || DEFAULT_FILE)),
  };
};

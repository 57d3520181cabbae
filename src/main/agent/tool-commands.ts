import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandLookup, DEFAULT_COMMAND_LOOKUP } from '../../agent/adapter/mcp/command.ts';
import { DEFAULT_FILE } from '../../agent/config/sources.ts';
import type { Variables } from '../../core/config.ts';
import { nameTracing, tracingVariables } from '../program/tracing-variables.ts';

/** The file of the `gatehouse` command: as a bundle next to this one, or as source. */
const COMMAND_FILES = ['./gatehouse.js', '../gatehouse.ts'].map((name) =>
  fileURLToPath(new URL(name, import.meta.url)),
);

/**
 * In commands of tool servers, `gatehouse` means this program, and file paths are relative to the configuration. It traces as
 * the agent server does, unless its configuration names variables of OpenTelemetry: then those alone. No other program is given
 * them, because the headers for the collector are a secret.
 */
export const createCommandLookup = (variables: Variables, commandFiles = COMMAND_FILES): CommandLookup => {
  const { AGENT_CONFIG } = variables;
  const own = commandFiles.find((file) => existsSync(file));
  return {
    replacements: new Map([
      ...DEFAULT_COMMAND_LOOKUP.replacements,
      ...(own === undefined ? [] : [['gatehouse', [process.execPath, own]] as const]),
    ]),
    // Without the file, `gatehouse` is whatever the PATH has.
    inherited: (program, named) =>
      own !== undefined && program === 'gatehouse' && !nameTracing(named) ? tracingVariables(variables) : {},
    directory: dirname(resolve(AGENT_CONFIG?.trim() || DEFAULT_FILE)),
  };
};

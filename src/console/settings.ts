import * as v from 'valibot';
import { OneOf, readVariables, unknownVariables, type Variables, WholeNumber } from '../core/config.ts';
import { LOG_LEVELS } from '../core/log.ts';

/** Every variable of the console, by name. */
export const ConsoleVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim()), '127.0.0.1'),
  PORT: v.optional(WholeNumber(0, 65_535), '4200'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
});
type ParsedVariables = v.InferOutput<typeof ConsoleVariables>;

export type ConsoleSettings = {
  readonly host: string;
  readonly port: number;
  readonly logLevel: ParsedVariables['LOG_LEVEL'];
};

const CONSOLE_NAMES = /^CONSOLE_/;

/** Variables that look like the console's and have no effect, each with the nearest known name. */
export const unknownConsoleVariables = (variables: Variables): ReadonlyMap<string, string> =>
  unknownVariables(variables, CONSOLE_NAMES, Object.keys(ConsoleVariables.entries));

/** The console's settings from its variables. Throws one `ConfigError` with every problem. */
export const readConsoleSettings = (variables: Variables): ConsoleSettings => {
  const read = readVariables(ConsoleVariables, variables);
  return { host: read.HOST, port: read.PORT, logLevel: read.LOG_LEVEL };
};

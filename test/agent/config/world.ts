import { readAgentConfig } from '../../../src/agent/config/load.ts';
import type { AgentServerConfig } from '../../../src/agent/config/types.ts';
import { ConfigError, type Variables } from '../../../src/core/config.ts';

type Files = Readonly<Record<string, string>>;
export type Json = Readonly<Record<string, unknown>>;

/** The least that a configuration needs: one provider with one model. */
export const LEAST = {
  provider: { home: { options: { baseURL: 'http://127.0.0.1:1/v1' }, models: { small: {} } } },
};

/** Reads a configuration from files that are only here. */
export const readFrom = (variables: Variables, files: Files = {}): AgentServerConfig =>
  readAgentConfig(variables, (path) => (Object.hasOwn(files, path) ? files[path] : undefined));

/** The configuration of `./agent.json` with this in it, over the least that is needed. */
export const configOf = (more: Json, variables: Variables = {}, files: Files = {}): AgentServerConfig =>
  readFrom(variables, { './agent.json': JSON.stringify({ ...LEAST, ...more }), ...files });

/** What is wrong with a configuration that must be refused. */
export const problemsFrom = (read: () => unknown): readonly string[] => {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error('The configuration was accepted');
};

export const problemsOf = (more: Json, variables: Variables = {}, files: Files = {}): readonly string[] =>
  problemsFrom(() => configOf(more, variables, files));

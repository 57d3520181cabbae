import { ConfigError } from '../../../src/core/config.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';

/** The least that a gateway needs. */
export const BASE = { MODERATION_API_KEYS: 'gateway-key-1', BACKEND_API_KEYS: 'backend-key-1' };
/** The configuration of these variables, over the least that is needed. */
export const read = (variables: Readonly<Record<string, string>> = {}) => readGatewayConfig({ ...BASE, ...variables });

/** What is wrong with variables that must be refused. */
export const problemsOf = (variables: Readonly<Record<string, string>>): readonly string[] => {
  try {
    readGatewayConfig(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

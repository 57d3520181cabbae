import * as assert from 'uvu/assert';
import { ConfigError, type Variables } from '../../../src/core/config.ts';
import { type RelayConfig, readRelayConfig } from '../../../src/relay-admin/settings.ts';

/** The settings without which there is no configuration. */
export const NEEDED: Variables = { RELAY_BASE_URL: 'https://relay.example', RELAY_ALLOWED_HOST: 'relay.example' };

/** The configuration of these settings beside the ones that are needed. */
export const configOf = (more: Variables = {}): RelayConfig => readRelayConfig({ ...NEEDED, ...more });
/** What is wrong with these settings, a line each. */
export const problemsOf = (variables: Variables): readonly string[] => {
  try {
    readRelayConfig(variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  throw new Error('The configuration was accepted');
};
/** The one thing that is wrong with these settings beside the ones that are needed. */
export const problemWith = (more: Variables): string => {
  const problems = problemsOf({ ...NEEDED, ...more });
  assert.is(problems.length, 1, problems.join('\n'));
  return problems[0] ?? '';
};

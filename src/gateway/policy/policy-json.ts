import { ConfigError } from '../../core/config.ts';
import { findJsonError, isRecord, parseJsonValue } from '../../core/json.ts';

/** The setting that a policy comes from: errors begin with it. */
export type PolicySetting = 'MODERATION_POLICY' | 'MODERATION_POLICY_FILE';

const objectRule = 'a JSON object with "version", and "categories" or "policies"';

/** The object in a policy's text. Throws a `ConfigError` that says where it is no JSON or repeats a name, and quotes nothing. */
export const parsePolicyJson = (whole: string, setting: PolicySetting): Readonly<Record<string, unknown>> => {
  // Some editors write a byte order mark first.
  const text = whole.replace(/^\uFEFF/, '');
  const value = parseJsonValue(text);
  const place = text.trim() === '' ? undefined : findJsonError(text);
  if (isRecord(value) && place === undefined) return value;
  const problem =
    place === undefined
      ? `expected ${objectRule}`
      : `expected ${place.expected} at line ${place.line}, column ${place.column}: it is ${objectRule}, without comments and trailing commas`;
  throw new ConfigError([`${setting}: ${problem}`]);
};

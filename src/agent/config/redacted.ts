import { isRecord } from '../../core/json.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../core/redact.ts';
import type { ConfigPath } from './names.ts';
import { hasReference } from './sources.ts';

const redactProgram = (program: unknown): unknown =>
  typeof program === 'string' && !hasReference(program) ? withoutSecrets(program) : REDACTED;

/** The URLs of tool servers may have keys in their paths as well as in their queries. */
const redactUrl = (url: string): string => {
  if (hasReference(url) || !URL.canParse(url)) return REDACTED;
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/${REDACTED}`;
};

/**
 * A tool server without secrets: its type, the program and the number of its arguments, or the origin of its URL. Any other
 * setting may be a key.
 */
const redactServer = (server: unknown): unknown => {
  if (!isRecord(server)) return REDACTED;
  const { type, command, url, enabled, timeout, oauth } = server;
  return {
    ...(type === 'local' || type === 'remote' ? { type } : {}),
    ...(Array.isArray(command)
      ? { command: command.map((item, at) => (at === 0 ? redactProgram(item) : REDACTED)) }
      : {}),
    ...(typeof url === 'string' ? { url: redactUrl(url) } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof timeout === 'number' ? { timeout } : {}),
    ...(typeof oauth === 'boolean' ? { oauth } : {}),
  };
};

type Fields = Readonly<Record<string, unknown>>;

/** Paths whose names the user chooses, so that they say nothing about the value. `*` is any one name. */
const FREE_NAMES = [
  'provider.*',
  'provider.*.models.*',
  'provider.*.models.*.variants.*',
  'agent.*',
  'command.*',
  'permission.*',
  'permission.*.*',
  'agent.*.permission.*',
  'agent.*.permission.*.*',
].map((path) => path.split('.'));
const TOOL_SERVER = ['mcp', '*'];
const PROVIDER_OPTION = ['provider', '*', 'options', '*'];
/** The provider options that are shown. Any other option is unknown here, and may be a key. */
const PLAIN_OPTIONS = new Set(['baseURL', 'timeout', 'headerTimeout', 'chunkTimeout', 'setCacheKey']);

const matchesPath = (path: ConfigPath, pattern: readonly string[]): boolean =>
  pattern.length === path.length && pattern.every((step, at) => step === '*' || step === path[at]);

/** Maps whose values all count as secrets. */
const SECRET_MAPS = new Set(['headers', 'environment', 'env', 'queryParams']);

const redactAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactAll);
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactAll(inner)]));
  return typeof value === 'string' || typeof value === 'number' ? REDACTED : value;
};

/** A list of arguments, behind its program for `command`: each argument may be a secret. */
const redactArguments = (name: string, items: readonly unknown[], path: ConfigPath): unknown =>
  items.map((item, index) => (index === 0 && name === 'command' ? redactValue(item, [...path, index]) : REDACTED));

const redactField = (name: string, value: unknown, path: ConfigPath): unknown => {
  if (matchesPath(path, TOOL_SERVER)) return redactServer(value);
  if (matchesPath(path, PROVIDER_OPTION) && !PLAIN_OPTIONS.has(name)) return REDACTED;
  if (FREE_NAMES.some((pattern) => matchesPath(path, pattern))) return redactValue(value, path);
  if (Array.isArray(value) && (name === 'command' || name === 'args')) return redactArguments(name, value, path);
  // A number of tokens is no secret.
  const isCount = typeof value === 'number' && /tokens$/i.test(name);
  return SECRET_MAPS.has(name) || (isSecretName(name) && !isCount) ? redactAll(value) : redactValue(value, path);
};

const redactValue = (value: unknown, path: ConfigPath): unknown => {
  if (typeof value === 'string') return hasReference(value) ? REDACTED : withoutSecrets(value);
  if (Array.isArray(value)) return value.map((item: unknown, index) => redactValue(item, [...path, index]));
  return isRecord(value) ? redactFields(value, path) : value;
};

const redactFields = (table: Fields, path: ConfigPath): Fields =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, redactField(name, value, [...path, name])]));

/**
 * A configuration as it was written, without secrets. Redacts keys, header values, environments, unknown provider options,
 * everything of a tool server but its program or origin, values under names of secrets, values that look like secrets, and
 * texts with references to variables or files.
 */
export const redactConfig = (written: Fields): Fields => redactFields(written, []);

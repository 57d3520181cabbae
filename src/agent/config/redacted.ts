import { isRecord } from '../../core/json.ts';
import { isSecretName, REDACTED, withoutSecrets } from '../../core/redact.ts';
import type { ConfigPath } from './names.ts';
import { hasReference } from './sources.ts';

const shownProgram = (program: unknown): unknown =>
  typeof program === 'string' && !hasReference(program) ? withoutSecrets(program) : REDACTED;

/** Addresses of tool servers have keys in their paths as often as in their queries. */
const shownAddress = (url: string): string => {
  if (hasReference(url) || !URL.canParse(url)) return REDACTED;
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/${REDACTED}`;
};

/**
 * A tool server as far as it may be seen: its kind, the program and how many arguments it has, or where it is. Whatever
 * else is written of it may be a key.
 */
export const shownServer = (server: unknown): unknown => {
  if (!isRecord(server)) return REDACTED;
  const { type, command, url, enabled, timeout, oauth } = server;
  return {
    ...(type === 'local' || type === 'remote' ? { type } : {}),
    ...(Array.isArray(command)
      ? { command: command.map((item, at) => (at === 0 ? shownProgram(item) : REDACTED)) }
      : {}),
    ...(typeof url === 'string' ? { url: shownAddress(url) } : {}),
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof timeout === 'number' ? { timeout } : {}),
    ...(typeof oauth === 'boolean' ? { oauth } : {}),
  };
};

type Shown = Readonly<Record<string, unknown>>;

/** Where names are made up by whoever writes the file, and say nothing of what stands under them. `*` is any one name. */
const OWN_NAMES = [
  'provider.*',
  'provider.*.models.*',
  'provider.*.models.*.variants.*',
  'agent.*',
  'permission.*',
  'permission.*.*',
  'agent.*.permission.*',
  'agent.*.permission.*.*',
].map((path) => path.split('.'));
const TOOL_SERVER = ['mcp', '*'];
const PROVIDER_OPTION = ['provider', '*', 'options', '*'];
/** Providers have options that nobody here knows, and each may be a key. */
const PLAIN_OPTIONS = new Set(['baseURL', 'timeout', 'headerTimeout', 'chunkTimeout', 'setCacheKey']);

const isAt = (path: ConfigPath, pattern: readonly string[]): boolean =>
  pattern.length === path.length && pattern.every((step, at) => step === '*' || step === path[at]);

/** Maps of which every value counts as secret. */
const SEALED = new Set(['headers', 'environment', 'env', 'queryParams']);

const sealed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sealed);
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, sealed(inner)]));
  return typeof value === 'string' || typeof value === 'number' ? REDACTED : value;
};

/** Arguments of a program, and the program before them: any of them may be a secret, with or without a word before it. */
const shownArguments = (name: string, items: readonly unknown[], path: ConfigPath): unknown =>
  items.map((item, index) => (index === 0 && name === 'command' ? shown(item, [...path, index]) : REDACTED));

const shownUnder = (name: string, value: unknown, path: ConfigPath): unknown => {
  if (isAt(path, TOOL_SERVER)) return shownServer(value);
  if (isAt(path, PROVIDER_OPTION) && !PLAIN_OPTIONS.has(name)) return REDACTED;
  if (OWN_NAMES.some((pattern) => isAt(path, pattern))) return shown(value, path);
  if (Array.isArray(value) && (name === 'command' || name === 'args')) return shownArguments(name, value, path);
  // A number of tokens is no token.
  const isCount = typeof value === 'number' && /tokens$/i.test(name);
  return SEALED.has(name) || (isSecretName(name) && !isCount) ? sealed(value) : shown(value, path);
};

const shown = (value: unknown, path: ConfigPath): unknown => {
  if (typeof value === 'string') return hasReference(value) ? REDACTED : withoutSecrets(value);
  if (Array.isArray(value)) return value.map((item: unknown, index) => shown(item, [...path, index]));
  return isRecord(value) ? shownTable(value, path) : value;
};

const shownTable = (table: Shown, path: ConfigPath): Shown =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, shownUnder(name, value, [...path, name])]));

/**
 * A configuration as it was written, without secrets: keys, header values, environments, all but the program and the
 * origin of a tool server, options that a provider may have for itself, whatever stands under a name that sounds like a
 * secret or looks like one, and every text that takes something from a variable or a file.
 */
export const shownConfig = (written: Shown): Shown => shownTable(written, []);

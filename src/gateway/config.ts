import * as v from 'valibot';
import {
  CommaList,
  ConfigError,
  collectProblems,
  OneOf,
  readVariables,
  unknownVariables,
  type Variables,
  WholeNumber,
} from '../core/config.ts';
import { LOG_LEVELS } from '../core/log.ts';
import { DIALECT_NAMES } from '../llm/types.ts';
import { type ModelAlias, modelAliases } from './models.ts';

const KEY_RULE = 'expected keys of 1 to 512 printable characters without blanks, separated by commas';
const Keys = v.pipe(
  CommaList,
  v.check((keys) => keys.every((key) => /^[\x21-\x7e]{1,512}$/.test(key)), KEY_RULE),
  // docker's --env-file keeps them, and no client would send them.
  v.check((keys) => !keys.some((key) => /^(["']).*\1$/.test(key)), 'expected keys without quotes around them'),
);
const URL_RULE = 'expected an address such as http://127.0.0.1:11434, without user, query or fragment';

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
};

/** An address without a trailing slash. A trailing `/v1` or `/api` is dropped too: the dialects add their own paths. */
const BaseUrl = v.pipe(
  v.string(),
  v.trim(),
  v.check(isBaseUrl, URL_RULE),
  v.transform((text) => text.replace(/\/+$/, '').replace(/\/(?:v1|api)$/, '')),
);

/** What variables of ours begin with. Others may belong to anyone. */
const OUR_NAMES = /^(?:MODERATION|BACKEND|CACHE|HEDGE|RATE_LIMIT|REQUEST_DEADLINE|MAX_(?:BODY|INPUT|CONCURRENCY))_?/;

/** Every variable of the gateway, by name. `docs` are made from it, `readVariables` obeys it. */
export const GatewayVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim()), '0.0.0.0'),
  PORT: v.optional(WholeNumber(0, 65_535), '8000'),
  APP_ENV: v.optional(OneOf(['development', 'production']), 'development'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  MODERATION_API_KEY: v.optional(Keys, ''),
  MODERATION_API_KEYS: v.optional(Keys, ''),
  BACKEND_API_KEYS: v.optional(Keys, ''),
  BACKEND_BASE_URL: v.optional(BaseUrl),
  BACKEND_CLOUD_URL: v.optional(BaseUrl, 'https://ollama.com'),
  BACKEND_DIALECT: v.optional(OneOf(['auto', ...DIALECT_NAMES]), 'auto'),
  MODERATION_MODELS: v.optional(v.string()),
  MODERATION_POLICY_FILE: v.optional(v.string()),
  REQUEST_DEADLINE_MS: v.optional(WholeNumber(100, 600_000), '25000'),
  MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600), '1048576'),
  MAX_INPUTS: v.optional(WholeNumber(1, 1000), '32'),
  MAX_INPUT_CHARS: v.optional(WholeNumber(1, 10_000_000), '100000'),
  MODERATION_WINDOW_CHARS: v.optional(WholeNumber(500, 200_000), '24000'),
  MAX_CONCURRENCY: v.optional(WholeNumber(1, 10_000), '64'),
  RATE_LIMIT_RPM: v.optional(WholeNumber(0, 1_000_000), '0'),
  CACHE_MAX_ENTRIES: v.optional(WholeNumber(0, 10_000_000), '10000'),
  CACHE_TTL_SECONDS: v.optional(WholeNumber(0, 31_536_000), '3600'),
  HEDGE_AFTER_MS: v.optional(WholeNumber(0, 600_000), '0'),
  REDIS_URL: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.check((text) => /^rediss?:\/\//.test(text) && URL.canParse(text), 'expected redis://host:port or rediss://...'),
    ),
  ),
});

/** What must fit together: it is checked even when other variables are wrong by themselves. */
const KeyVariables = v.pick(GatewayVariables, [
  'APP_ENV',
  'MODERATION_API_KEY',
  'MODERATION_API_KEYS',
  'BACKEND_API_KEYS',
]);

/** Names that look like ours and are none, each with the nearest of ours: most likely a setting that has no effect. */
export const strangersIn = (variables: Variables): ReadonlyMap<string, string> =>
  unknownVariables(variables, OUR_NAMES, Object.keys(GatewayVariables.entries));

export type GatewaySettings = v.InferOutput<typeof GatewayVariables>;
type KeySettings = v.InferOutput<typeof KeyVariables>;

/** Where verdicts come from. Secrets stay in here until they are made into keys of the pool. */
export type BackendSettings = {
  readonly kind: 'cloud' | 'self-hosted';
  readonly baseUrl: string;
  readonly keys: readonly string[];
  readonly dialect: GatewaySettings['BACKEND_DIALECT'];
};

export type GatewayConfig = {
  readonly settings: GatewaySettings;
  readonly gatewayKeys: readonly string[];
  /** None: the caller may still find a local server, in development. */
  readonly backend: BackendSettings | undefined;
  readonly models: ReadonlyMap<string, ModelAlias>;
};

const unique = (keys: readonly string[]): string[] => [...new Set(keys)];

const backendOf = (settings: GatewaySettings): BackendSettings | undefined => {
  const keys = unique(settings.BACKEND_API_KEYS);
  if (settings.BACKEND_BASE_URL !== undefined) {
    return { kind: 'self-hosted', baseUrl: settings.BACKEND_BASE_URL, keys, dialect: settings.BACKEND_DIALECT };
  }
  if (keys.length === 0) return undefined;
  const dialect = settings.BACKEND_DIALECT === 'auto' ? 'ollama' : settings.BACKEND_DIALECT;
  return { kind: 'cloud', baseUrl: settings.BACKEND_CLOUD_URL, keys, dialect };
};

const gatewayKeysOf = ({ MODERATION_API_KEY, MODERATION_API_KEYS }: KeySettings): string[] =>
  unique([...MODERATION_API_KEY, ...MODERATION_API_KEYS]);

const misfitsOf = (settings: KeySettings): string[] => {
  const gatewayKeys = gatewayKeysOf(settings);
  const problems: string[] = [];
  if (settings.APP_ENV === 'production' && gatewayKeys.length === 0) {
    problems.push('MODERATION_API_KEYS: expected at least one gateway key when APP_ENV is production');
  }
  if (settings.BACKEND_API_KEYS.some((key) => gatewayKeys.includes(key))) {
    problems.push('BACKEND_API_KEYS: expected none of the gateway keys, clients must never hold a backend key');
  }
  return problems;
};

/** The gateway's configuration from its variables. Throws one `ConfigError` with every problem in it. */
export const readGatewayConfig = (variables: Variables): GatewayConfig => {
  const problems: string[] = [];
  const settings = collectProblems(() => readVariables(GatewayVariables, variables), problems);
  const models = collectProblems(() => modelAliases(variables.MODERATION_MODELS?.trim() || undefined), problems);
  // What is wrong with these by themselves has been told above.
  const keys = collectProblems(() => readVariables(KeyVariables, variables), []);
  problems.push(...(keys === undefined ? [] : misfitsOf(keys)));
  if (settings === undefined || models === undefined || problems.length > 0) throw new ConfigError(problems);
  return { settings, gatewayKeys: gatewayKeysOf(settings), backend: backendOf(settings), models };
};

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
import { type ModelAlias, parseModelAliases } from './models.ts';
import { parseShadow, type ShadowSettings } from './policy/shadow-settings.ts';

const KEY_RULE = 'expected keys of 1 to 512 printable characters without blanks, separated by commas';
const Keys = v.pipe(
  CommaList,
  v.check((keys) => keys.every((key) => /^[\x21-\x7e]{1,512}$/.test(key)), KEY_RULE),
  // docker's --env-file keeps quotes, and no client would send them.
  v.check((keys) => !keys.some((key) => /^(["']).*\1$/.test(key)), 'expected keys without quotes around them'),
);
const AdminKey = v.pipe(
  v.string(),
  v.trim(),
  v.regex(
    /^(?!(["']).*\1$)[\x21-\x7e]{1,512}$/,
    'expected one key of 1 to 512 printable characters without blanks or quotes around it',
  ),
);
const URL_RULE = 'expected an address such as http://127.0.0.1:11434, without user, query or fragment';

/** What guides show as an address: that of one route, not of the server. */
const ROUTE = /\/(?:v1|api)\/(?:chat(?:\/completions)?|completions|generate|models|tags|version)\/*$/;
const ROUTE_RULE =
  'expected the address of the server alone, without /v1/chat/completions or another route of it behind';

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
  v.check((text) => !ROUTE.test(text), ROUTE_RULE),
  v.transform((text) => text.replace(/\/+$/, '').replace(/\/(?:v1|api)$/, '')),
);

/** Ollama's durations. Its -1 has to be a number. */
const KeepAlive = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^(?:-1|\d{1,6}[smh])$/, 'expected a whole number and its unit, s, m or h, such as 30m, or -1 for no end'),
  v.transform((text) => (text === '-1' ? -1 : text)),
);

/** How the gateway's variables begin. Other variables may belong to any program. */
const GATEWAY_NAMES =
  /^(?:MODERATION|BACKEND|CACHE|GATEWAY_(?:ADMIN|WORKER)|HEDGE|JUDGE|RATE_LIMIT|REQUEST_DEADLINE|MAX_(?:BODY|INPUT|CONCURRENCY)|UNJUDGED|NO_VERDICT)_?/;

/** The most processes that one gateway may have. */
const MAX_WORKERS = 64;
const WORKERS_RULE = `expected auto, or a whole number from 1 to ${MAX_WORKERS}`;

/** Every variable of the gateway, by name. The docs are made from it, and `readVariables` applies it. */
export const GatewayVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim()), '0.0.0.0'),
  PORT: v.optional(WholeNumber(0, 65_535), '8000'),
  APP_ENV: v.optional(OneOf(['development', 'production']), 'development'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  GATEWAY_WORKERS: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.check(
        (text) => text === 'auto' || (/^\d{1,3}$/.test(text) && +text >= 1 && +text <= MAX_WORKERS),
        WORKERS_RULE,
      ),
      v.transform((text) => (text === 'auto' ? text : Number(text))),
    ),
    '1',
  ),
  MODERATION_API_KEY: v.optional(Keys, ''),
  MODERATION_API_KEYS: v.optional(Keys, ''),
  GATEWAY_ADMIN_KEY: v.optional(AdminKey),
  BACKEND_API_KEYS: v.optional(Keys, ''),
  BACKEND_BASE_URL: v.optional(BaseUrl),
  BACKEND_CLOUD_URL: v.optional(BaseUrl, 'https://ollama.com'),
  BACKEND_DIALECT: v.optional(OneOf(['auto', ...DIALECT_NAMES]), 'auto'),
  MODERATION_MODELS: v.optional(v.string()),
  MODERATION_POLICY: v.optional(v.string()),
  MODERATION_POLICY_FILE: v.optional(v.string()),
  MODERATION_SHADOW: v.optional(v.string()),
  UNJUDGED_INPUT: v.optional(OneOf(['error', 'text', 'flag']), 'error'),
  NO_VERDICT: v.optional(OneOf(['error', 'flag']), 'error'),
  REQUEST_DEADLINE_MS: v.optional(WholeNumber(100, 600_000), '25000'),
  MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600)),
  MAX_BODY_BYTES_IN_FLIGHT: v.optional(WholeNumber(1024, 1_000_000_000_000)),
  MAX_INPUTS: v.optional(WholeNumber(1, 1000), '32'),
  MAX_INPUT_CHARS: v.optional(WholeNumber(1, 10_000_000), '100000'),
  MODERATION_WINDOW_CHARS: v.optional(WholeNumber(500, 200_000), '24000'),
  MAX_CONCURRENCY: v.optional(WholeNumber(1, 10_000), '64'),
  RATE_LIMIT_RPM: v.optional(WholeNumber(0, 1_000_000), '0'),
  CACHE_MAX_ENTRIES: v.optional(WholeNumber(0, 10_000_000), '10000'),
  CACHE_TTL_SECONDS: v.optional(WholeNumber(0, 31_536_000), '3600'),
  HEDGE_AFTER_MS: v.optional(WholeNumber(0, 600_000), '0'),
  JUDGE_BATCH: v.optional(WholeNumber(0, 16), '0'),
  JUDGE_KEEP_ALIVE: v.optional(KeepAlive),
  REDIS_URL: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      // What stands for a cluster or Sentinels is read where the client library is.
      v.check(
        (text) => /^rediss?(?:-cluster|-sentinel)?:\/\/[^\s/]/.test(text),
        'expected redis://host:port, redis-cluster://host:port or redis-sentinel://host:port/primary (more hosts after commas; rediss for TLS)',
      ),
      v.check(
        (text) => !/^rediss?:/.test(text) || URL.canParse(text),
        'expected redis://user:password@host:port/database with a port up to 65535, and @, / and ? in the password as %40, %2F and %3F',
      ),
    ),
  ),
});

/** Variables that must be consistent with each other. They are checked even when others are invalid. */
const KeyVariables = v.pick(GatewayVariables, [
  'APP_ENV',
  'MODERATION_API_KEY',
  'MODERATION_API_KEYS',
  'GATEWAY_ADMIN_KEY',
  'BACKEND_API_KEYS',
]);

/** Variables that look like the gateway's but are unknown, each with the nearest known name: likely a typing mistake. */
export const unknownGatewayVariables = (variables: Variables): ReadonlyMap<string, string> =>
  unknownVariables(variables, GATEWAY_NAMES, Object.keys(GatewayVariables.entries));

/** The gateway's variables, parsed, with defaults. */
export type GatewaySettings = v.InferOutput<typeof GatewayVariables>;
type KeySettings = v.InferOutput<typeof KeyVariables>;

/** The largest body where no alias takes images and nothing is set. */
export const TEXT_BODY_BYTES = 1_048_576;
/** The same where one does: an image of 6 MB in base64. */
export const IMAGE_BODY_BYTES = 8_388_608;

/** The largest body: what is set, or what the aliases need. Without a setting it takes no more than a quarter of the budget. */
export const bodyLimitBytes = (
  { MAX_BODY_BYTES }: Pick<GatewaySettings, 'MAX_BODY_BYTES'>,
  models: ReadonlyMap<string, ModelAlias>,
  budgetBytes: number,
): number => {
  if (MAX_BODY_BYTES !== undefined) return MAX_BODY_BYTES;
  const hasVision = [...models.values()].some(({ vision }) => vision !== false);
  return hasVision
    ? Math.max(TEXT_BODY_BYTES, Math.min(IMAGE_BODY_BYTES, Math.floor(budgetBytes / 4)))
    : TEXT_BODY_BYTES;
};

/** The backend that serves the judge. Its keys are secrets; only the key pool receives them. */
export type BackendSettings = {
  readonly kind: 'cloud' | 'self-hosted';
  readonly baseUrl: string;
  readonly keys: readonly string[];
  readonly dialect: GatewaySettings['BACKEND_DIALECT'];
};

/** Settings, and what is derived from them. */
export type GatewayConfig = {
  readonly settings: GatewaySettings;
  readonly gatewayKeys: readonly string[];
  /** Undefined when none is configured: in development the caller may still find a local server. */
  readonly backend: BackendSettings | undefined;
  readonly models: ReadonlyMap<string, ModelAlias>;
  readonly shadow: ShadowSettings | undefined;
};

const unique = (keys: readonly string[]): string[] => [...new Set(keys)];

const backendFrom = (settings: GatewaySettings): BackendSettings | undefined => {
  const keys = unique(settings.BACKEND_API_KEYS);
  if (settings.BACKEND_BASE_URL !== undefined)
    return { kind: 'self-hosted', baseUrl: settings.BACKEND_BASE_URL, keys, dialect: settings.BACKEND_DIALECT };
  if (keys.length === 0) return undefined;
  const dialect = settings.BACKEND_DIALECT === 'auto' ? 'ollama' : settings.BACKEND_DIALECT;
  return { kind: 'cloud', baseUrl: settings.BACKEND_CLOUD_URL, keys, dialect };
};

const gatewayKeysFrom = ({ MODERATION_API_KEY, MODERATION_API_KEYS }: KeySettings): string[] =>
  unique([...MODERATION_API_KEY, ...MODERATION_API_KEYS]);

/** A part of the calls for each worker is only possible where there are as many. */
const workerConflict = ({ GATEWAY_WORKERS, MAX_CONCURRENCY }: GatewaySettings): string[] =>
  GATEWAY_WORKERS !== 'auto' && GATEWAY_WORKERS > MAX_CONCURRENCY
    ? [
        `GATEWAY_WORKERS: expected no more than MAX_CONCURRENCY (${MAX_CONCURRENCY}), of which each worker has a part: raise that, or lower this`,
      ]
    : [];

/** Which of two policies holds must not depend on an order that nobody knows. */
const policyConflict = ({ MODERATION_POLICY, MODERATION_POLICY_FILE }: GatewaySettings): string[] =>
  MODERATION_POLICY !== undefined && MODERATION_POLICY_FILE !== undefined
    ? ['MODERATION_POLICY: expected none beside MODERATION_POLICY_FILE: remove one of them']
    : [];

const conflictsIn = (settings: KeySettings): string[] => {
  const gatewayKeys = gatewayKeysFrom(settings);
  const problems: string[] = [];
  if (settings.APP_ENV === 'production' && gatewayKeys.length === 0)
    problems.push('MODERATION_API_KEYS: expected at least one gateway key when APP_ENV is production');
  if (settings.BACKEND_API_KEYS.some((key) => gatewayKeys.includes(key))) {
    problems.push(
      'BACKEND_API_KEYS: the same key is in MODERATION_API_KEYS; use different keys, because clients must never have a backend key',
    );
  }
  const admin = settings.GATEWAY_ADMIN_KEY;
  if (admin !== undefined && [...gatewayKeys, ...settings.BACKEND_API_KEYS].includes(admin)) {
    problems.push(
      'GATEWAY_ADMIN_KEY: the same key is in MODERATION_API_KEYS or BACKEND_API_KEYS; use a key of its own, because it may do more than theirs',
    );
  }
  return problems;
};

/** Reads the gateway's configuration from its variables. Throws one `ConfigError` with every problem. */
export const readGatewayConfig = (variables: Variables): GatewayConfig => {
  const problems: string[] = [];
  const settings = collectProblems(() => readVariables(GatewayVariables, variables), problems);
  const models = collectProblems(() => parseModelAliases(variables.MODERATION_MODELS?.trim() || undefined), problems);
  const shadow = collectProblems(() => parseShadow(variables.MODERATION_SHADOW, models), problems);
  // Problems of single variables are reported above.
  const keys = collectProblems(() => readVariables(KeyVariables, variables), []);
  problems.push(...(keys === undefined ? [] : conflictsIn(keys)));
  problems.push(...(settings === undefined ? [] : [...workerConflict(settings), ...policyConflict(settings)]));
  if (settings === undefined || models === undefined || problems.length > 0) throw new ConfigError(problems);
  return { settings, gatewayKeys: gatewayKeysFrom(settings), backend: backendFrom(settings), models, shadow };
};

/** Whether more than one process may be asked for. What is set is not checked here. */
export const asksForWorkers = ({ GATEWAY_WORKERS = '' }: Variables): boolean =>
  !['', '1'].includes(GATEWAY_WORKERS.trim());

/** How many processes the settings ask for, on a machine with `cores`. Each of them needs a call to the backend of its own. */
export const workersFor = ({ GATEWAY_WORKERS, MAX_CONCURRENCY }: GatewaySettings, cores: number): number =>
  GATEWAY_WORKERS === 'auto' ? Math.min(cores, MAX_CONCURRENCY, MAX_WORKERS) : GATEWAY_WORKERS;

/** A worker process of a gateway, by its number from 1, and how many there are. */
export type WorkerPlace = { readonly number: number; readonly of: number };

/** The settings of one worker: its part of what the whole gateway may do at a time. The parts add up to no more than the whole. */
export const settingsOfWorker = (settings: GatewaySettings, { number, of }: WorkerPlace): GatewaySettings => {
  const { MAX_CONCURRENCY: calls, MAX_BODY_BYTES_IN_FLIGHT: bytes } = settings;
  return {
    ...settings,
    MAX_CONCURRENCY: Math.floor(calls / of) + (number <= calls % of ? 1 : 0),
    MAX_BODY_BYTES_IN_FLIGHT: bytes === undefined ? undefined : Math.floor(bytes / of),
  };
};

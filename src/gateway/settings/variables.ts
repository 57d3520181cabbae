import * as v from 'valibot';
import {
  CommaList,
  isBaseUrl,
  OneOf,
  type UnknownVariables,
  unknownVariables,
  type Variables,
  WholeNumber,
} from '../../core/config.ts';
import { LOG_LEVELS } from '../../core/log.ts';
import { DIALECT_NAMES } from '../../llm/types.ts';

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

/** An address without a trailing slash. A trailing `/v1` or `/api` is dropped too: the dialects add their own paths. */
const BaseUrl = v.pipe(
  v.string(),
  v.trim(),
  v.check(isBaseUrl, URL_RULE),
  v.check((text) => !ROUTE.test(text), ROUTE_RULE),
  v.transform((text) => text.replace(/\/+$/, '').replace(/\/(?:v1|api)$/, '')),
);

/** How the gateway's variables begin, those that are gone included: who still sets one gets a warning. Others may belong to any program. */
const GATEWAY_NAMES =
  /^(?:MODERATION|BACKEND|CACHE|GATEWAY_ADMIN|HEDGE|JUDGE|RATE_LIMIT|REQUEST_DEADLINE|MAX_(?:BODY|INPUT|CONCURRENCY)|REUSE_PORT|UNJUDGED|NO_VERDICT|REDIS_HMAC)_?/;

/** The default of `MAX_BODY_BYTES` where no alias takes images. */
export const TEXT_BODY_BYTES = 1_048_576;
/** The same where one does: an image of 6 MB in base64. */
export const IMAGE_BODY_BYTES = 8_388_608;

/** Every variable of the gateway, by name. The docs are made from it, and `readVariables` applies it. */
export const GatewayVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim()), '0.0.0.0'),
  PORT: v.optional(WholeNumber(0, 65_535), '8000'),
  APP_ENV: v.optional(OneOf(['development', 'production']), 'development'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  REUSE_PORT: v.optional(OneOf(['true', 'false']), 'false'),
  MODERATION_API_KEY: v.optional(Keys, ''),
  MODERATION_API_KEYS: v.optional(Keys, ''),
  GATEWAY_ADMIN_KEY: v.optional(AdminKey),
  BACKEND_API_KEYS: v.optional(Keys, ''),
  BACKEND_BASE_URL: v.optional(BaseUrl),
  BACKEND_DIALECT: v.optional(OneOf(['auto', ...DIALECT_NAMES]), 'auto'),
  MODERATION_MODELS: v.optional(v.string()),
  MODERATION_POLICY: v.optional(v.string()),
  MODERATION_POLICY_FILE: v.optional(v.string()),
  MODERATION_SHADOW: v.optional(v.string()),
  UNJUDGED_INPUT: v.optional(OneOf(['error', 'text', 'flag']), 'error'),
  NO_VERDICT: v.optional(OneOf(['error', 'flag']), 'error'),
  REQUEST_DEADLINE_MS: v.optional(WholeNumber(100, 600_000), '25000'),
  MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600)),
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

/** Names of what the gateway has under another name: one time limit is for all calls of a request. */
const RENAMED: ReadonlyMap<string, string> = new Map(
  ['BACKEND_TIMEOUT', 'BACKEND_TIMEOUT_MS', 'JUDGE_TIMEOUT', 'JUDGE_TIMEOUT_MS'].map((name) => [
    name,
    'REQUEST_DEADLINE_MS',
  ]),
);

/** Variables that look like the gateway's but are unknown: likely a typing mistake. */
export const unknownGatewayVariables = (variables: Variables): UnknownVariables =>
  unknownVariables(variables, GATEWAY_NAMES, Object.keys(GatewayVariables.entries), RENAMED);

/** The gateway's variables, parsed, with defaults. */
export type GatewaySettings = v.InferOutput<typeof GatewayVariables>;

import * as v from 'valibot';
import { ConfigError, collectProblems, readVariables, type Variables } from '../../core/config.ts';
import { type ModelAlias, parseModelAliases } from '../models.ts';
import { parseShadow, type ShadowSettings } from '../policy/shadow-settings.ts';
import { type GatewaySettings, GatewayVariables, IMAGE_BODY_BYTES, TEXT_BODY_BYTES } from './variables.ts';

/** Variables that must be consistent with each other. They are checked even when others are invalid. */
const KeyVariables = v.pick(GatewayVariables, [
  'APP_ENV',
  'MODERATION_API_KEY',
  'MODERATION_API_KEYS',
  'GATEWAY_ADMIN_KEY',
  'BACKEND_API_KEYS',
]);

type KeySettings = v.InferOutput<typeof KeyVariables>;

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

/** Ollama's cloud. Another one is a `BACKEND_BASE_URL` with keys. */
const CLOUD_URL = 'https://ollama.com';

const unique = (keys: readonly string[]): string[] => [...new Set(keys)];

const backendFrom = (settings: GatewaySettings): BackendSettings | undefined => {
  const keys = unique(settings.BACKEND_API_KEYS);
  if (settings.BACKEND_BASE_URL !== undefined)
    return { kind: 'self-hosted', baseUrl: settings.BACKEND_BASE_URL, keys, dialect: settings.BACKEND_DIALECT };
  if (keys.length === 0) return undefined;
  const dialect = settings.BACKEND_DIALECT === 'auto' ? 'ollama' : settings.BACKEND_DIALECT;
  return { kind: 'cloud', baseUrl: CLOUD_URL, keys, dialect };
};

const gatewayKeysFrom = ({ MODERATION_API_KEY, MODERATION_API_KEYS }: KeySettings): string[] =>
  unique([...MODERATION_API_KEY, ...MODERATION_API_KEYS]);

/** Which of two policies holds must not depend on an order that is not defined. */
const policyConflict = ({ MODERATION_POLICY, MODERATION_POLICY_FILE }: GatewaySettings): string[] =>
  MODERATION_POLICY !== undefined && MODERATION_POLICY_FILE !== undefined
    ? ['MODERATION_POLICY: expected none beside MODERATION_POLICY_FILE: remove one of them']
    : [];

/** What README and the guides write where a key has to be chosen. */
const EXAMPLE_KEY = 'choose-a-key';
const SAFE_KEY_CHARS = 16;

/** The variables of a gateway in production that hold such a key. */
const variablesOfKeys = (settings: KeySettings, isMeant: (key: string) => boolean): readonly string[] => {
  const { APP_ENV, GATEWAY_ADMIN_KEY: admin } = settings;
  if (APP_ENV !== 'production') return [];
  const keys = { ...settings, GATEWAY_ADMIN_KEY: admin === undefined ? [] : [admin] };
  const names = ['MODERATION_API_KEY', 'MODERATION_API_KEYS', 'GATEWAY_ADMIN_KEY'] as const;
  return names.filter((name) => keys[name].some(isMeant));
};

/** The variables of a gateway in production that hold a key which can be guessed. */
export const guessableKeys = (settings: KeySettings): readonly string[] =>
  variablesOfKeys(settings, ({ length }) => length < SAFE_KEY_CHARS);

const conflictsIn = (settings: KeySettings): string[] => {
  const gatewayKeys = gatewayKeysFrom(settings);
  const problems: string[] = [];
  if (settings.APP_ENV === 'production' && gatewayKeys.length === 0)
    problems.push('MODERATION_API_KEYS: expected at least one gateway key when APP_ENV is production');
  for (const name of variablesOfKeys(settings, (key) => key === EXAMPLE_KEY))
    problems.push(`${name}: expected a key of your own when APP_ENV is production, not the example of the docs`);
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
  problems.push(...(settings === undefined ? [] : policyConflict(settings)));
  if (settings === undefined || models === undefined || problems.length > 0) throw new ConfigError(problems);
  return { settings, gatewayKeys: gatewayKeysFrom(settings), backend: backendFrom(settings), models, shadow };
};

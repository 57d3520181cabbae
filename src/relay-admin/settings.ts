import * as v from 'valibot';
import {
  ConfigError,
  collectProblems,
  OneOf,
  readVariables,
  type UnknownVariables,
  unknownVariableErrors,
  unknownVariables,
  unknownVariableWarnings,
  type Variables,
  WholeNumber,
} from '../core/config.ts';
import { LOG_LEVELS } from '../core/log.ts';
import { parseUnits, type Units } from './money.ts';

/** The address of the relay: the only host that requests are sent to. */
export type RelayAddress = {
  /** `http://relay.apps.svc.cluster.local:8080`, without a slash at the end. */
  readonly origin: string;
  /** The host name alone: only this may be shown. */
  readonly host: string;
};

const URL_RULE =
  'expected http(s)://host or http(s)://host:port in plain lower-case letters, without user, path, query or fragment';
const INSIDE_RULE =
  'expected https, because the admin key would cross a public network in the clear; http is for hosts inside: one word, 127.0.0.1, a private address, .svc, .local, .internal, .lan, .home.arpa, .test, .localhost';
const HOST_RULE = 'RELAY_ALLOWED_HOST: expected the host name of RELAY_BASE_URL, without scheme and port';

const PLAIN_URL = /^https?:\/\/([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[1-9]\d{0,4})?\/?$/;
const INSIDE_NAME = /^[a-z0-9_-]+$|\.(?:svc|local|internal|lan|home\.arpa|test|localhost)$/;
const INSIDE_ADDRESS =
  /^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^\[(?:::1|f[cd][0-9a-f]{2}:[0-9a-f:]+)\]$/;

const isInside = (host: string): boolean =>
  /^[\d.]+$|^\[/.test(host) ? INSIDE_ADDRESS.test(host) : INSIDE_NAME.test(host);

/** The address in a base URL; `undefined` when the URL parser reads another host than the text shows. */
const parseBaseUrl = (baseUrl: string): RelayAddress | undefined => {
  const [, host] = PLAIN_URL.exec(baseUrl) ?? [];
  if (host === undefined || !URL.canParse(baseUrl)) return undefined;
  const { origin, hostname } = new URL(baseUrl);
  return hostname === host ? { origin, host } : undefined;
};
const mayCarryKey = (baseUrl: string): boolean => {
  const address = parseBaseUrl(baseUrl);
  return address === undefined || baseUrl.startsWith('https:') || isInside(address.host);
};

/**
 * The base URL of the relay. A text that the URL parser would read as another host than it shows (`127.1`, `0x7f000001`,
 * `relay@evil`, a trailing dot) is refused.
 */
export const BaseUrl = v.pipe(
  v.string(),
  v.trim(),
  v.check((text) => parseBaseUrl(text) !== undefined, URL_RULE),
  v.check(mayCarryKey, INSIDE_RULE),
);

/** The address of a `BaseUrl` whose host is `allowedHost`, or the text of the rule that was broken. */
export const resolveRelayAddress = (baseUrl: string, allowedHost: string): RelayAddress | string => {
  const address = parseBaseUrl(baseUrl);
  return address?.host === allowedHost ? address : HOST_RULE;
};

/** MCP clients wait 40 s; a call has to end before that, even if its change is sent at the last moment. */
const LONGEST_CALL_MS = 35_000;
const LARGEST_RECHARGE_RULE = 'expected a decimal amount over 0 and at most 1000000, such as 10000';
/** Up to a million with 8 decimals, a JSON number holds every digit. */
const LARGEST_RECHARGE: Units = 1_000_000n * 10n ** 8n;

const Limit = v.pipe(
  v.string(),
  v.trim(),
  v.transform(parseUnits),
  v.check((units) => units !== undefined && units > 0n && units <= LARGEST_RECHARGE, LARGEST_RECHARGE_RULE),
  v.transform((units) => units ?? 0n),
);

/** Every environment variable of the relay admin tools. A test compares `docs/relay-admin.md` with it. */
export const RelayVariables = v.object({
  RELAY_BASE_URL: BaseUrl,
  RELAY_ALLOWED_HOST: v.pipe(v.string(), v.trim()),
  RELAY_ADMIN_API_KEY: v.optional(v.string()),
  RELAY_TIMEOUT_MS: v.optional(WholeNumber(1000, LONGEST_CALL_MS), '30000'),
  RELAY_MAX_RECHARGE: v.optional(Limit, '10000'),
  RELAY_JOURNAL: v.optional(v.pipe(v.string(), v.trim()), './data/relay-journal.jsonl'),
  RELAY_READ_ONLY: v.optional(OneOf(['true', 'false']), 'false'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
});

/** The admin key, or why it cannot be used. A malformed one stops the tools that need it, not the start. */
export type AdminKey =
  | { readonly kind: 'present'; readonly secret: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed' };

/** The parsed settings. */
export type RelayConfig = {
  readonly address: RelayAddress;
  readonly key: AdminKey;
  readonly timeoutMs: number;
  readonly largestRecharge: Units;
  readonly journalFile: string;
  readonly isReadOnly: boolean;
  readonly logLevel: v.InferOutput<typeof RelayVariables>['LOG_LEVEL'];
};

/** What an admin key must be: one word that a header can hold. Releases have keys of different forms. */
const ADMIN_KEY = /^[\w.~+/=:@-]{16,256}$/;

const parseAdminKey = (text: string | undefined): AdminKey => {
  if (text === undefined || text.trim() === '') return { kind: 'missing' };
  const secret = text.trim();
  return ADMIN_KEY.test(secret) ? { kind: 'present', secret } : { kind: 'malformed' };
};

/** Variables that look like one of relay admin and are none. */
export const unknownRelaySettings = (variables: Variables): UnknownVariables =>
  unknownVariables(variables, /^RELAY_/, Object.keys(RelayVariables.entries));

/** Only a variable of relay admin can leave a protection off, such as a misspelt `RELAY_READ_ONLY`. */
const mayBeProtection = (nameAndMeant: readonly (string | undefined)[]): boolean =>
  nameAndMeant.some((name) => name?.startsWith('RELAY_'));

const AddressVariables = v.pick(RelayVariables, ['RELAY_BASE_URL', 'RELAY_ALLOWED_HOST']);

const REQUIRED = {
  RELAY_BASE_URL: 'the address of the relay, such as http://relay.internal:8080',
  RELAY_ALLOWED_HOST: 'the host of RELAY_BASE_URL, such as relay.internal',
};

const readAddress = (variables: Variables): RelayAddress => {
  const { RELAY_BASE_URL, RELAY_ALLOWED_HOST } = readVariables(AddressVariables, variables, REQUIRED);
  const address = resolveRelayAddress(RELAY_BASE_URL, RELAY_ALLOWED_HOST);
  if (typeof address === 'string') throw new ConfigError([address]);
  return address;
};

/**
 * Reads the settings from the environment variables. Throws one `ConfigError` with every error in it. A misspelt variable is
 * one of them: the tools that change something must not be there because of it.
 */
export const readRelayConfig = (variables: Variables): RelayConfig => {
  const problems: string[] = [];
  const address = collectProblems(() => readAddress(variables), problems);
  const others = v.omit(RelayVariables, ['RELAY_BASE_URL', 'RELAY_ALLOWED_HOST']);
  const settings = collectProblems(() => readVariables(others, variables), problems);
  const unknown = [...unknownRelaySettings(variables)];
  problems.push(...unknownVariableErrors(new Map(unknown.filter(mayBeProtection))));
  if (address === undefined || settings === undefined || problems.length > 0) {
    const others = unknown.filter((entry) => !mayBeProtection(entry));
    throw new ConfigError([...problems, ...unknownVariableWarnings(new Map(others))]);
  }
  return {
    address,
    key: parseAdminKey(settings.RELAY_ADMIN_API_KEY),
    timeoutMs: settings.RELAY_TIMEOUT_MS,
    largestRecharge: settings.RELAY_MAX_RECHARGE,
    journalFile: settings.RELAY_JOURNAL,
    isReadOnly: settings.RELAY_READ_ONLY === 'true',
    logLevel: settings.LOG_LEVEL,
  };
};

import * as v from 'valibot';
import {
  CommaList,
  ConfigError,
  collectProblems,
  isBaseUrl,
  misspeltAccess,
  nearestName,
  OneOf,
  type ReadFile,
  readOrReason,
  readVariables,
  type UnknownVariables,
  unknownVariables,
  unreadableFile,
  type Variables,
  WholeNumber,
} from '../core/config.ts';
import { isUnprotected, type ListenAccess, listenAddress, Password, UserName } from '../core/http/listen-settings.ts';
import { isRecord, parseJsonValue } from '../core/json.ts';
import { LOG_LEVELS } from '../core/log.ts';
import type { DisconnectPolicy } from './answer/turn-request.ts';

const KEY_RULE = 'expected keys of 1 to 512 printable characters without blanks, separated by commas';
/** API keys of clients. */
const Keys = v.pipe(
  CommaList,
  v.check((keys) => keys.every((key) => /^[\x21-\x7e]{1,512}$/.test(key)), KEY_RULE),
);
const URLS_RULE =
  'expected addresses such as http://127.0.0.1:4000, without user, query or fragment, separated by commas';

/** Base URLs: at least one, without duplicates and trailing slashes. */
const BaseUrls = v.pipe(
  CommaList,
  v.check((urls) => urls.length > 0 && urls.every(isBaseUrl), URLS_RULE),
  v.transform((urls) => [...new Set(urls.map((url) => url.replace(/\/+$/, '')))]),
);

const ORIGIN_RULE = 'expected * or origins such as https://chat.example.org, without a path, separated by commas';
/** In the spelling of browsers, as no other one ever matches. Desktop applications with web pages have schemes of their own. */
const isOrigin = (text: string): boolean => {
  if (/^https?:/i.test(text)) return URL.canParse(text) && new URL(text).origin === text;
  return text === '*' || text === 'null' || /^[a-z][a-z0-9+.-]*:\/\/[^\s/]+$/.test(text);
};
/** Origins of web pages. */
const Origins = v.pipe(
  CommaList,
  v.check((origins) => origins.every(isOrigin), ORIGIN_RULE),
);

/** `provider/key`; the key may hold slashes itself. */
const ModelName = v.pipe(v.string(), v.trim(), v.regex(/^[^/\s]+\/\S+$/, 'expected a model as <provider>/<model key>'));
/** What happens to a turn when its client disconnects. */
const OnDisconnect = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^(?:abort|detach|\d{1,7})$/, 'expected abort, detach or a number of milliseconds to wait before aborting'),
  v.transform((text): DisconnectPolicy => {
    if (text === 'abort' || text === 'detach') return { kind: text };
    return { kind: 'grace', ms: Number(text) };
  }),
);
/** On or off. */
const Switch = OneOf(['true', 'false']);

/** The specification's names in a settings file, each with its variable and type. */
const FILE_SETTINGS: Readonly<
  Record<string, { readonly variable: string; readonly type: 'string' | 'number' | 'boolean' }>
> = {
  defaultModel: { variable: 'DEFAULT_MODEL', type: 'string' },
  openaiStreamChunkSize: { variable: 'OPENAI_STREAM_CHUNK_SIZE', type: 'number' },
  openaiStreamChunkDelayMs: { variable: 'OPENAI_STREAM_CHUNK_DELAY_MS', type: 'number' },
  enableLeadingEchoFilter: { variable: 'ENABLE_LEADING_ECHO_FILTER', type: 'boolean' },
};

const shownName = (name: string): string => name.replace(/[^\w.$-]/g, '?').slice(0, 60);

const entryProblem = (name: string, value: unknown): string | undefined => {
  const known = Object.hasOwn(FILE_SETTINGS, name) ? FILE_SETTINGS[name] : undefined;
  if (known === undefined) {
    const nearest = nearestName(name.slice(0, 100), Object.keys(FILE_SETTINGS));
    return `BRIDGE_CONFIG: ${shownName(name)}: an unknown name; the nearest known one is ${nearest}`;
  }
  return typeof value === known.type ? undefined : `BRIDGE_CONFIG: ${name}: expected a ${known.type}`;
};

/** The valid settings of the file as variables, and every problem with the file. */
type SettingsFile = { readonly variables: Variables; readonly problems: readonly string[] };

const fileProblem = (problem: string): SettingsFile => ({ variables: {}, problems: [`BRIDGE_CONFIG: ${problem}`] });

/** Without a path there are no settings. */
const readSettingsFile = (path: string | undefined, readFile: ReadFile): SettingsFile => {
  if (path === undefined || path === '') return { variables: {}, problems: [] };
  const { text, reason } = readOrReason(readFile, path);
  if (text === undefined) return fileProblem(unreadableFile(reason));
  const value = parseJsonValue(text);
  if (!isRecord(value)) return fileProblem('expected a file that holds a JSON object');
  const entries = Object.entries(value).map(([name, given]) => ({ name, given, problem: entryProblem(name, given) }));
  const usable = entries.filter(({ problem }) => problem === undefined);
  return {
    variables: Object.fromEntries(
      usable.map(({ name, given }) => [FILE_SETTINGS[name]?.variable ?? '', String(given)]),
    ),
    problems: entries.flatMap(({ problem }) => problem ?? []),
  };
};

/** Every variable of the bridge, by name. The first four are the specification's settings, which a file may hold too. */
export const BridgeVariables = v.object({
  DEFAULT_MODEL: v.optional(ModelName),
  OPENAI_STREAM_CHUNK_SIZE: v.optional(WholeNumber(0, 100_000), '4'),
  OPENAI_STREAM_CHUNK_DELAY_MS: v.optional(WholeNumber(0, 10_000), '10'),
  ENABLE_LEADING_ECHO_FILTER: v.optional(Switch, 'false'),
  HOST: v.optional(v.pipe(v.string(), v.trim())),
  PORT: v.optional(WholeNumber(0, 65_535), '4100'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  BRIDGE_CONFIG: v.optional(v.string()),
  BRIDGE_API_KEYS: v.optional(Keys, ''),
  BRIDGE_ALLOW_ANONYMOUS: v.optional(Switch, 'false'),
  AGENT_BASE_URL: v.optional(BaseUrls, 'http://127.0.0.1:4000'),
  AGENT_SERVER_USERNAME: v.optional(UserName, 'opencode'),
  AGENT_SERVER_PASSWORD: v.optional(Password),
  BRIDGE_AGENT: v.optional(v.pipe(v.string(), v.trim(), v.maxLength(200, 'expected at most 200 characters'))),
  BRIDGE_APPROVALS: v.optional(OneOf(['chat', 'reject']), 'chat'),
  BRIDGE_ON_DISCONNECT: v.optional(OnDisconnect, '10000'),
  BRIDGE_CONVERSATIONS: v.optional(OneOf(['prefix', 'named']), 'prefix'),
  BRIDGE_SHOW_TOOLS: v.optional(Switch, 'true'),
  BRIDGE_SHOW_REASONING: v.optional(Switch, 'true'),
  BRIDGE_HEARTBEAT: v.optional(OneOf(['comment', 'chunk', 'off']), 'comment'),
  BRIDGE_CORS_ORIGINS: v.optional(Origins, ''),
  MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600), '8388608'),
  MAX_CONCURRENCY: v.optional(WholeNumber(1, 10_000), '500'),
});
type ParsedVariables = v.InferOutput<typeof BridgeVariables>;

const AccessVariables = v.pick(BridgeVariables, ['HOST', 'BRIDGE_API_KEYS', 'BRIDGE_ALLOW_ANONYMOUS']);

const OPEN_TO_NETWORK =
  'BRIDGE_API_KEYS: expected at least one key when HOST is not this machine alone; BRIDGE_ALLOW_ANONYMOUS=true allows access without a key';

const toListenAccess = ({ HOST, BRIDGE_API_KEYS }: v.InferOutput<typeof AccessVariables>): ListenAccess => ({
  host: HOST,
  hasSecret: BRIDGE_API_KEYS.length > 0,
});

const BRIDGE_NAMES = /^(?:BRIDGE|OPENAI_STREAM|OPENCODE)_/;

/** Names that other bridges to OpenCode use for our settings. */
const NAMES_OF_OTHER_BRIDGES: ReadonlyMap<string, string> = new Map([['OPENCODE_BASE', 'AGENT_BASE_URL']]);

/** Variables that look like the bridge's and have no effect. */
export const unknownBridgeVariables = (variables: Variables): UnknownVariables =>
  unknownVariables(variables, BRIDGE_NAMES, Object.keys(BridgeVariables.entries), NAMES_OF_OTHER_BRIDGES);

/** The settings of a bridge. */
export type BridgeSettings = Readonly<ReturnType<typeof toSettings>>;

const toSettings = (read: ParsedVariables) => {
  const { host, isLocalByDefault } = listenAddress(toListenAccess(read));
  const { AGENT_SERVER_USERNAME: username, AGENT_SERVER_PASSWORD: password } = read;
  const keys: readonly string[] = [...new Set(read.BRIDGE_API_KEYS)];
  return {
    host,
    /** HOST is not set, and without keys the bridge listens on this machine only. The start logs that. */
    isLocalWithoutKeys: isLocalByDefault,
    port: read.PORT,
    logLevel: read.LOG_LEVEL,
    keys,
    agent: {
      baseUrls: read.AGENT_BASE_URL,
      credentials: password === undefined ? undefined : { username, password },
    },
    agentName: read.BRIDGE_AGENT,
    defaultModel: read.DEFAULT_MODEL,
    chunkSize: read.OPENAI_STREAM_CHUNK_SIZE,
    chunkDelayMs: read.OPENAI_STREAM_CHUNK_DELAY_MS,
    dropsLeadingEcho: read.ENABLE_LEADING_ECHO_FILTER === 'true',
    asksInChat: read.BRIDGE_APPROVALS === 'chat',
    onDisconnect: read.BRIDGE_ON_DISCONNECT,
    matching: read.BRIDGE_CONVERSATIONS,
    showsTools: read.BRIDGE_SHOW_TOOLS === 'true',
    showsReasoning: read.BRIDGE_SHOW_REASONING === 'true',
    heartbeat: read.BRIDGE_HEARTBEAT,
    corsOrigins: read.BRIDGE_CORS_ORIGINS,
    bodyLimitBytes: read.MAX_BODY_BYTES,
    answersAtATime: read.MAX_CONCURRENCY,
  };
};

/**
 * The bridge's settings from its variables and, under them, the file that `BRIDGE_CONFIG` names. Throws one `ConfigError`
 * with every problem.
 */
export const readBridgeSettings = (variables: Variables, readFile: ReadFile): BridgeSettings => {
  const file = readSettingsFile(variables.BRIDGE_CONFIG?.trim(), readFile);
  const problems = [...file.problems];
  const given = Object.entries(variables).filter(([, text]) => text !== undefined && text.trim() !== '');
  const merged = { ...file.variables, ...Object.fromEntries(given) };
  const read = collectProblems(() => readVariables(BridgeVariables, merged), problems);
  const access = collectProblems(() => readVariables(AccessVariables, merged), []);
  if (access?.BRIDGE_ALLOW_ANONYMOUS === 'false' && isUnprotected(toListenAccess(access)))
    problems.push(OPEN_TO_NETWORK);
  if (access?.BRIDGE_API_KEYS.length === 0)
    problems.push(...misspeltAccess(unknownBridgeVariables(variables), ['BRIDGE_API_KEYS']));
  if (read === undefined || problems.length > 0) throw new ConfigError(problems);
  return toSettings(read);
};

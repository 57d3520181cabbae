import * as v from 'valibot';
import type { Credentials } from '../core/basic-auth.ts';
import {
  ConfigError,
  collecting,
  OneOf,
  readVariables,
  strangersAmong,
  type Variables,
  WholeNumber,
} from '../core/config.ts';
import { LOG_LEVELS } from '../core/log.ts';
import { isLoopback } from '../core/this-machine.ts';
import { BaseUrls, Credential, Departure, Keys, ModelName, Origins, Switch, UserName } from './setting-kinds.ts';
import { readSettingsFile } from './settings-file.ts';
import type { DeparturePolicy } from './turn/disconnect.ts';

/** Every variable of the bridge, by name. The first four are the specification's settings, which a file may hold too. */
export const BridgeVariables = v.object({
  DEFAULT_MODEL: v.optional(ModelName),
  OPENAI_STREAM_CHUNK_SIZE: v.optional(WholeNumber(0, 100_000), '4'),
  OPENAI_STREAM_CHUNK_DELAY_MS: v.optional(WholeNumber(0, 10_000), '10'),
  ENABLE_LEADING_ECHO_FILTER: v.optional(Switch, 'false'),
  HOST: v.optional(v.pipe(v.string(), v.trim())),
  PORT: v.optional(WholeNumber(0, 65_535), '4100'),
  APP_ENV: v.optional(OneOf(['development', 'production']), 'development'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  BRIDGE_CONFIG: v.optional(v.string()),
  BRIDGE_API_KEYS: v.optional(Keys, ''),
  BRIDGE_ALLOW_ANONYMOUS: v.optional(Switch, 'false'),
  AGENT_BASE_URL: v.optional(BaseUrls, 'http://127.0.0.1:4000'),
  AGENT_SERVER_USERNAME: v.optional(UserName, 'opencode'),
  AGENT_SERVER_PASSWORD: v.optional(Credential),
  BRIDGE_AGENT: v.optional(v.pipe(v.string(), v.trim(), v.maxLength(200, 'expected at most 200 characters'))),
  BRIDGE_APPROVALS: v.optional(OneOf(['chat', 'reject']), 'chat'),
  BRIDGE_ON_DISCONNECT: v.optional(Departure, 'abort'),
  BRIDGE_CONVERSATIONS: v.optional(OneOf(['prefix', 'named']), 'prefix'),
  BRIDGE_SHOW_TOOLS: v.optional(Switch, 'true'),
  BRIDGE_HEARTBEAT: v.optional(OneOf(['comment', 'chunk', 'off']), 'comment'),
  BRIDGE_CORS_ORIGINS: v.optional(Origins, ''),
  MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600), '20971520'),
  MAX_CONCURRENCY: v.optional(WholeNumber(1, 10_000), '500'),
});
type Read = v.InferOutput<typeof BridgeVariables>;

const DoorVariables = v.pick(BridgeVariables, ['HOST', 'BRIDGE_API_KEYS', 'BRIDGE_ALLOW_ANONYMOUS']);

export type BridgeSettings = {
  readonly host: string;
  /** Nobody named a host, and without keys only this machine is let in. Whoever starts the bridge should be told. */
  readonly isLocalForWantOfKeys: boolean;
  readonly port: number;
  readonly logLevel: Read['LOG_LEVEL'];
  readonly keys: readonly string[];
  readonly agent: { readonly baseUrls: readonly string[]; readonly credentials: Credentials | undefined };
  readonly agentName: string | undefined;
  readonly defaultModel: string | undefined;
  readonly chunkSize: number;
  readonly chunkDelayMs: number;
  readonly dropsLeadingEcho: boolean;
  readonly asksInChat: boolean;
  readonly onDeparture: DeparturePolicy;
  readonly matching: Read['BRIDGE_CONVERSATIONS'];
  readonly showsTools: boolean;
  readonly heartbeat: Read['BRIDGE_HEARTBEAT'];
  readonly corsOrigins: readonly string[];
  readonly bodyLimitBytes: number;
  readonly answersAtATime: number;
};

const LOCAL_HOST = '127.0.0.1';
const EVERY_HOST = '0.0.0.0';
const OPEN_DOOR =
  'BRIDGE_API_KEYS: expected at least one key when HOST is not this machine alone; BRIDGE_ALLOW_ANONYMOUS=true lets everyone in';

const isOpenDoor = ({ HOST, BRIDGE_API_KEYS, BRIDGE_ALLOW_ANONYMOUS }: v.InferOutput<typeof DoorVariables>): boolean =>
  HOST !== undefined && !isLoopback(HOST) && BRIDGE_API_KEYS.length === 0 && BRIDGE_ALLOW_ANONYMOUS !== 'true';

/** `BRIDGE_SERVICE_HOST`, `BRIDGE_PORT_4100_TCP` and the like are of Kubernetes, for a service that is named bridge. */
const OUR_NAMES = /^(?:BRIDGE_(?!SERVICE_(?:HOST|PORT)|PORT(?:_\d|$))|OPENAI_STREAM_|OPENCODE_)/;

/** What other bridges to such an agent call what has another name here. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([['OPENCODE_BASE', 'AGENT_BASE_URL']]);

/** Names that look like ours and have no effect, each with the nearest of ours. */
export const strangersIn = (variables: Variables): ReadonlyMap<string, string> => {
  const strangers = strangersAmong(variables, OUR_NAMES, Object.keys(BridgeVariables.entries));
  return new Map([...strangers].map(([name, nearest]) => [name, ELSEWHERE.get(name) ?? nearest]));
};

const settingsFrom = (read: Read): BridgeSettings => {
  const { HOST, BRIDGE_API_KEYS: keys, AGENT_SERVER_USERNAME: username, AGENT_SERVER_PASSWORD: password } = read;
  return {
    host: HOST ?? (keys.length === 0 ? LOCAL_HOST : EVERY_HOST),
    isLocalForWantOfKeys: HOST === undefined && keys.length === 0,
    port: read.PORT,
    logLevel: read.LOG_LEVEL,
    keys: [...new Set(keys)],
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
    onDeparture: read.BRIDGE_ON_DISCONNECT,
    matching: read.BRIDGE_CONVERSATIONS,
    showsTools: read.BRIDGE_SHOW_TOOLS === 'true',
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
export const readBridgeSettings = (
  variables: Variables,
  readFile: (path: string) => string | undefined,
): BridgeSettings => {
  const file = readSettingsFile(variables.BRIDGE_CONFIG?.trim(), readFile);
  const problems = [...file.problems];
  const given = Object.entries(variables).filter(([, text]) => text !== undefined && text.trim() !== '');
  const merged = { ...file.variables, ...Object.fromEntries(given) };
  const read = collecting(() => readVariables(BridgeVariables, merged), problems);
  const door = collecting(() => readVariables(DoorVariables, merged), []);
  if (door !== undefined && isOpenDoor(door)) problems.push(OPEN_DOOR);
  if (read === undefined || problems.length > 0) throw new ConfigError(problems);
  return settingsFrom(read);
};

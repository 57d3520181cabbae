import * as v from 'valibot';
import {
  ConfigError,
  collectProblems,
  misspeltAccess,
  OneOf,
  readVariables,
  type UnknownVariables,
  unknownVariables,
  type Variables,
  WholeNumber,
} from '../core/config.ts';
import type { Credentials } from '../core/http/auth.ts';
import { isUnprotected, type ListenAccess, listenAddress, Password, UserName } from '../core/http/listen-settings.ts';
import { LOG_LEVELS } from '../core/log.ts';

import { DEFAULT_FILE } from './config/sources.ts';
import type { RetentionLimits } from './session/retention.ts';

/** Where everything is stored: in a file for one server, or in a database for several. */
export type Database =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** `sqlite:` and a path. `sqlite:///data/agent.db` is what other programs write for `sqlite:/data/agent.db`. */
const SQLITE = /^sqlite:(?:\/\/(?=\/))?((?!\/\/).+)$/;
const POSTGRES = /^postgres(?:ql)?:\/\/[^\s/]+\/[^\s/]+$/i;
const DatabaseUrl = v.pipe(
  v.string(),
  v.trim(),
  v.check(
    (text) => SQLITE.test(text) || POSTGRES.test(text),
    'expected sqlite:<path>, such as sqlite:./data/agent.db, or postgres://user:password@host:port/database',
  ),
  v.transform((text): Database => {
    const path = SQLITE.exec(text)?.[1];
    return path === undefined ? { kind: 'postgres', url: text } : { kind: 'sqlite', path };
  }),
);

/** Every variable of the agent server, by name. `opencode` is the user name that OpenCode's clients send by default. */
export const AgentVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim())),
  PORT: v.optional(WholeNumber(0, 65_535), '4000'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  AGENT_CONFIG: v.optional(v.string(), DEFAULT_FILE),
  AGENT_CONFIG_CONTENT: v.optional(v.string()),
  AGENT_SERVER_USERNAME: v.optional(UserName, 'opencode'),
  AGENT_SERVER_PASSWORD: v.optional(Password),
  AGENT_ALLOW_ANONYMOUS: v.optional(OneOf(['true', 'false']), 'false'),
  AGENT_DATABASE_URL: v.optional(DatabaseUrl, 'sqlite:./data/agent.db'),
  AGENT_LEASE_SECONDS: v.optional(WholeNumber(2, 60), '5'),
  AGENT_RETENTION_DAYS: v.optional(WholeNumber(0, 36_500), '0'),
  AGENT_MAX_BODY_BYTES: v.optional(WholeNumber(1024, 104_857_600), '9437184'),
});

/** What decides who has access: checked even when other variables are wrong. */
const AccessVariables = v.pick(AgentVariables, ['HOST', 'AGENT_SERVER_PASSWORD', 'AGENT_ALLOW_ANONYMOUS']);
type AccessSettings = v.InferOutput<typeof AccessVariables>;

/** What the variables say. */
export type AgentServerSettings = {
  readonly host: string;
  /** Neither HOST nor a password is set, so the server listens on this machine alone. The log should say so. */
  readonly isLocalWithoutPassword: boolean;
  readonly port: number;
  readonly logLevel: v.InferOutput<typeof AgentVariables>['LOG_LEVEL'];
  /** None: everyone who reaches the server may do everything. */
  readonly credentials: Credentials | undefined;
  readonly database: Database;
  /** Among servers on one database: one without a heartbeat for so long counts as dead. */
  readonly leaseMs: number;
  /** The largest request body. */
  readonly bodyLimitBytes: number;
  /** How long sessions are stored. */
  readonly retention: RetentionLimits;
};

const DAY_MS = 86_400_000;
const UNPROTECTED =
  'AGENT_SERVER_PASSWORD: expected a value when HOST is not this machine alone; AGENT_ALLOW_ANONYMOUS=true allows access without a password';

const toListenAccess = ({ HOST, AGENT_SERVER_PASSWORD }: AccessSettings): ListenAccess => ({
  host: HOST,
  hasSecret: AGENT_SERVER_PASSWORD !== undefined,
});

/** Names that belong to the agent server, or to OpenCode. */
const AGENT_NAMES = /^(?:AGENT|OPENCODE)_/;

/** What OpenCode's own server calls ours. */
const NAMES_OF_OPENCODE: ReadonlyMap<string, string> = new Map([
  ['OPENCODE_SERVER_USERNAME', 'AGENT_SERVER_USERNAME'],
  ['OPENCODE_SERVER_PASSWORD', 'AGENT_SERVER_PASSWORD'],
]);

/** Variables without effect that look like one of the agent server, or are OpenCode's. */
export const unknownAgentVariables = (variables: Variables): UnknownVariables =>
  unknownVariables(variables, AGENT_NAMES, Object.keys(AgentVariables.entries), NAMES_OF_OPENCODE);

/** The settings from the variables. Throws one `ConfigError` with every problem. The configuration is read on its own. */
export const readAgentSettings = (variables: Variables): AgentServerSettings => {
  const problems: string[] = [];
  const settings = collectProblems(() => readVariables(AgentVariables, variables), problems);
  const access = collectProblems(() => readVariables(AccessVariables, variables), []);
  if (access?.AGENT_ALLOW_ANONYMOUS === 'false' && isUnprotected(toListenAccess(access))) problems.push(UNPROTECTED);
  if (access !== undefined && access.AGENT_SERVER_PASSWORD === undefined)
    problems.push(...misspeltAccess(unknownAgentVariables(variables), ['AGENT_SERVER_PASSWORD']));
  if (settings === undefined || problems.length > 0) throw new ConfigError(problems);
  const { host, isLocalByDefault } = listenAddress(toListenAccess(settings));
  const { AGENT_SERVER_USERNAME: username, AGENT_SERVER_PASSWORD: password } = settings;
  return {
    host,
    isLocalWithoutPassword: isLocalByDefault,
    port: settings.PORT,
    logLevel: settings.LOG_LEVEL,
    credentials: password === undefined ? undefined : { username, password },
    database: settings.AGENT_DATABASE_URL,
    bodyLimitBytes: settings.AGENT_MAX_BODY_BYTES,
    leaseMs: settings.AGENT_LEASE_SECONDS * 1000,
    retention: settings.AGENT_RETENTION_DAYS === 0 ? {} : { ageMs: settings.AGENT_RETENTION_DAYS * DAY_MS },
  };
};

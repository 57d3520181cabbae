import * as v from 'valibot';
import {
  CommaList,
  ConfigError,
  collectProblems,
  isBaseUrl,
  misspeltAccess,
  OneOf,
  readVariables,
  type UnknownVariables,
  unknownVariables,
  type Variables,
  WholeNumber,
  withoutVersionPath,
} from '../core/config.ts';
import { type Credentials, isLoopback } from '../core/http/auth.ts';
import { listenAddress, Password, UserName } from '../core/http/listen-settings.ts';
import { LOG_LEVELS } from '../core/log.ts';
import type { LoginWay } from './accounts/access.ts';
import { ANY_NAME, type ConsoleUser, parseUsers } from './accounts/users.ts';

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

const BaseUrl = (example: string) =>
  v.pipe(
    v.string(),
    v.trim(),
    v.check(isBaseUrl, `expected an address such as ${example}, without user, query or fragment`),
    v.transform(withoutSlash),
  );
/** Of a service that is asked below `/v1`: an address that ends in it is taken too. */
const ServiceUrl = (example: string) => v.pipe(BaseUrl(example), v.transform(withoutVersionPath));
const AgentUrls = v.pipe(
  CommaList,
  v.check(
    (urls) => urls.every(isBaseUrl),
    'expected addresses such as http://127.0.0.1:4000, without user, query or fragment, separated by commas',
  ),
  v.transform((urls) => [...new Set(urls.map(withoutSlash))]),
);
const Key = v.pipe(
  v.string(),
  v.trim(),
  v.regex(/^[\x21-\x7e]{1,512}$/, 'expected a key of 1 to 512 printable characters without blanks'),
);
const Users = v.pipe(
  v.string(),
  v.check(
    (text) => parseUsers(text) !== undefined,
    `expected <name>:<viewer, approver or admin>:<hash of gatehouse console hash-password>, separated by commas, or a JSON array of {"name","role","hash"}; each name once, and not the name unknown`,
  ),
  v.transform((text) => parseUsers(text) ?? []),
);
const SECRET_RULE = 'expected at least 32 characters, such as those of openssl rand -hex 32';
const HEADER_RULE = 'expected the name of a header, such as x-forwarded-user';
const NOTIFY_RULE = 'expected an http or https address, without user or fragment';

const isWebhook = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && hash === '';
};

/** Every variable of the console, by name. */
export const ConsoleVariables = v.object({
  HOST: v.optional(v.pipe(v.string(), v.trim())),
  PORT: v.optional(WholeNumber(0, 65_535), '4200'),
  LOG_LEVEL: v.optional(OneOf(LOG_LEVELS), 'info'),
  CONSOLE_GATEWAY_URL: v.optional(ServiceUrl('http://127.0.0.1:8000')),
  GATEWAY_ADMIN_KEY: v.optional(Key),
  CONSOLE_AGENT_URLS: v.optional(AgentUrls, ''),
  AGENT_SERVER_USERNAME: v.optional(UserName, 'opencode'),
  AGENT_SERVER_PASSWORD: v.optional(Password),
  CONSOLE_BRIDGE_URL: v.optional(ServiceUrl('http://127.0.0.1:4100')),
  CONSOLE_BRIDGE_KEY: v.optional(Key),
  RELAY_JOURNAL: v.optional(v.pipe(v.string(), v.trim())),
  CONSOLE_USERS: v.optional(Users, ''),
  CONSOLE_SECRET: v.optional(v.pipe(v.string(), v.trim(), v.minLength(32, SECRET_RULE))),
  CONSOLE_DATA_DIRECTORY: v.optional(v.pipe(v.string(), v.trim())),
  CONSOLE_TRUST_HEADER: v.optional(
    v.pipe(v.string(), v.trim(), v.toLowerCase(), v.regex(/^[a-z0-9-]{1,64}$/, HEADER_RULE)),
  ),
  CONSOLE_PUBLIC_URL: v.optional(BaseUrl('https://console.example.org')),
  CONSOLE_NOTIFY_URL: v.optional(v.pipe(v.string(), v.trim(), v.check(isWebhook, NOTIFY_RULE))),
  CONSOLE_NOTIFY_FORMAT: v.optional(OneOf(['json', 'ntfy', 'slack']), 'json'),
});
type ParsedVariables = v.InferOutput<typeof ConsoleVariables>;

const AccessVariables = v.pick(ConsoleVariables, ['HOST', 'CONSOLE_USERS', 'CONSOLE_TRUST_HEADER']);

/** Where requests are announced, and in whose form. */
export type NotifySettings = { readonly url: string; readonly format: ParsedVariables['CONSOLE_NOTIFY_FORMAT'] };

export type ConsoleSettings = {
  readonly host: string;
  /** HOST is not set, and without accounts the console listens on this machine only. The start logs that. */
  readonly isLocalWithoutUsers: boolean;
  readonly port: number;
  readonly logLevel: ParsedVariables['LOG_LEVEL'];
  readonly way: LoginWay;
  readonly users: readonly ConsoleUser[];
  /** Signs cookies and links; undefined: one is made at the start. */
  readonly secret: string | undefined;
  /** Where logouts are kept; undefined: in memory. */
  readonly dataDirectory: string | undefined;
  readonly publicUrl: string | undefined;
  readonly gateway: { readonly url: string | undefined; readonly key: string | undefined };
  readonly agents: { readonly urls: readonly string[]; readonly credentials: Credentials | undefined };
  readonly bridge: { readonly url: string | undefined; readonly key: string | undefined };
  readonly journalFile: string | undefined;
  readonly notify: NotifySettings | undefined;
};

const NEEDS_USERS =
  'CONSOLE_USERS: expected at least one user with a hash when HOST is not this machine alone; gatehouse console hash-password makes a hash';
const NEEDS_HASHES =
  'CONSOLE_USERS: expected a hash for every user, made by gatehouse console hash-password; only with CONSOLE_TRUST_HEADER can one go without';
const PUBLIC_TRUST =
  'CONSOLE_TRUST_HEADER: expected HOST to be this machine alone, such as 127.0.0.1, with the proxy beside it: from elsewhere anyone could send this header';
const TRUST_WITHOUT_USERS =
  'CONSOLE_TRUST_HEADER: expected the roles of the names in CONSOLE_USERS, such as ann:admin,*:viewer';

const NEEDS_ADDRESS =
  'CONSOLE_PUBLIC_URL: is required with CONSOLE_NOTIFY_URL: the address of the console, as those who get the links reach it';

const NEEDS_TOPIC =
  'CONSOLE_NOTIFY_URL: expected a topic at its end, such as https://ntfy.sh/approvals, of up to 64 letters, digits, - and _, as CONSOLE_NOTIFY_FORMAT is ntfy';
const ENDS_IN_TOPIC = /\/[\w-]{1,64}\/*$/;

const notifyProblems = (read: ParsedVariables): readonly string[] => {
  const { CONSOLE_NOTIFY_URL: url, CONSOLE_NOTIFY_FORMAT: format, CONSOLE_PUBLIC_URL } = read;
  if (url === undefined) return [];
  const hasTopic = format !== 'ntfy' || ENDS_IN_TOPIC.test(new URL(url).pathname);
  return [...(CONSOLE_PUBLIC_URL === undefined ? [NEEDS_ADDRESS] : []), ...(hasTopic ? [] : [NEEDS_TOPIC])];
};

const accessProblems = ({
  HOST,
  CONSOLE_USERS,
  CONSOLE_TRUST_HEADER,
}: v.InferOutput<typeof AccessVariables>): readonly string[] => {
  const isLocal = HOST === undefined || isLoopback(HOST);
  if (CONSOLE_TRUST_HEADER !== undefined)
    return [...(isLocal ? [] : [PUBLIC_TRUST]), ...(CONSOLE_USERS.length > 0 ? [] : [TRUST_WITHOUT_USERS])];
  if (CONSOLE_USERS.some(({ name, hash }) => hash === undefined || name === ANY_NAME)) return [NEEDS_HASHES];
  return isLocal || CONSOLE_USERS.length > 0 ? [] : [NEEDS_USERS];
};

const wayOf = ({ CONSOLE_USERS, CONSOLE_TRUST_HEADER: header, CONSOLE_PUBLIC_URL }: ParsedVariables): LoginWay => {
  if (header !== undefined) {
    const publicHost = CONSOLE_PUBLIC_URL === undefined ? undefined : new URL(CONSOLE_PUBLIC_URL).host;
    return { kind: 'proxy', header, publicHost };
  }
  return { kind: CONSOLE_USERS.length > 0 ? 'password' : 'none' };
};

const CONSOLE_NAMES = /^CONSOLE_/;

/** Variables that look like the console's and have no effect. */
export const unknownConsoleVariables = (variables: Variables): UnknownVariables =>
  unknownVariables(variables, CONSOLE_NAMES, Object.keys(ConsoleVariables.entries));

/** The console's settings from its variables. Throws one `ConfigError` with every problem. */
export const readConsoleSettings = (variables: Variables): ConsoleSettings => {
  const problems: string[] = [];
  const read = collectProblems(() => readVariables(ConsoleVariables, variables), problems);
  const access = collectProblems(() => readVariables(AccessVariables, variables), []);
  if (access !== undefined) problems.push(...accessProblems(access));
  if (access?.CONSOLE_USERS.length === 0 && access.CONSOLE_TRUST_HEADER === undefined)
    problems.push(...misspeltAccess(unknownConsoleVariables(variables), ['CONSOLE_USERS', 'CONSOLE_TRUST_HEADER']));
  if (read !== undefined) problems.push(...notifyProblems(read));
  if (read === undefined || problems.length > 0) throw new ConfigError(problems);
  const way = wayOf(read);
  const { host, isLocalByDefault } = listenAddress({ host: read.HOST, hasSecret: way.kind === 'password' });
  const { AGENT_SERVER_USERNAME: username, AGENT_SERVER_PASSWORD: password, CONSOLE_NOTIFY_URL: notifyUrl } = read;
  return {
    host,
    isLocalWithoutUsers: isLocalByDefault && way.kind === 'none',
    port: read.PORT,
    logLevel: read.LOG_LEVEL,
    way,
    users: read.CONSOLE_USERS,
    secret: read.CONSOLE_SECRET,
    dataDirectory: read.CONSOLE_DATA_DIRECTORY,
    publicUrl: read.CONSOLE_PUBLIC_URL,
    gateway: { url: read.CONSOLE_GATEWAY_URL, key: read.GATEWAY_ADMIN_KEY },
    agents: {
      urls: read.CONSOLE_AGENT_URLS,
      credentials: password === undefined ? undefined : { username, password },
    },
    bridge: { url: read.CONSOLE_BRIDGE_URL, key: read.CONSOLE_BRIDGE_KEY },
    journalFile: read.RELAY_JOURNAL,
    notify: notifyUrl === undefined ? undefined : { url: notifyUrl, format: read.CONSOLE_NOTIFY_FORMAT },
  };
};

type StartNotice = { readonly level: 'info' | 'warn'; readonly event: string; readonly reason: string };

/** What the log says at the start: what ends with the process, and who is let in where that was not set. */
export const startNotices = (settings: ConsoleSettings): readonly StartNotice[] => {
  const { secret, way, dataDirectory, isLocalWithoutUsers } = settings;
  const notices: StartNotice[] = [];
  if (secret === undefined) {
    const reason = 'CONSOLE_SECRET is not set: logins and links end with this process';
    notices.push({ level: 'info', event: 'secret-made', reason });
  } else if (way.kind === 'password' && dataDirectory === undefined) {
    const reason =
      'CONSOLE_DATA_DIRECTORY is not set: after a restart, a copied cookie of a user who has logged out is valid again';
    notices.push({ level: 'info', event: 'logouts-in-memory', reason });
  }
  if (isLocalWithoutUsers) {
    const reason = 'no CONSOLE_USERS are set: everyone on this machine is an admin, and no one else is let in';
    notices.push({ level: 'warn', event: 'this-machine-only', reason });
  }
  return notices;
};

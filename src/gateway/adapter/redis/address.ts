import { ConfigError } from '../../../core/config.ts';

/** A server of a Redis Cluster, or a Sentinel. */
type RedisNode = { readonly host: string; readonly port: number };

/** Where the shared Redis is: one server, a Redis Cluster, or a primary that Sentinels know. */
export type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  | {
      readonly kind: 'cluster' | 'sentinel';
      /** Some of the cluster's servers, or Sentinels. The others are found through them. */
      readonly nodes: readonly RedisNode[];
      readonly isTls: boolean;
      readonly username: string | undefined;
      readonly password: string | undefined;
      /** What the Sentinels call the primary. Empty for a cluster. */
      readonly primary: string;
      /** Of the Sentinels themselves. */
      readonly sentinelPassword: string | undefined;
    };

const FORMS =
  'redis://host:port, redis-cluster://host:port or redis-sentinel://host:port/primary (more hosts after commas; rediss for TLS)';
const CREDENTIALS = 'user and password: expected @, / and ? in them as %40, %2F and %3F';

const SCHEME = /^redis(?<tls>s?)(?:-(?<kind>cluster|sentinel))?:\/\/(?<rest>.*)$/s;
const PARTS =
  /^(?:(?<username>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?(?<hosts>[^@/?]*)(?:\/(?<path>[^@?]*))?(?:\?(?<query>.*))?$/s;
const PRIMARY = /^[\w.:-]+$/;
const SENTINEL_PASSWORD = /^sentinelPassword=([^&#]+)$/;
const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;
const PORTS = { cluster: 6379, sentinel: 26_379 };

const decoded = (text: string | undefined): string | undefined => {
  if (text === undefined || text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const parseNode = (text: string, defaultPort: number): RedisNode | undefined => {
  const [, ipv6, name, digits] = HOST.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
};

/** What is wrong after the hosts. A cluster has one database and no name; of Sentinels only the name says what to ask them for. */
const endProblems = (isSentinel: boolean, path: string | undefined, query: string | undefined): string[] => {
  if (!isSentinel)
    return [
      ...(path === undefined
        ? []
        : ['database: expected none, no / after the hosts: a Redis Cluster has one database']),
      ...(query === undefined ? [] : ['expected no ? after the hosts of a Redis Cluster']),
    ];
  return [
    ...(PRIMARY.test(path ?? '')
      ? []
      : ['primary: expected the name that the Sentinels know, as /primary after the hosts']),
    ...(query === undefined || SENTINEL_PASSWORD.test(query)
      ? []
      : ['after the ?: expected sentinelPassword=... and nothing else, with & and # in it as %26 and %23']),
  ];
};

const wrong = (problems: readonly string[]): ConfigError =>
  new ConfigError(problems.map((problem) => `REDIS_URL: ${problem}`));

/**
 * The address in a `REDIS_URL`. User and passwords are percent-encoded, as in any URL. Throws a `ConfigError` that names each wrong part,
 * never its text.
 */
export const parseRedisAddress = (text: string): RedisAddress => {
  const { tls, kind, rest } = SCHEME.exec(text)?.groups ?? {};
  if (rest !== undefined && kind === undefined && URL.canParse(text)) return { kind: 'server', url: text };
  if (rest === undefined || (kind !== 'cluster' && kind !== 'sentinel')) throw wrong([`expected ${FORMS}`]);
  const { username, password, hosts, path, query } = PARTS.exec(rest)?.groups ?? {};
  const isQuery = query === undefined || query.startsWith('sentinelPassword=');
  if (hosts === undefined || (!isQuery && query.includes('@'))) throw wrong([CREDENTIALS]);
  const given = hosts.split(',');
  const nodes = given.map((host) => parseNode(host, PORTS[kind]));
  const known = nodes.filter((node) => node !== undefined);
  const problems = nodes.flatMap((node, index) =>
    node === undefined ? [`host ${index + 1} of ${given.length}: expected host:port with a port from 1 to 65535`] : [],
  );
  problems.push(...endProblems(kind === 'sentinel', path, query));
  if (problems.length > 0) throw wrong(problems);
  return {
    kind,
    nodes: known,
    isTls: tls === 's',
    username: decoded(username),
    password: decoded(password),
    primary: path ?? '',
    sentinelPassword: decoded(SENTINEL_PASSWORD.exec(query ?? '')?.[1]),
  };
};

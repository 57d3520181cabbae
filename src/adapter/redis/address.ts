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

/** What `parseRedisAddress` takes, for people. */
export const REDIS_ADDRESS_RULE =
  'redis://host:port, redis-cluster://host:port or redis-sentinel://host:port/primary (more hosts after commas; rediss for TLS)';

const SERVER = /^rediss?:\/\//;
const SEVERAL =
  /^redis(?<tls>s?)-(?<kind>cluster|sentinel):\/\/(?:(?<username>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<primary>[\w.:-]+))?(?:\?sentinelPassword=(?<sentinelPassword>[^&#]+))?$/;
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

/** The address in a `REDIS_URL`; undefined when it is none. User and password are percent-encoded, as in any URL. */
export const parseRedisAddress = (text: string): RedisAddress | undefined => {
  if (SERVER.test(text)) return URL.canParse(text) ? { kind: 'server', url: text } : undefined;
  const { tls, kind, username, password, hosts, primary, sentinelPassword } = SEVERAL.exec(text)?.groups ?? {};
  if (kind !== 'cluster' && kind !== 'sentinel') return undefined;
  const isSentinel = kind === 'sentinel';
  // A cluster has one database and no name; of Sentinels only the name says what to ask them for.
  if ((primary !== undefined) !== isSentinel || (sentinelPassword !== undefined && !isSentinel)) return undefined;
  const nodes = (hosts ?? '').split(',').map((host) => parseNode(host, PORTS[kind]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  return {
    kind,
    nodes,
    isTls: tls === 's',
    username: decoded(username),
    password: decoded(password),
    primary: primary ?? '',
    sentinelPassword: decoded(sentinelPassword),
  };
};

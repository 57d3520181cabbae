import * as v from 'valibot';

/** Where the relay is: the only place that requests may go to. */
export type RelayAddress = {
  /** `http://relay.apps.svc.cluster.local:8080`, without a slash at the end. */
  readonly origin: string;
  /** The host's name alone, which is what may be shown. */
  readonly host: string;
};

const URL_RULE =
  'expected http(s)://host or http(s)://host:port in plain lower-case letters, without user, path, query or fragment';
const INSIDE_RULE =
  'expected https, because the admin key would cross a public network in the clear; http is for hosts inside: one word, 127.0.0.1, a private address, .svc, .local, .internal';
const HOST_RULE = 'RELAY_ALLOWED_HOST: expected the host name of RELAY_BASE_URL, without scheme and port';

const PLAIN_URL = /^https?:\/\/([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[1-9]\d{0,4})?\/?$/;
const INSIDE_NAME = /^[a-z0-9_-]+$|\.(?:svc|local|internal|lan|home\.arpa|test|localhost)$/;
const INSIDE_ADDRESS =
  /^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^\[(?:::1|f[cd][0-9a-f]{2}:[0-9a-f:]+)\]$/;

const isInside = (host: string): boolean =>
  /^[\d.]+$|^\[/.test(host) ? INSIDE_ADDRESS.test(host) : INSIDE_NAME.test(host);

/** The address in a base URL that says what the URL parser makes of it. */
const addressIn = (baseUrl: string): RelayAddress | undefined => {
  const [, host] = PLAIN_URL.exec(baseUrl) ?? [];
  if (host === undefined || !URL.canParse(baseUrl)) return undefined;
  const { origin, hostname } = new URL(baseUrl);
  return hostname === host ? { origin, host } : undefined;
};
const mayCarryKey = (baseUrl: string): boolean => {
  const address = addressIn(baseUrl);
  return address === undefined || baseUrl.startsWith('https:') || isInside(address.host);
};

/**
 * The base URL of the relay. A text that the URL parser would read as another host than it shows (`127.1`, `0x7f000001`,
 * `relay@evil`, a trailing dot) is refused.
 */
export const BaseUrl = v.pipe(
  v.string(),
  v.trim(),
  v.check((text) => addressIn(text) !== undefined, URL_RULE),
  v.check(mayCarryKey, INSIDE_RULE),
);

/** The address from a `BaseUrl` and the host that it has to name once more, or the rule that was broken. */
export const relayAddress = (baseUrl: string, allowedHost: string): RelayAddress | string => {
  const address = addressIn(baseUrl);
  return address?.host === allowedHost ? address : HOST_RULE;
};

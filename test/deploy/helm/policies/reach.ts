import { COMPONENT, containerOf, type Manifest, only } from '../world.ts';

/** A connection as a network policy sees it: behind a Service, at a port of a pod. */
export type Connection = {
  readonly to: 'outside' | { readonly namespace: string; readonly labels: Readonly<Record<string, string>> };
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
};

type Labels = Readonly<Record<string, string>>;
const matches = (labels: Labels, wanted: Labels = {}): boolean =>
  Object.entries(wanted).every(([name, text]) => labels[name] === text);

const fitsPeer = (peer: Manifest, { to }: Connection, own: string): boolean => {
  if (to === 'outside') return false;
  const { namespaceSelector, podSelector } = peer;
  const isThere =
    namespaceSelector === undefined
      ? to.namespace === own
      : matches({ 'kubernetes.io/metadata.name': to.namespace }, namespaceSelector.matchLabels);
  return isThere && matches(to.labels, podSelector?.matchLabels);
};

/** Whether what the chart renders lets the pods of a service make a connection, by the rules of Kubernetes. */
export const mayCall = (all: readonly Manifest[], service: string, connection: Connection): boolean => {
  const { labels } = only(all, 'Deployment', service).spec.template.metadata;
  const policies = all.filter(
    ({ kind, spec }) =>
      kind === 'NetworkPolicy' && spec.policyTypes.includes('Egress') && matches(labels, spec.podSelector.matchLabels),
  );
  if (policies.length === 0) return true;
  return policies.some(({ metadata, spec }) =>
    spec.egress.some(
      ({ ports, to }: Manifest) =>
        (ports === undefined ||
          ports.some(
            ({ port, protocol }: Manifest) => port === connection.port && protocol === (connection.protocol ?? 'TCP'),
          )) &&
        (to === undefined || to.some((peer: Manifest) => fitsPeer(peer, connection, metadata.namespace))),
    ),
  );
};

/** Ports that pods may listen on behind a Service, whatever port it has itself. */
const OTHER_PORTS = [1024, 8443, 31_999];
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'redis:': 6379 };

/** Where connections to an address may end, by the rules of the cluster's DNS and of Services. */
const endsOf = (all: readonly Manifest[], address: string, own: string): readonly Connection[] => {
  const { protocol, hostname, port } = new URL(address);
  const [name = '', namespace = own, ...rest] = hostname.split('.');
  const isOurs = all.some(({ kind, metadata }) => kind === 'Service' && metadata.name === hostname);
  if (isOurs) {
    const service = only(all, 'Service', name.replace(/^.*-/, '')).metadata.labels[COMPONENT];
    const pod = only(all, 'Deployment', service);
    const { labels } = pod.spec.template.metadata;
    return [{ to: { namespace: own, labels }, port: containerOf(pod).ports[0].containerPort }];
  }
  const asked = Number(port) || (DEFAULT_PORTS[protocol] ?? 0);
  const isInside = rest.length === 0 || rest[0] === 'svc';
  const outside: readonly Connection[] = [{ to: 'outside', port: asked }];
  if (!isInside || namespace === 'com') return outside;
  return [...outside, ...[asked, ...OTHER_PORTS].map((at) => ({ to: { namespace, labels: {} }, port: at }))];
};

/** Variables whose values are keys and names. From a Secret, any other may be an address. */
const NO_ADDRESS = /(?:_KEYS?|_PASSWORD|_SECRET|_USERS|_HEADERS)$/;
/** What a service is told of others' addresses, and does not call. */
const NOT_CALLED = ['CONSOLE_PUBLIC_URL', 'BRIDGE_CORS_ORIGINS', 'NO_PROXY'];

/**
 * What the pod of a service calls, by the variables that it is rendered with: the ends of all connections, and the names of
 * variables that hold an address which the values do not tell.
 */
export const callsOf = (
  all: readonly Manifest[],
  service: string,
): { readonly known: readonly Connection[]; readonly unknown: readonly string[] } => {
  const deployment = only(all, 'Deployment', service);
  const variables: readonly Manifest[] = containerOf(deployment).env;
  const named = (name: string) => variables.some((variable) => variable.name === name);
  const cloud = service === 'gateway' && !named('BACKEND_BASE_URL') && !named('BACKEND_CLOUD_URL');
  const texts = variables.filter(({ name }) => !NOT_CALLED.includes(name)).map(({ value = '' }) => String(value));
  const addresses = [
    ...(cloud ? ['https://ollama.com'] : []),
    ...texts.flatMap((text) => text.split(/[,\s"]+/)).filter((text) => text.includes('://')),
  ];
  return {
    known: addresses
      .filter((address) => !/^sqlite:/.test(address))
      .flatMap((address) => endsOf(all, address, deployment.metadata.namespace)),
    unknown: variables.filter(({ name, valueFrom }) => valueFrom && !NO_ADDRESS.test(name)).map(({ name }) => name),
  };
};

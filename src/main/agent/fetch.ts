import type { ProxiedFetch } from '../../adapter/node/undici-client.ts';
import type { ProviderConfig } from '../../agent/config/types.ts';
import { collectProblems, type Variables } from '../../core/config.ts';

/** Node's own `fetch` gives up a backend that is silent for longer. */
const NODE_LIMIT_MS = 300_000;

/** How the agent server asks models and tool servers over HTTP. */
export type AgentFetch = {
  readonly models: ProxiedFetch['fetch'];
  readonly tools: ProxiedFetch['fetch'];
  readonly close: () => Promise<void>;
};

const hasProxy = (variables: Variables): boolean =>
  ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].some((name) => (variables[name] ?? '').trim() !== '');

const isPatient = ({ limits: { headerMs, gapMs } }: ProviderConfig): boolean =>
  [headerMs, gapMs].some((limitMs) => limitMs === 0 || limitMs > NODE_LIMIT_MS);

/**
 * Node's own `fetch` where that will do. The library for proxies and for longer waits is only loaded where one is wanted.
 * A proxy that is no address becomes one of the problems.
 */
export const agentFetch = async (
  variables: Variables,
  providers: Iterable<ProviderConfig>,
  problems: string[],
): Promise<AgentFetch> => {
  const isProxied = hasProxy(variables);
  if (!isProxied && ![...providers].some(isPatient)) return { models: fetch, tools: fetch, close: async () => {} };
  const { createProxiedFetch, readProxySettings } = await import('../../adapter/node/undici-client.ts');
  const proxied = createProxiedFetch(collectProblems(() => readProxySettings(variables), problems) ?? {});
  return { models: proxied.fetch, tools: isProxied ? proxied.fetch : fetch, close: proxied.close };
};

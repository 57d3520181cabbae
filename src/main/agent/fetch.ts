import type { ProxiedFetch } from '../../adapter/node/undici-client.ts';
import type { ProviderConfig } from '../../agent/config/types.ts';
import { collectProblems, type Variables } from '../../core/config.ts';

/** Node's own `fetch` aborts a request whose backend is silent for longer. */
const NODE_LIMIT_MS = 300_000;

/** The `fetch` functions for models and for tool servers. */
type AgentFetch = {
  readonly models: ProxiedFetch['fetch'];
  readonly tools: ProxiedFetch['fetch'];
  readonly close: () => Promise<void>;
};

const hasProxy = (variables: Variables): boolean =>
  ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].some((name) => (variables[name] ?? '').trim() !== '');

const needsLongTimeout = ({ limits: { headerMs, gapMs } }: ProviderConfig): boolean =>
  [headerMs, gapMs].some((limitMs) => limitMs === 0 || limitMs > NODE_LIMIT_MS);

/**
 * Node's own `fetch` where it is enough. The library for proxies and for longer timeouts is loaded only when needed. A
 * malformed proxy address is added to `problems`.
 */
export const createAgentFetch = async (
  variables: Variables,
  providers: Iterable<ProviderConfig>,
  problems: string[],
): Promise<AgentFetch> => {
  const isProxied = hasProxy(variables);
  if (!isProxied && ![...providers].some(needsLongTimeout))
    return { models: fetch, tools: fetch, close: async () => {} };
  const { createProxiedFetch, readProxySettings } = await import('../../adapter/node/undici-client.ts');
  const proxied = createProxiedFetch(collectProblems(() => readProxySettings(variables), problems) ?? {});
  return { models: proxied.fetch, tools: isProxied ? proxied.fetch : fetch, close: proxied.close };
};

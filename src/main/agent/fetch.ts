import type { ProxiedFetch } from '../../adapter/node/undici-client.ts';
import type { ProviderConfig } from '../../agent/config/types.ts';
import { collectProblems, type Variables } from '../../core/config.ts';

/** Node's own `fetch` gives up a backend that is silent for longer. */
const NODE_LIMIT_MS = 300_000;

type Ask = ProxiedFetch['ask'];
/** How the agent server asks models and tool servers over HTTP. */
export type AgentFetch = { readonly models: Ask; readonly tools: Ask; readonly close: () => Promise<void> };

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
  const [{ createProxiedFetch }, { proxiesFrom }] = await Promise.all([
    import('../../adapter/node/undici-client.ts'),
    import('../../adapter/node/undici-client.ts'),
  ]);
  const { ask, close } = createProxiedFetch(collectProblems(() => proxiesFrom(variables), problems) ?? {});
  return { models: ask, tools: isProxied ? ask : fetch, close };
};

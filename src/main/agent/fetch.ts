import type { ProxiedFetch } from '../../adapter/node/undici-client.ts';
import { createStreamingFetch } from '../../agent/adapter/streaming-fetch.ts';
import type { Fetcher } from '../../agent/model/http.ts';
import { collectProblems, type Variables } from '../../core/config.ts';
import { loadOnce } from './deferred.ts';

/** The ways to models and to tool servers. */
type AgentFetch = {
  /** Loads what requests to models need. */
  readonly models: () => Promise<Fetcher>;
  readonly tools: ProxiedFetch['fetch'];
  readonly close: () => Promise<void>;
};

const hasProxy = (variables: Variables): boolean =>
  ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].some((name) => (variables[name] ?? '').trim() !== '');

/**
 * Connections of their own for models, without a time limit but that of the configuration, and Node's own `fetch` for tool
 * servers where no proxy is set. The library for both is loaded at once only for a proxy. A malformed proxy address is added to
 * `problems`.
 */
export const createAgentFetch = async (variables: Variables, problems: string[]): Promise<AgentFetch> => {
  const load = () => import('../../adapter/node/undici-client.ts');
  if (hasProxy(variables)) {
    const { createProxiedFetch, readProxySettings } = await load();
    const {
      dispatcher,
      fetch: tools,
      close,
    } = createProxiedFetch(collectProblems(() => readProxySettings(variables), problems) ?? {});
    return { models: async () => createStreamingFetch(dispatcher), tools, close };
  }
  let close = async (): Promise<void> => {};
  const models = loadOnce(async () => {
    const { createProxiedFetch } = await load();
    const own = createProxiedFetch({});
    close = own.close;
    return createStreamingFetch(own.dispatcher);
  });
  return { models, tools: fetch, close: () => close() };
};

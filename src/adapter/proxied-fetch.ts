import { dispatcherFor, type ProxySettings } from './node/undici-client.ts';

export type ProxiedFetch = {
  readonly ask: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** Breaks off what still runs. */
  readonly close: () => Promise<void>;
};

/**
 * Node's own `fetch`, through the proxies when there are any, and as patient as its caller: by itself it gives up a
 * backend that is silent for 300 s.
 */
export const createProxiedFetch = (proxies: ProxySettings): ProxiedFetch => {
  const dispatcher = dispatcherFor(proxies);
  return {
    ask(url, init) {
      // Node takes it, and the platform's type does not know it.
      const more = { ...init, dispatcher };
      return fetch(url, more);
    },
    close: () => dispatcher.destroy(),
  };
};

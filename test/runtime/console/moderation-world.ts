import { judgedBy, startBackend } from '../backends.ts';
import { moderate } from '../client.ts';
import { type Gateway, startGateway } from '../gateway/process.ts';
import { bundle, type Running, start } from '../processes.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

const ADMIN_KEY = 'canary-admin-key-1';
const CLIENT_KEY = 'canary-gateway-key-1';
/** No secret of the gateway or the console. */
export const SECRETS = /canary-(?:admin|gateway|backend)/;

/** A console for whoever uses this machine, before a gateway with two backend keys, and a browser. */
export type ModerationWorld = {
  readonly url: string;
  readonly browser: TestBrowser;
  readonly gateway: Gateway;
  /** Asks the gateway for a verdict as a client does. */
  readonly ask: (input: string) => Promise<number>;
  readonly end: () => Promise<void>;
};

/** Starts all of it. `end` ends it. */
export const startModerationWorld = async (): Promise<ModerationWorld> => {
  const backend = await startBackend();
  const variables = {
    ...judgedBy(backend.address),
    MODERATION_API_KEYS: CLIENT_KEY,
    GATEWAY_ADMIN_KEY: ADMIN_KEY,
    BACKEND_API_KEYS: 'canary-backend-1,canary-backend-2',
  };
  const [gateway, browser] = await Promise.all([startGateway(variables), startBrowser()]);
  const running: Running = start(process.execPath, [bundle('console.js')], {
    variables: {
      HOST: '127.0.0.1',
      PORT: '0',
      CONSOLE_GATEWAY_URL: gateway.address,
      GATEWAY_ADMIN_KEY: ADMIN_KEY,
    },
  });
  const [, url = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
  return {
    url,
    browser,
    gateway,
    ask: async (input) => (await moderate(gateway.address, { input })).status,
    async end() {
      await browser.end();
      await Promise.all([running.kill(), gateway.kill()]);
      await backend.stop();
    },
  };
};

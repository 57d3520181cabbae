import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { formatPasswordHash } from '../../../src/console/accounts/password-hash.ts';
import { deriveScryptKey } from '../../../src/console/adapter/scrypt.ts';
import { bundle, type Running, start, type Variables } from '../processes.ts';
import { type FakeAgent, startFakeAgent } from './fake-agent.ts';
import { BRIDGE_KEY, startFakeBridge } from './fake-bridge.ts';
import { ADMIN_KEY, type FakeGateway, startFakeGateway } from './fake-gateway.ts';

export const PASSWORD = 'correct-canary-password';
/** Cheap on purpose: what a real hash costs is no matter of the page. */
const COST = { cost: 1024, blockSize: 8, parallel: 1 };

const userLine = async (name: string, role: string): Promise<string> => {
  const salt = randomBytes(16).toString('base64url');
  const hash = formatPasswordHash({ ...COST, salt, key: await deriveScryptKey(PASSWORD, salt, COST) });
  return `${name}:${role}:${hash}`;
};

/** Where the console announces requests: it keeps the links that it was sent. */
export type FakeWebhook = {
  readonly url: string;
  /** The links of all announcements so far, the oldest first. */
  readonly links: () => readonly string[];
  /** Resolves when so many have been sent. */
  readonly sent: (count: number) => Promise<void>;
  readonly close: () => void;
};

const startWebhook = async (): Promise<FakeWebhook> => {
  const bodies: string[] = [];
  let wake = (): void => {};
  const server = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.end('ok');
    wake();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const links = () => bodies.flatMap((body) => /https?:\/\/[^\s"<>|]+\/a\/[\w.~-]+/.exec(body) ?? []);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    links,
    async sent(count) {
      while (links().length < count)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** A console as a process, over an agent server, a gateway and a bridge of the tests. */
export type ConsoleWorld = {
  readonly url: string;
  readonly agent: FakeAgent;
  readonly gateway: FakeGateway;
  readonly webhook: FakeWebhook;
  /** Ends the console's process alone, and starts it again at the same address. */
  readonly stopConsole: () => Promise<void>;
  readonly startConsole: () => Promise<void>;
  readonly end: () => Promise<void>;
};

/** The users anna (admin), bob (approver) and vera (viewer) have one password.*/
export const startConsoleWorld = async (variables: Variables = {}): Promise<ConsoleWorld> => {
  const [agent, gateway, bridge, webhook, ...users] = await Promise.all([
    startFakeAgent(),
    startFakeGateway(),
    startFakeBridge(),
    startWebhook(),
    userLine('anna', 'admin'),
    userLine('bob', 'approver'),
    userLine('vera', 'viewer'),
  ]);
  const startProcess = async (port: string): Promise<{ readonly process: Running; readonly url: string }> => {
    const running = start(process.execPath, [bundle('console.js')], {
      variables: {
        HOST: '127.0.0.1',
        PORT: port,
        CONSOLE_AGENT_URLS: agent.url,
        AGENT_SERVER_PASSWORD: 'canary-agent-password',
        CONSOLE_GATEWAY_URL: gateway.url,
        GATEWAY_ADMIN_KEY: ADMIN_KEY,
        CONSOLE_BRIDGE_URL: bridge.url,
        CONSOLE_BRIDGE_KEY: BRIDGE_KEY,
        CONSOLE_USERS: users.join(','),
        CONSOLE_NOTIFY_URL: webhook.url,
        // Links begin with it. Tests put the port in.
        CONSOLE_PUBLIC_URL: 'http://127.0.0.1',
        ...variables,
      },
    });
    const [, url = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
    return { process: running, url };
  };
  let current = await startProcess('0');
  const { url } = current;
  return {
    url,
    agent,
    gateway,
    webhook,
    stopConsole: () => current.process.kill(),
    async startConsole() {
      current = await startProcess(new URL(url).port);
    },
    async end() {
      await current.process.kill();
      await Promise.all([agent.close(), gateway.close(), bridge.close()]);
      webhook.close();
    },
  };
};

/** Logs in by the form and waits for the first page. */
export const logIn = async (page: Page, url: string, name: string): Promise<void> => {
  await page.goto(url);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
};

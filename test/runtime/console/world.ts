import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { deriveScryptKey } from '../../../src/adapter/node/crypto.ts';
import { formatPasswordHash } from '../../../src/console/accounts/password-hash.ts';
import { bundle, type Running, start, type Variables } from '../processes.ts';
import { type FakeAgent, startFakeAgent } from './fake-agent.ts';

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

/** A console as a process, over an agent server of the tests. */
export type ConsoleWorld = {
  readonly url: string;
  readonly agent: FakeAgent;
  readonly webhook: FakeWebhook;
  readonly console: Running;
  readonly end: () => Promise<void>;
};

/** The users anna (admin), bob (approver) and vera (viewer) have one password. `port`: where it must listen again. */
export const startConsoleWorld = async (variables: Variables = {}): Promise<ConsoleWorld> => {
  const [agent, webhook, ...users] = await Promise.all([
    startFakeAgent(),
    startWebhook(),
    userLine('anna', 'admin'),
    userLine('bob', 'approver'),
    userLine('vera', 'viewer'),
  ]);
  const running = start(process.execPath, [bundle('console.js')], {
    variables: {
      HOST: '127.0.0.1',
      PORT: '0',
      CONSOLE_AGENT_URLS: agent.url,
      CONSOLE_USERS: users.join(','),
      CONSOLE_NOTIFY_URL: webhook.url,
      ...variables,
    },
  });
  const [, url = ''] = await running.outputMatching(/"event":"listening","address":"([^"]+)"/);
  return {
    url,
    agent,
    webhook,
    console: running,
    async end() {
      await running.kill();
      await agent.close();
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

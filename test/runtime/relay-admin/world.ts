import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { SeenRequest } from '../../../src/demo/relay/interceptor.ts';
import type { RelayControl } from '../../demo/relay/control.ts';
import { type RunningRelay, startRelay } from '../../relay-admin/harness/relay-server.ts';
import { bundle } from '../processes.ts';
import { type ProcessNeeds, type RelayAdminProcess, startRelayAdmin } from './process.ts';

/** A key as the platform makes them, and nobody's. */
export const KEY = 'admin-c4a7a917f0e1d2b3948576a6b5c4d3e2f10f2e3d4c5b6a79880716253443526f';

type Settings = Readonly<Record<string, string>>;
type WorldNeeds = Partial<Omit<ProcessNeeds, 'variables'>> & { readonly variables?: Settings };

export type RelayAdminWorld = {
  readonly relay: RunningRelay;
  readonly control: RelayControl;
  /** The requests that starts have made about their key. */
  readonly askedAboutKey: () => readonly SeenRequest[];
  /** An empty directory, in which the journal comes to be. */
  readonly directory: string;
  readonly journal: string;
  readonly journalText: () => string;
  /** The settings for this relay, its key and the journal among them. */
  readonly settings: (more?: Settings) => Settings;
  readonly start: (needs?: WorldNeeds) => RelayAdminProcess;
  /** The SDK's own client with a process of its own, after the handshake. */
  readonly connect: (more?: Settings) => Promise<Client>;
};

/** What a start asks about its key, in the background. It is left out of the requests that a test looks at. */
const isAboutKey = ({ target }: SeenRequest): boolean => /^\/api\/v1\/admin\/\w+\?page=1&page_size=1$/.test(target);

/** Runs the body beside a relay, and ends the relay and all that was started, whatever came of it. */
const withRelayAdmin = async (body: (world: RelayAdminWorld) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'relay-admin-'));
  const relay = await startRelay({ adminKey: KEY });
  const started: RelayAdminProcess[] = [];
  const clients: Client[] = [];
  const journal = join(directory, 'journal.jsonl');
  const settings = (more: Settings = {}): Settings => ({
    RELAY_BASE_URL: relay.origin,
    RELAY_ALLOWED_HOST: relay.hostname,
    RELAY_ADMIN_API_KEY: KEY,
    RELAY_JOURNAL: journal,
    ...more,
  });
  try {
    await body({
      relay,
      control: { ...relay.control, requests: () => relay.control.requests().filter((one) => !isAboutKey(one)) },
      askedAboutKey: () => relay.control.requests().filter(isAboutKey),
      directory,
      journal,
      journalText: () => (existsSync(journal) ? readFileSync(journal, 'utf8') : ''),
      settings,
      start({ variables = {}, ...needs } = {}) {
        const process = startRelayAdmin({ directory, ...needs, variables: settings(variables) });
        started.push(process);
        return process;
      },
      async connect(more) {
        const client = new Client({ name: 'test', version: '0' });
        clients.push(client);
        const args = [bundle('relay-admin.js')];
        const env = settings({ LOG_LEVEL: 'error', ...more });
        await client.connect(
          new StdioClientTransport({ command: process.execPath, args, env, cwd: directory, stderr: 'ignore' }),
        );
        return client;
      },
    });
  } finally {
    await Promise.all([...clients.map((client) => client.close()), ...started.map((one) => one.kill())]);
    await relay.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};

/** A check's body beside a relay. */
export const inWorld = (body: (world: RelayAdminWorld) => Promise<void>) => (): Promise<void> => withRelayAdmin(body);

/** A key that fits the rule. */
export const keyNumber = (number: number): string => `key-${String(number).padStart(16, '0')}`;

/** The token of a preview of ours. */
export const previewed = async ({ call }: RelayAdminProcess, userId: number, amount: string): Promise<string> => {
  const { structuredContent, content } = await call('preview_recharge', { user_id: userId, amount });
  const { preview_token } = structuredContent ?? {};
  if (typeof preview_token !== 'string') throw new Error(`no preview: ${content[0]?.text}`);
  return preview_token;
};

/** Every POST of a balance that the relay has seen. */
export const rechargesSeen = (control: RelayControl) =>
  control.requests().filter(({ method, target }) => method === 'POST' && target.endsWith('/balance'));

/** Waits until something that another process does is to be seen. */
export const until = async (what: string, isTrue: () => boolean): Promise<void> => {
  for (let waitedMs = 0; !isTrue(); waitedMs += 5) {
    if (waitedMs > 10_000) throw new Error(`waited too long until ${what}`);
    await new Promise((settle) => setTimeout(settle, 5));
  }
};

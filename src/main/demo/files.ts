import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import example from '../../../agent.example.json' with { type: 'json' };
import { demoAgentConfig } from '../../demo/agent-config.ts';
import { clientConfiguration } from '../../demo/help.ts';
import { DEMO_ADMIN_KEY } from '../../demo/relay/records/secrets.ts';
import type { Toys } from './backends.ts';
import { LOOPBACK } from './port.ts';

/** The files of the demo, in one temporary directory. */
export type DemoFiles = {
  readonly directory: string;
  readonly agentConfig: string;
  readonly database: string;
  /** The journal of the agent's recharges. */
  readonly journal: string;
  /** The configuration for an MCP client, and the file that holds it. */
  readonly client: { readonly file: string; readonly text: string };
  readonly remove: () => void;
};

/** Writes the configurations of the agent server and of an MCP client, each with a journal of its own. */
export const createDemoFiles = ({ model, relay }: Pick<Toys, 'model' | 'relay'>): DemoFiles => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-demo-'));
  const write = (name: string, text: string): string => {
    const file = join(directory, name);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    return file;
  };
  const text = clientConfiguration({
    node: process.execPath,
    program: fileURLToPath(new URL('./gatehouse.js', import.meta.url)),
    relay,
    host: LOOPBACK,
    adminKey: DEMO_ADMIN_KEY,
    journal: join(directory, 'client-journal.jsonl'),
  });
  const agentJournal = join(directory, 'agent-journal.jsonl');
  const settings = {
    RELAY_BASE_URL: relay,
    RELAY_ALLOWED_HOST: LOOPBACK,
    RELAY_ADMIN_API_KEY: DEMO_ADMIN_KEY,
    RELAY_JOURNAL: agentJournal,
  };
  return {
    directory,
    agentConfig: write('agent.json', JSON.stringify(demoAgentConfig(example, { model, relay: settings }), null, 2)),
    database: join(directory, 'agent.db'),
    journal: agentJournal,
    client: { file: write('mcp.json', text), text },
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
};

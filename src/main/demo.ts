import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunningServer, serveNode } from '../adapter/node-serve.ts';
import { systemClock } from '../adapter/system-clock.ts';
import { newId } from '../adapter/web-random.ts';
import { isRecord } from '../core/record.ts';
import { JUDGE_MODEL } from '../demo/judge.ts';
import { createJudge } from '../demo/judge-server.ts';
import { createDemoRelay } from '../demo/relay.ts';
import { DEMO_ADMIN_KEY } from '../demo/relay-secrets.ts';
import { clientConfiguration, DEMO_HELP, demoBanner } from '../demo/words.ts';

const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = '8000';
const RELAY_PORT = 8090;
const ALIASES = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];
const STOP_LIMIT_MS = 2000;

/** On its own port, so that a client's configuration fits the next demo too; on any free one when somebody else is there. */
const serveRelay = async (): Promise<RunningServer> => {
  const { handler } = createDemoRelay({ clock: systemClock, newId });
  return serveNode(handler, { host: LOOPBACK, port: RELAY_PORT }).catch(() =>
    serveNode(handler, { host: LOOPBACK, port: 0 }),
  );
};

/** A directory for the journal, which goes with the relay's memory, and in it what an MCP client needs to be told. */
const createClientFile = (
  relay: string,
): { readonly directory: string; readonly file: string; readonly text: string } => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-demo-'));
  const text = clientConfiguration({
    node: process.execPath,
    program: fileURLToPath(new URL('./gatehouse.js', import.meta.url)),
    relay,
    host: LOOPBACK,
    adminKey: DEMO_ADMIN_KEY,
    journal: join(directory, 'journal.jsonl'),
  });
  const file = join(directory, 'mcp.json');
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return { directory, file, text };
};

/**
 * Starts the toy judge and the toy relay on loopback, and a gateway in a process of its own that has the judge as its
 * self-hosted backend. What to try is told once the gateway listens; one that does not start has said why itself.
 */
export const runDemo = async (words: readonly string[]): Promise<void> => {
  if (words.length > 0) {
    process.stdout.write(DEMO_HELP);
    process.exitCode = words.every((word) => word === '--help' || word === '-h') ? 0 : 1;
    return;
  }
  const judge = await serveNode(createJudge(), { host: LOOPBACK, port: 0 });
  const relay = await serveRelay();
  const client = createClientFile(relay.address);
  const key = process.env.MODERATION_API_KEY || `demo-${newId().slice(0, 12)}`;
  const gateway = spawn(process.execPath, [fileURLToPath(new URL('./gateway.js', import.meta.url))], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: {
      // The banner comes first, and what to try is not lost among log lines.
      LOG_LEVEL: 'warn',
      PORT: DEFAULT_PORT,
      ...process.env,
      HOST: LOOPBACK,
      // No proxy leads to this machine.
      NO_PROXY: LOOPBACK,
      APP_ENV: 'development',
      MODERATION_API_KEY: key,
      BACKEND_BASE_URL: judge.address,
      BACKEND_API_KEYS: '',
      MODERATION_MODELS: JSON.stringify(Object.fromEntries(ALIASES.map((alias) => [alias, JUDGE_MODEL]))),
    },
  });
  gateway.on('message', (message) => {
    const address = isRecord(message) ? message.address : undefined;
    if (typeof address !== 'string') return;
    process.stdout.write(
      demoBanner({
        address,
        judge: judge.address,
        key,
        model: JUDGE_MODEL,
        relay: relay.address,
        adminKey: DEMO_ADMIN_KEY,
        client,
      }),
    );
  });
  // A terminal sends Ctrl-C to both; a plain kill reaches only this process, which passes it on.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => gateway.kill('SIGTERM'));
  gateway.on('exit', (code) => {
    process.exitCode = code ?? 1;
    rmSync(client.directory, { recursive: true, force: true });
    void Promise.all([judge.stop(STOP_LIMIT_MS), relay.stop(STOP_LIMIT_MS)]).then(() => process.exit());
  });
};

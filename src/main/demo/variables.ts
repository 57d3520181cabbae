import type { Variables } from '../../core/config.ts';
import { JUDGE_MODEL } from '../../demo/judge/judge.ts';
import type { DemoFiles } from './files.ts';
import { LOOPBACK } from './port.ts';

const ALIASES = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];
/** What a program needs to run at all. */
const OF_THE_MACHINE = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot'];

/** What to try is not lost among log lines. */
const QUIET = { LOG_LEVEL: 'warn' };

type GatewayNeeds = { readonly port: string; readonly key: string; readonly judge: string };

/** What a toy has no part in: others' keys, and what other gateways share. */
const NOT_OF_A_DEMO = ['MODERATION_API_KEYS', 'REDIS_URL'];

/** The gateway takes its settings from whoever starts the demo, but for its judge, its keys and where it listens. */
export const gatewayVariables = (given: Variables, { port, key, judge }: GatewayNeeds): Variables => ({
  ...QUIET,
  ...Object.fromEntries(Object.entries(given).filter(([name]) => !NOT_OF_A_DEMO.includes(name))),
  HOST: LOOPBACK,
  PORT: port,
  // No proxy leads to this machine.
  NO_PROXY: LOOPBACK,
  APP_ENV: 'development',
  MODERATION_API_KEY: key,
  BACKEND_BASE_URL: judge,
  BACKEND_API_KEYS: '',
  MODERATION_MODELS: JSON.stringify(Object.fromEntries(ALIASES.map((alias) => [alias, JUDGE_MODEL]))),
});

/** Agent server and bridge take nothing else: neither a password nor a configuration of another one. */
const bare = (given: Variables): Variables => ({
  ...QUIET,
  ...Object.fromEntries(
    [...OF_THE_MACHINE, 'LOG_LEVEL'].flatMap((name) => (name in given ? [[name, given[name]]] : [])),
  ),
  HOST: LOOPBACK,
});

export const agentVariables = (
  given: Variables,
  { port, files }: { readonly port: number; readonly files: DemoFiles },
): Variables => ({
  ...bare(given),
  PORT: String(port),
  AGENT_CONFIG: files.agentConfig,
  AGENT_DATABASE_URL: `sqlite:${files.database}`,
});

export const bridgeVariables = (
  given: Variables,
  { port, agent, key }: { readonly port: number; readonly agent: string; readonly key: string },
): Variables => ({ ...bare(given), PORT: String(port), AGENT_BASE_URL: agent, BRIDGE_API_KEYS: key });

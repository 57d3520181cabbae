import type { Variables } from '../../core/config.ts';
import { JUDGE_MODEL } from '../../demo/judge/judge.ts';
import { tracingVariables } from '../program/tracing-variables.ts';
import type { DemoFiles } from './files.ts';
import { LOOPBACK } from './port.ts';

const ALIASES = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];
/** The variables that every program needs. */
const SYSTEM_VARIABLES = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot'];

/** Fewer log lines, so that the printed commands stay visible. */
const QUIET = { LOG_LEVEL: 'warn' };

type GatewayNeeds = {
  readonly port: string;
  readonly key: string;
  readonly adminKey: string;
  readonly judge: string;
};

/** Not passed on: keys of other clients, and state shared with other gateways. */
const EXCLUDED_VARIABLES = ['MODERATION_API_KEYS', 'REDIS_URL'];

/** The gateway takes the settings of the caller's environment, except its judge, its keys and its address. */
export const gatewayVariables = (given: Variables, { port, key, adminKey, judge }: GatewayNeeds): Variables => ({
  ...QUIET,
  ...Object.fromEntries(Object.entries(given).filter(([name]) => !EXCLUDED_VARIABLES.includes(name))),
  HOST: LOOPBACK,
  PORT: port,
  // No proxy leads to this machine.
  NO_PROXY: LOOPBACK,
  APP_ENV: 'development',
  MODERATION_API_KEY: key,
  GATEWAY_ADMIN_KEY: adminKey,
  BACKEND_BASE_URL: judge,
  BACKEND_API_KEYS: '',
  MODERATION_MODELS: JSON.stringify(Object.fromEntries(ALIASES.map((alias) => [alias, JUDGE_MODEL]))),
});

/** The other services take nothing else of the environment but where spans go: no password and no configuration of another server. */
const bare = (given: Variables): Variables => ({
  ...QUIET,
  ...Object.fromEntries(
    [...SYSTEM_VARIABLES, 'LOG_LEVEL'].flatMap((name) => (name in given ? [[name, given[name]]] : [])),
  ),
  ...tracingVariables(given),
  HOST: LOOPBACK,
});

/** The settings of the demo's agent server. */
export const agentVariables = (
  given: Variables,
  { port, files }: { readonly port: number; readonly files: DemoFiles },
): Variables => ({
  ...bare(given),
  PORT: String(port),
  AGENT_CONFIG: files.agentConfig,
  AGENT_DATABASE_URL: `sqlite:${files.database}`,
});

/** The settings of the demo's bridge. */
export const bridgeVariables = (
  given: Variables,
  { port, agent, key }: { readonly port: number; readonly agent: string; readonly key: string },
): Variables => ({ ...bare(given), PORT: String(port), AGENT_BASE_URL: agent, BRIDGE_API_KEYS: key });

type ConsoleNeeds = {
  readonly port: number;
  readonly gateway: string;
  readonly adminKey: string;
  readonly agent: string;
  readonly bridge: string;
  readonly key: string;
  readonly files: DemoFiles;
};

/** The settings of the demo's console: everyone on this machine is its admin. */
export const consoleVariables = (
  given: Variables,
  { port, gateway, adminKey, agent, bridge, key, files }: ConsoleNeeds,
): Variables => ({
  ...bare(given),
  // Its warning that it has no accounts is what the demo prints itself.
  LOG_LEVEL: given.LOG_LEVEL ?? 'error',
  PORT: String(port),
  CONSOLE_GATEWAY_URL: gateway,
  GATEWAY_ADMIN_KEY: adminKey,
  CONSOLE_AGENT_URLS: agent,
  CONSOLE_BRIDGE_URL: bridge,
  CONSOLE_BRIDGE_KEY: key,
  RELAY_JOURNAL: files.journal,
});

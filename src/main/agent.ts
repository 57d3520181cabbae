import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createTransports } from '../adapter/mcp-transports.ts';
import { isMain, type ProcessSide, runService, type Service } from '../adapter/node-service.ts';
import { openSqliteStore } from '../adapter/sqlite-store.ts';
import { systemClock } from '../adapter/system-clock.ts';
import { newId } from '../adapter/web-random.ts';
import { createAgentServer } from '../agent/app.ts';
import type { ChatModel } from '../agent/chat-model.ts';
import { agentList } from '../agent/config/agent-view.ts';
import { configProviders, providerList } from '../agent/config/provider-view.ts';
import { readAgentConfig } from '../agent/config/read-agent-config.ts';
import { createIds } from '../agent/ids.ts';
import { mcpServersFrom } from '../agent/mcp-from-config.ts';
import { createMcpServers } from '../agent/mcp-servers.ts';
import { isLoopback, readAgentSettings, strangersIn } from '../agent/variables.ts';
import { voicesFrom } from '../agent/voices-from-config.ts';
import { ConfigError, collecting } from '../core/config.ts';
import { createLog } from '../core/log.ts';
import { VERSION } from './version.ts';

/** The text of a file, or nothing when it cannot be read. */
const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

/** The SDK of the models is loaded with the first question, not with the start. */
const lateModel = (load: () => Promise<ChatModel>): ChatModel => {
  let loaded: Promise<ChatModel> | undefined;
  return async function* (...asked) {
    loaded ??= load();
    // What could not be loaded now may be there for the next question.
    loaded.catch(() => {
      loaded = undefined;
    });
    yield* (await loaded)(...asked);
  };
};

const build = async ({ variables, writeLine }: ProcessSide): Promise<Service> => {
  const problems: string[] = [];
  const settings = collecting(() => readAgentSettings(variables), problems);
  const config = collecting(() => readAgentConfig(variables, readIfThere), problems);
  if (settings === undefined || config === undefined) throw new ConfigError(problems);
  const clock = systemClock;
  const log = createLog({ level: settings.logLevel, service: 'agent', clock, write: writeLine });
  const ids = createIds(clock, (count) => crypto.getRandomValues(new Uint8Array(count)));
  const store = await openSqliteStore({ file: resolve(settings.databasePath), ids });
  const directory = resolve(settings.directory ?? '.');
  const server = createAgentServer({
    clock,
    log,
    ids,
    newRequestId: () => `req-${newId()}`,
    chance: Math.random,
    version: VERSION,
    directory,
    credentials: settings.credentials,
    isForThisMachine: isLoopback(settings.host),
    store,
    voices: voicesFrom(config),
    shown: {
      config: config.shown,
      provider: providerList(config),
      configProviders: configProviders(config),
      agent: agentList(config),
    },
    model: lateModel(async () => {
      const { createAiModel } = await import('../agent/ai-model.ts');
      return createAiModel({ fetcher: fetch, clock, version: VERSION });
    }),
    mcp: (publish) =>
      createMcpServers({
        servers: mcpServersFrom(config.mcp),
        transports: createTransports(),
        clock,
        chance: Math.random,
        version: VERSION,
        log,
        publish,
      }),
    outputLimits: config.toolOutput,
    permissionTimeoutMs: config.permissionTimeoutMs,
  });
  log('info', 'starting', {
    version: VERSION,
    model: `${config.defaultModel.providerID}/${config.defaultModel.modelID}`,
  });
  for (const reason of config.warnings) log('warn', 'setting-without-effect', { reason });
  for (const [setting, nearest] of strangersIn(variables)) {
    log('warn', 'unknown-setting', { setting, reason: `it has no effect; the nearest known one is ${nearest}` });
  }
  if (settings.isLocalForWantOfPassword) {
    log('warn', 'this-machine-only', {
      reason: 'no AGENT_SERVER_PASSWORD is set; set one, and HOST, to be reached from elsewhere',
    });
  }
  return {
    handler: server.handler,
    host: settings.host,
    port: settings.port,
    log,
    onListening() {
      server.start().catch((error: unknown) => {
        log('error', 'start-failed', { reason: error instanceof Error ? error.name : typeof error });
        process.exitCode = 1;
        process.kill(process.pid, 'SIGTERM');
      });
    },
    onStopping: server.stop,
    close: store.close,
  };
};

/** Starts the agent server as this process's service. */
export const main = (): Promise<void> => runService('agent', build);

if (isMain(import.meta.url)) await main();

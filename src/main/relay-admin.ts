import { createJournalFile, missingJournal } from '../adapter/files/journal.ts';
import { systemClock } from '../adapter/node/clock.ts';
import { createNodeHttpClient } from '../adapter/node/http-client.ts';
import { isMain } from '../adapter/node/service.ts';
import { preferLowMemory, runStdio, type StdioContext, type StdioService } from '../adapter/node/stdio.ts';
import { createTracedHttpClient } from '../adapter/opentelemetry/traced-http-client.ts';

import { newId, webDigest, webMac } from '../adapter/web/crypto.ts';

import { logUnknownVariables } from '../core/config.ts';
import { createLog } from '../core/log.ts';
import { createRelayAdmin } from '../relay-admin/app.ts';
import { createRelayAdminServer } from '../relay-admin/server.ts';
import { readRelayConfig, unknownRelaySettings } from '../relay-admin/settings.ts';
import { RELAY_ADMIN_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { openTracing } from './program/tracing.ts';
import { VERSION } from './program/version.ts';

const WORKING = 'only describe, health and model_control_options work';
/** What an operator is told of a key that cannot be used. */
const WITHOUT_KEY = {
  missing: `it is not set: ${WORKING}`,
  malformed: `expected 16 to 256 letters, digits and . _ ~ + / = : @ -: ${WORKING}`,
} as const;

const build = async ({ variables, writeLine }: StdioContext): Promise<StdioService> => {
  const config = readRelayConfig(variables);
  const log = createLog({ level: config.logLevel, service: 'relay-admin', clock: systemClock, write: writeLine });
  const { beginSpan, close } = await openTracing(
    variables,
    'relay-admin',
    log,
    async () => (await import('../adapter/opentelemetry/sender.ts')).createSender,
  );
  const { httpClient, within } = createTracedHttpClient(createNodeHttpClient().httpClient);
  const admin = createRelayAdmin({
    config,
    httpClient,
    clock: systemClock,
    journalFile: createJournalFile(config.journalFile),
    digest: webDigest,
    mac: webMac,
    newId,
    log,
    version: VERSION,
  });
  const { kind } = config.key;
  const starting = { version: VERSION, address: config.address.host, state: kind };
  if (kind === 'present') log('info', 'starting', starting);
  else log('warn', 'starting', { ...starting, setting: 'RELAY_ADMIN_API_KEY', reason: WITHOUT_KEY[kind] });
  const missing = missingJournal(config.journalFile);
  if (missing !== undefined) log('info', 'journal-missing', { setting: 'RELAY_JOURNAL', reason: missing });
  logUnknownVariables(unknownRelaySettings(variables), log);
  void admin.askKeyRights();
  const server = createRelayAdminServer({
    admin,
    version: VERSION,
    onStrayInput: () => log('debug', 'stray-input'),
    trace: { beginSpan, within },
  });
  return { server, log, settled: () => admin.whenIdle().then(close) };
};

/** Serves the relay admin tools over standard input and output. */
export const main = (): Promise<void> => {
  preferLowMemory();
  return runStdio({ name: 'relay-admin', secrets: ['RELAY_ADMIN_API_KEY'] }, build);
};

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'relay-admin', help: RELAY_ADMIN_HELP, main });

import { gzipSync } from 'node:zlib';
import { systemClock } from '../adapter/node/clock.ts';
import { nodeDigest } from '../adapter/node/crypto.ts';
import { errorCode } from '../adapter/node/error-code.ts';
import { createNodeHttpClient, createNodeHttpStream } from '../adapter/node/http-client.ts';
import { usableMemoryBytes } from '../adapter/node/memory.ts';
import { isMain, type ProcessContext, runService, type Service } from '../adapter/node/service.ts';
import { newId, webMac } from '../adapter/web-crypto.ts';
import type { LogoutFile } from '../console/accounts/ended-sessions.ts';
import { createJournalReader } from '../console/adapter/journal-reader.ts';
import { openLogoutFiles } from '../console/adapter/logout-files.ts';
import { createPrometheusConsoleMetrics } from '../console/adapter/prometheus.ts';
import { deriveScryptKey } from '../console/adapter/scrypt.ts';
import { createConsole } from '../console/app.ts';
import { BUILT_PAGE } from '../console/assets/built-page.ts';
import { readConsoleSettings, startNotices, unknownConsoleVariables } from '../console/settings.ts';
import type { Clock } from '../core/clock.ts';
import { ConfigError } from '../core/config.ts';
import { createLog } from '../core/log.ts';
import { beginAtOnce, createTimeSlices } from '../core/time-slices.ts';
import { runHashPassword } from './console/hash-password.ts';
import { CONSOLE_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { VERSION } from './program/version.ts';

/** An agent server that is away must not hold up what the others list. */
const CONNECT_LIMIT_MS = 3000;

const openLogouts = async (directory: string, clock: Clock): Promise<LogoutFile> => {
  try {
    return await openLogoutFiles(directory, clock);
  } catch (error) {
    const code = errorCode(error) ?? 'unknown';
    throw new ConfigError([
      `CONSOLE_DATA_DIRECTORY: expected a directory that this user may write, or a new one in a directory that exists (${code})`,
    ]);
  }
};

const build = async ({ variables, writeLine, isStopping }: ProcessContext): Promise<Service> => {
  const settings = readConsoleSettings(variables);
  const { host, port, journalFile, dataDirectory } = settings;
  const clock = systemClock;
  const log = createLog({ level: settings.logLevel, service: 'console', clock, write: writeLine });
  const limits = { connectLimitMs: CONNECT_LIMIT_MS };
  const { httpClient, close } = createNodeHttpClient(limits);
  const { handler, start, stop } = createConsole({
    settings,
    secret: settings.secret ?? `${newId()}${newId()}`,
    page: BUILT_PAGE,
    clock,
    log,
    meter: createPrometheusConsoleMetrics(VERSION),
    httpClient,
    stream: createNodeHttpStream(limits),
    digest: nodeDigest,
    mac: webMac,
    gzip: (text) => new Uint8Array(gzipSync(text)),
    deriveKey: deriveScryptKey,
    newId,
    logouts: dataDirectory === undefined ? undefined : await openLogouts(dataDirectory, clock),
    readJournal: journalFile === undefined ? undefined : createJournalReader(journalFile),
    runInSlices: beginAtOnce(createTimeSlices(clock)),
    version: VERSION,
    isStopping,
    memoryBytes: usableMemoryBytes(),
  });
  log('info', 'starting', { version: VERSION });
  for (const { level, event, reason } of startNotices(settings)) log(level, event, { reason });
  return { handler, host, port, tellsPeer: true, log, onListening: start, onStopping: async () => stop(), close };
};

const serve = (): Promise<void> => runService({ name: 'console', unknownVariables: unknownConsoleVariables }, build);

/** Starts the console as this process's service, or runs its command `hash-password`. */
export const main = async (args: readonly string[]): Promise<void> => {
  const [command, ...rest] = args;
  if (command === 'hash-password') process.exitCode = await runHashPassword(rest);
  else await runWithoutArguments(args, { name: 'console', help: CONSOLE_HELP, main: serve });
};

if (isMain(import.meta.url)) await main(process.argv.slice(2));

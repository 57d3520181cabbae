import { gzipSync } from 'node:zlib';
import { systemClock } from '../adapter/node/clock.ts';
import { nodeDigest } from '../adapter/node/crypto.ts';
import { isMain, type ProcessContext, runService, type Service } from '../adapter/node/service.ts';
import { createPrometheusConsoleMetrics } from '../adapter/prometheus/console.ts';
import { newId } from '../adapter/web/crypto.ts';
import { createConsole } from '../console/app.ts';
import { BUILT_PAGE } from '../console/assets/built-page.ts';
import { readConsoleSettings, unknownConsoleVariables } from '../console/settings.ts';
import { createLog } from '../core/log.ts';
import { CONSOLE_HELP } from './help.ts';
import { runWithoutArguments } from './program/arguments.ts';
import { VERSION } from './program/version.ts';

const build = async ({ variables, writeLine, isStopping }: ProcessContext): Promise<Service> => {
  const settings = readConsoleSettings(variables);
  const clock = systemClock;
  const log = createLog({ level: settings.logLevel, service: 'console', clock, write: writeLine });
  const { handler } = createConsole({
    page: BUILT_PAGE,
    clock,
    log,
    meter: createPrometheusConsoleMetrics(VERSION),
    digest: nodeDigest,
    gzip: (text) => new Uint8Array(gzipSync(text)),
    newRequestId: () => `req-${newId()}`,
    version: VERSION,
    isStopping,
  });
  log('info', 'starting', { version: VERSION });
  return { handler, host: settings.host, port: settings.port, log, close: async () => {} };
};

/** Starts the console as this process's service. */
export const main = (): Promise<void> =>
  runService({ name: 'console', unknownVariables: unknownConsoleVariables }, build);

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'console', help: CONSOLE_HELP, main });

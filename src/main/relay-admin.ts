import * as v from 'valibot';
import { systemClock } from '../adapter/node/clock.ts';
import { createNodeHttpClient } from '../adapter/node/http-client.ts';
import { createJournalFile, missingJournal } from '../adapter/node/journal.ts';
import { isMain } from '../adapter/node/service.ts';
import { createTracedHttpClient } from '../adapter/opentelemetry/traced-http-client.ts';
import { newId, randomBytes, webDigest, webMac } from '../adapter/web-crypto.ts';
import { ConfigError, logUnknownVariables, readVariables } from '../core/config.ts';
import { createLog } from '../core/log.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { preferLowMemory, runStdio, type StdioContext, type StdioService } from '../relay-admin/adapter/stdio.ts';
import { createRelayAdmin } from '../relay-admin/app.ts';
import { checkRelay } from '../relay-admin/check/check.ts';
import { createRelayClient } from '../relay-admin/relay/client.ts';
import { createRelayAdminServer } from '../relay-admin/server.ts';
import { readRelayConfig, unknownRelaySettings } from '../relay-admin/settings.ts';
import { RELAY_ADMIN_HELP, RELAY_CHECK_HELP } from './help.ts';
import { runWithoutArguments, wantsHelp } from './program/arguments.ts';
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

const Threshold = v.pipe(v.string(), v.regex(/^(?:0?\.\d+|1)$/, 'expected 0.01 to 1'), v.transform(Number));
/** The variables that the check has besides those of relay admin. */
const CheckVariables = v.object({
  CHECK_USER_KEY: v.optional(v.pipe(v.string(), v.trim())),
  CHECK_MODEL: v.optional(v.string(), 'gpt-4o-mini'),
  CHECK_TEXT: v.optional(v.string(), 'I will kill you tonight, and then your whole family.'),
  CHECK_THRESHOLD: v.optional(Threshold, '0.5'),
});
const SETTINGS_ONLY = '--settings-only';
const UNTRIED = `no chat was tried: set CHECK_USER_KEY to the key of a user of your own, or take ${SETTINGS_ONLY}.`;

/** `gatehouse relay-check`: prints what is open at the relay, a line each, and no key. Returns the exit code: 0 only where nothing is. */
export const check = async (args: readonly string[]): Promise<number> => {
  const fail = (problem: string): void => void process.stderr.write(`gatehouse relay-check: ${problem}\n`);
  const isSettingsOnly = args[0] === SETTINGS_ONLY;
  if (wantsHelp(args)) {
    process.stdout.write(RELAY_CHECK_HELP);
    return 0;
  }
  if (args.length > (isSettingsOnly ? 1 : 0)) {
    fail(`expected ${SETTINGS_ONLY} or no arguments; see --help`);
    return 1;
  }
  const { httpClient, close } = createNodeHttpClient();
  try {
    const { address, key, timeoutMs: limitMs } = readRelayConfig(process.env);
    const { CHECK_USER_KEY: userKey, ...given } = readVariables(CheckVariables, process.env);
    const { CHECK_MODEL: model, CHECK_TEXT: text, CHECK_THRESHOLD: largestThreshold } = given;
    const clock = systemClock;
    const relay = createRelayClient({ address, key, httpClient, clock, gate: createSemaphore(8, 8), version: VERSION });
    const chat = isSettingsOnly || userKey === undefined ? undefined : { userKey, model, text };
    const found = await checkRelay({ relay, httpClient, clock, limitMs, largestThreshold, chat, randomBytes });
    const open = isSettingsOnly || userKey !== undefined ? found : [...found, UNTRIED];
    const nothing = `nothing is open${isSettingsOnly ? ' in the settings; no chat was tried' : ''}\n`;
    process.stdout.write(open.map((line) => `open: ${line}\n`).join('') || nothing);
    return open.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    error.problems.forEach(fail);
    return 1;
  } finally {
    await close();
  }
};

if (isMain(import.meta.url))
  await runWithoutArguments(process.argv.slice(2), { name: 'relay-admin', help: RELAY_ADMIN_HELP, main });

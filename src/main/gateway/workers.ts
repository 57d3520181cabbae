import { systemClock } from '../../adapter/node/clock.ts';
import type { ProcessContext, Service } from '../../adapter/node/service.ts';
import { usableCores } from '../../adapter/node/workers/cores.ts';
import { startWorkers } from '../../adapter/node/workers/parent.ts';
import { createWorkerState, type WorkerState } from '../../adapter/node/workers/shared-state.ts';
import { runWorker, type WorkerService } from '../../adapter/node/workers/worker.ts';
import { ConfigError, type Variables } from '../../core/config.ts';
import { createLog } from '../../core/log.ts';
import { createRateLimit } from '../../gateway/rate-limit.ts';
import { readGatewayConfig } from '../../gateway/settings/config.ts';
import { type WorkerPlace, workersFor } from '../../gateway/settings/workers.ts';
import { showKeyForThisRun } from './key.ts';
import { readPolicyText } from './policy-text.ts';

type WorkerParts = { readonly place: WorkerPlace; readonly state: WorkerState };
/** Builds the gateway of one process, with the parts of a worker if it is one. */
type Build = (context: ProcessContext, worker?: WorkerParts) => Promise<Service & Omit<WorkerService, 'state'>>;

/** Runs this process as one worker of a gateway. */
export const runGatewayWorker = (variables: Variables, place: WorkerPlace, build: Build): Promise<void> =>
  runWorker('gateway', variables, async ({ channel, ...context }) => {
    const { settings } = readGatewayConfig(variables);
    const state = createWorkerState({ channel, clock: systemClock, maxVerdicts: settings.CACHE_MAX_ENTRIES });
    return { ...(await build(context, { place, state })), state };
  });

/** Bun has no way to give a connection to another process, and Deno none that Node's sockets could use. */
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;

/**
 * Builds the service that starts workers, each of them the program at `file`, and watches them. Where one process is enough,
 * that is the whole gateway.
 */
export const watchGatewayWorkers = async (context: ProcessContext, file: string, build: Build): Promise<Service> => {
  const { settings, gatewayKeys } = readGatewayConfig(context.variables);
  const count = workersFor(settings, isNode ? usableCores() : 1);
  if (count === 1) return build(context);
  if (!isNode)
    throw new ConfigError(['GATEWAY_WORKERS: expected 1 or auto: this runtime is no Node, and has one process']);
  const policyText = await readPolicyText(settings.MODERATION_POLICY_FILE);
  const log = createLog({
    level: settings.LOG_LEVEL,
    service: 'gateway',
    clock: systemClock,
    write: context.writeLine,
  });
  return {
    log,
    open: () =>
      startWorkers({
        name: 'gateway',
        file,
        // One key for all of them.
        variables: gatewayKeys.length > 0 ? {} : { MODERATION_API_KEYS: showKeyForThisRun() },
        count,
        host: settings.HOST,
        port: settings.PORT,
        clock: systemClock,
        log,
        policyText,
        rateLimit: createRateLimit(settings.RATE_LIMIT_RPM, systemClock.now),
      }),
    close: async () => {},
  };
};

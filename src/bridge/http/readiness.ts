import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import { jsonResponse } from '../../core/http/response.ts';
import type { Log } from '../../core/log.ts';
import type { AgentHealth } from '../agent/health.ts';
import type { ModelCatalog } from '../agent/models.ts';
import type { AgentServers } from '../agent/servers.ts';

type ReadinessOptions = {
  readonly health: AgentHealth;
  readonly catalog: Pick<ModelCatalog, 'find'>;
  /** Undefined where there is only one agent server. */
  readonly servers: AgentServers | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly isStopping: () => boolean;
};

/** However many probes come, the agent server is called at most once in this time. */
const CHECK_EVERY_MS = 5000;
/** The settings to check, by why a call to the agent server failed. */
const CHECKS: ReadonlyMap<string, string> = new Map([
  ['agent_unauthorized', ': check AGENT_SERVER_USERNAME and AGENT_SERVER_PASSWORD'],
  // Of another server, or of a path that the agent server does not have.
  ['not_found', ': check AGENT_BASE_URL, without a path'],
]);
const lossText = (reason: string): string => (reason === '' ? '' : ` (${reason}${CHECKS.get(reason) ?? ''})`);
/** The reasons say all about a single server. */
const SINGLE_SERVER = { total: 1, healthy: 1 };

/**
 * `GET /ready`: 200 if an agent server answers and has a default model, else 503 with the reasons. Of several servers one is
 * enough; the answer still says how many were not ready at the last probe.
 */
export const createReadiness = ({
  health,
  catalog,
  servers,
  clock,
  log,
  isStopping,
}: ReadinessOptions): (() => Promise<Response>) => {
  let lastCheck: { readonly until: number; readonly reasons: Promise<readonly string[]> } | undefined;
  let lastLogged: string | undefined;

  const checkAgent = async (): Promise<readonly string[]> => {
    try {
      await catalog.find(undefined);
      return [];
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error.detail.kind === 'model-not-found'
        ? ['the agent server has no such model as DEFAULT_MODEL names, or none at all']
        : ['the agent server does not answer, or not as one'];
    }
  };
  const findReasons = async (): Promise<readonly string[]> => {
    if (isStopping()) return ['the service is stopping'];
    const reason = await health.check();
    if (reason !== undefined) return [`the agent server cannot be used${lossText(reason)}`];
    if (lastCheck === undefined || clock.now() >= lastCheck.until) {
      lastCheck = { until: clock.now() + CHECK_EVERY_MS, reasons: checkAgent() };
      // Not awaited: the probe takes as long as the slowest server.
      void servers?.probe();
    }
    return lastCheck.reasons;
  };
  return async () => {
    const found = await findReasons();
    const { total, healthy } = servers?.count() ?? SINGLE_SERVER;
    const isReady = found.length === 0 && healthy > 0;
    const reasons =
      healthy === total ? found : [...found, `agent servers that are not ready: ${total - healthy} of ${total}`];
    const reason = reasons.join('; ');
    if (reason !== lastLogged)
      log(isReady ? 'info' : 'warn', isReady ? 'ready' : 'not-ready', reason === '' ? {} : { reason });
    lastLogged = reason;
    if (!isReady) return jsonResponse(503, { status: 'not ready', reasons }, { 'retry-after': '1' });
    return jsonResponse(200, { status: 'ready', ...(reasons.length === 0 ? {} : { reasons }) });
  };
};

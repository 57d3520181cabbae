import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { jsonResponse } from '../core/http/json-response.ts';
import type { Log } from '../core/log.ts';
import type { ModelCatalog } from './agent/models.ts';
import type { AgentServers } from './agent/servers.ts';
import type { AgentEventStream } from './agent/types.ts';

export type ReadinessNeeds = {
  readonly feed: AgentEventStream;
  readonly catalog: ModelCatalog;
  /** Nothing where there is only one. */
  readonly servers: AgentServers | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly isStopping: () => boolean;
};

/** However many probes come, an agent server is asked at most once in this time. */
const FRESH_MS = 5000;
/** Of a single one everything is said otherwise. */
const ONE = { all: 1, well: 1 };

/**
 * `GET /ready`: whether the agent is there and has a model for who names none. Of several servers one is enough; how many
 * are not there is said with a 200 too, as found out for the question before.
 */
export const createReadiness = ({
  feed,
  catalog,
  servers,
  clock,
  log,
  isStopping,
}: ReadinessNeeds): (() => Promise<Response>) => {
  let asked: { readonly until: number; readonly reasons: Promise<readonly string[]> } | undefined;
  let told: string | undefined;

  const ask = async (): Promise<readonly string[]> => {
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
  const obstaclesNow = async (): Promise<readonly string[]> => {
    if (isStopping()) return ['the service is stopping'];
    if (!feed.isOpen()) return ['the event stream of the agent server is not open'];
    if (asked === undefined || clock.now() >= asked.until) {
      asked = { until: clock.now() + FRESH_MS, reasons: ask() };
      // Not waited for: the question would take as long as the slowest of them.
      void servers?.look();
    }
    return asked.reasons;
  };
  return async () => {
    const obstacles = await obstaclesNow();
    const { all, well } = servers?.count() ?? ONE;
    const isReady = obstacles.length === 0 && well > 0;
    const reasons =
      well === all ? obstacles : [...obstacles, `agent servers that are not ready: ${all - well} of ${all}`];
    const reason = reasons.join('; ');
    if (reason !== told) log(isReady ? 'info' : 'warn', isReady ? 'ready' : 'not-ready', { reason });
    told = reason;
    if (!isReady) return jsonResponse(503, { status: 'not ready', reasons }, { 'retry-after': '1' });
    return jsonResponse(200, { status: 'ready', ...(reasons.length === 0 ? {} : { reasons }) });
  };
};

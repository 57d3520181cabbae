import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { json } from '../core/json.ts';
import type { Log } from '../core/log.ts';
import type { Feed } from './agent.ts';
import type { Catalog } from './catalog.ts';

export type ReadinessNeeds = {
  readonly feed: Feed;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly isStopping: () => boolean;
};

/** However many probes come, the agent is asked at most once in this time. */
const FRESH_MS = 5000;

/** `GET /ready`: whether the agent is there and has a model for who names none. */
export const createReadiness = ({
  feed,
  catalog,
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
  const reasonsNow = async (): Promise<readonly string[]> => {
    if (isStopping()) return ['the service is stopping'];
    if (!feed.isOpen()) return ['the event stream of the agent server is not open'];
    if (asked === undefined || clock.now() >= asked.until) asked = { until: clock.now() + FRESH_MS, reasons: ask() };
    return asked.reasons;
  };
  return async () => {
    const reasons = await reasonsNow();
    const reason = reasons.join('; ');
    if (reason !== told) log(reason === '' ? 'info' : 'warn', reason === '' ? 'ready' : 'not-ready', { reason });
    told = reason;
    if (reasons.length === 0) return json(200, { status: 'ready' });
    return json(503, { status: 'not ready', reasons }, { 'retry-after': '1' });
  };
};

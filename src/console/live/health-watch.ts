import { isRecord } from '../../core/json.ts';
import { redactedLine } from '../../core/text.ts';
import { ADDRESS_SETTING_OF, isConsoleFault, SETTING_OF } from '../errors.ts';
import type { ServicePart, ServiceState } from '../protocol.ts';
import type { ServiceClient } from '../services/service-client.ts';
import { createServiceState, type SeenState, type StateNeeds } from '../services/service-state.ts';

/** Whether a service answers, is ready and takes the console's key, asked now and then. */
export type HealthWatch = {
  readonly state: () => ServiceState;
  /** Begins to ask. `onChange`: the state has changed. */
  readonly start: (onChange: () => void) => void;
  readonly stop: () => void;
};

const ASK_EVERY_MS = 10_000;
const ASK_LIMIT_MS = 5000;
/** The gateway's state names each key and each model. */
const ANSWER_LIMIT_BYTES = 4 * 1024 * 1024;
const REASON_CHARS = 300;

/** The reasons in an answer of `/ready`, or in the gateway's state. */
const reasonsIn = (value: unknown): string | undefined => {
  const place = isRecord(value) && isRecord(value.ready) ? value.ready : value;
  const reasons = isRecord(place) && Array.isArray(place.reasons) ? place.reasons : [];
  const text = reasons.filter((reason) => typeof reason === 'string').join('; ');
  return text === '' ? undefined : redactedLine(text, REASON_CHARS);
};

/** What an answer says against a service; undefined where nothing does. */
const problemOf = (part: ServicePart, status: number, value: unknown): SeenState | undefined => {
  if (status === 401 || status === 403)
    return { state: 'not-ready', reason: `it refuses the console's key: check ${SETTING_OF[part]}` };
  if (status === 404) {
    // Without its admin key a gateway has none of the routes that the console asks.
    const there = part === 'gateway' ? `, and ${SETTING_OF[part]} there` : '';
    return { state: 'not-ready', reason: `it has no such route: check ${ADDRESS_SETTING_OF[part]}${there}` };
  }
  const reason = reasonsIn(value);
  // Of several agent servers behind a bridge one may be away: it is ready, and says so.
  if (status < 400) return part === 'gateway' && reason !== undefined ? { state: 'not-ready', reason } : undefined;
  return status === 503
    ? { state: 'not-ready', reason: reason ?? 'status 503' }
    : { state: 'down', reason: `status ${status}` };
};

/** Watches a service. `paths` are asked in this order: whether it is ready, and something that wants the console's key. */
export const createHealthWatch = (client: ServiceClient, paths: readonly string[], needs: StateNeeds): HealthWatch => {
  const { clock } = needs;
  const { part } = client;
  const { get: state, set: setState } = createServiceState(client, needs);
  const stopping = new AbortController();
  const { signal } = stopping;
  let cancel = (): void => {};
  const look = async (): Promise<SeenState> => {
    for (const path of paths) {
      const call = { method: 'GET', path, limitMs: ASK_LIMIT_MS, limitBytes: ANSWER_LIMIT_BYTES } as const;
      const { status, value } = await client.call(call, signal);
      const problem = problemOf(part, status, value);
      if (problem !== undefined) return problem;
    }
    return { state: 'up' };
  };
  const ask = async (onChange: () => void): Promise<void> => {
    const seen = await look().catch((error: unknown): SeenState => {
      const isDown = isConsoleFault(error) && error.detail.kind === 'service-down';
      return { state: 'down', reason: isDown ? error.detail.reason : 'unknown' };
    });
    if (signal.aborted) return;
    if (setState(seen)) onChange();
    cancel = clock.after(ASK_EVERY_MS, () => void ask(onChange));
  };
  return {
    state,
    start: (onChange) => void ask(onChange),
    stop() {
      stopping.abort();
      cancel();
    },
  };
};

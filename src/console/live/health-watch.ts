import type { Clock } from '../../core/clock.ts';
import { isRecord } from '../../core/json.ts';
import type { Log } from '../../core/log.ts';
import { redactedLine } from '../../core/text.ts';
import { ADDRESS_SETTING_OF, isConsoleFault, SETTING_OF } from '../errors.ts';
import type { ServiceState } from '../protocol.ts';
import type { SecretFilter } from '../services/secret-filter.ts';
import type { ServiceClient } from '../services/service-client.ts';

/** Whether a service answers, is ready and takes the console's key, asked now and then. */
export type HealthWatch = {
  readonly state: () => ServiceState;
  /** Begins to ask. */
  readonly start: () => void;
  readonly stop: () => void;
};

type HealthWatchNeeds = {
  readonly part: ServiceState['part'];
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly log: Log;
  /** What a service writes into its reasons goes to the log. */
  readonly hide: SecretFilter;
  /** What is asked, in this order: whether it is ready, and something that wants the console's key. */
  readonly paths: readonly string[];
  readonly onChange: () => void;
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
const problemOf = (
  part: ServiceState['part'],
  status: number,
  value: unknown,
): Pick<ServiceState, 'state' | 'reason'> | undefined => {
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

export const createHealthWatch = ({
  part,
  client,
  clock,
  log,
  hide,
  paths,
  onChange,
}: HealthWatchNeeds): HealthWatch => {
  const stopping = new AbortController();
  let state: ServiceState = { part, address: client.address, state: 'down', since: clock.now(), reason: 'starting' };
  let cancel = (): void => {};
  const set = ({ state: next, reason }: Pick<ServiceState, 'state' | 'reason'>): void => {
    if (state.state === next && state.reason === reason) return;
    const since = state.state === next ? state.since : clock.now();
    const fields = { part, address: client.address, ...(reason === undefined ? {} : { reason: hide(reason) }) };
    state = { ...fields, state: next, since };
    log(next === 'up' ? 'info' : 'warn', next === 'up' ? 'service-reached' : 'service-lost', fields);
    onChange();
  };
  const look = async (): Promise<Pick<ServiceState, 'state' | 'reason'>> => {
    for (const path of paths) {
      const call = { method: 'GET', path, limitMs: ASK_LIMIT_MS, limitBytes: ANSWER_LIMIT_BYTES } as const;
      const { status, value } = await client.call(call, stopping.signal);
      const problem = problemOf(part, status, value);
      if (problem !== undefined) return problem;
    }
    return { state: 'up' };
  };
  const ask = async (): Promise<void> => {
    try {
      set(await look());
    } catch (error) {
      if (stopping.signal.aborted) return;
      const isDown = isConsoleFault(error) && error.detail.kind === 'service-down';
      set({ state: 'down', reason: isDown ? error.detail.reason : 'unknown' });
    }
    if (!stopping.signal.aborted) cancel = clock.after(ASK_EVERY_MS, () => void ask());
  };
  return {
    state: () => state,
    start: () => void ask(),
    stop() {
      stopping.abort();
      cancel();
    },
  };
};

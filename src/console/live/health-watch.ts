import type { Clock } from '../../core/clock.ts';
import { isConsoleFault } from '../errors.ts';
import type { ServiceState } from '../protocol.ts';
import type { ServiceClient } from '../services/service-client.ts';

/** Whether a service answers, asked now and then. */
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
  readonly onChange: () => void;
};

const ASK_EVERY_MS = 10_000;
const ASK_LIMIT_MS = 5000;
const ANSWER_LIMIT_BYTES = 65_536;

export const createHealthWatch = ({ part, client, clock, onChange }: HealthWatchNeeds): HealthWatch => {
  const stopping = new AbortController();
  let state: ServiceState = { part, address: client.address, state: 'down', since: clock.now(), reason: 'starting' };
  let cancel = (): void => {};
  const set = (next: ServiceState['state'], reason: string | undefined): void => {
    if (state.state === next && state.reason === reason) return;
    const since = state.state === next ? state.since : clock.now();
    state = { part, address: client.address, state: next, since, ...(reason === undefined ? {} : { reason }) };
    onChange();
  };
  const ask = async (): Promise<void> => {
    try {
      const call = { method: 'GET', path: '/health', limitMs: ASK_LIMIT_MS, limitBytes: ANSWER_LIMIT_BYTES } as const;
      const { status } = await client.call(call, stopping.signal);
      if (status < 400) set('up', undefined);
      else set('down', `status ${status}`);
    } catch (error) {
      if (stopping.signal.aborted) return;
      set('down', isConsoleFault(error) && error.detail.kind === 'service-down' ? error.detail.reason : 'unknown');
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

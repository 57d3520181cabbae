import type { Runtime } from '../../core/runtime.ts';

/** One request to one server. */
export type ServerRequest = {
  /** In the list of servers. */
  readonly index: number;
  /** It cools down, and was chosen because all others have been tried, or to probe it. */
  readonly isLastResort: boolean;
  /** Counts up over all servers. */
  readonly number: number;
};

/** What the last requests to a server say of its health. */
type ServerHealth = {
  /** In a row; none while it is healthy. */
  failures: number;
  /** Until then it gets a request only if no other server answers. */
  coolDownUntil: number;
  /** The number of the newest request to any server when the last failure was recorded. */
  failedAtRequest: number;
};

const FIRST_COOL_DOWN_MS = 500;
const LONGEST_COOL_DOWN_MS = 10_000;

const coolDownMsFor = (failures: number, retryAfterMs = 0): number =>
  Math.min(LONGEST_COOL_DOWN_MS, Math.max(retryAfterMs, FIRST_COOL_DOWN_MS * 2 ** (failures - 1)));

/** Each kind has a round robin of its own, so that prompts alone are spread evenly too. */
export type RequestKind = 'prompt' | 'call' | 'events';

export type ServerCount = { readonly total: number; readonly healthy: number };

/** Chooses among several agent servers by round robin, and gives a server that failed a cool-down. */
export const createLoadBalancer = (total: number, { clock, log }: Pick<Runtime, 'clock' | 'log'>) => {
  const servers = Array.from(
    { length: total },
    (): ServerHealth => ({ failures: 0, coolDownUntil: 0, failedAtRequest: 0 }),
  );
  const next: Record<RequestKind, number> = { prompt: 0, call: 0, events: 0 };
  let lastRequest = 0;

  const labelOf = (index: number): string => `${index + 1} of ${total}`;
  const coolDownUntil = (index: number): number => servers[index]?.coolDownUntil ?? 0;
  const startAt = (index: number): ServerRequest => {
    lastRequest += 1;
    return { index, isLastResort: coolDownUntil(index) > clock.now(), number: lastRequest };
  };
  /** The health that a request says something new of: not one that was under way when the server failed. */
  const healthAfter = ({ index, number }: ServerRequest): ServerHealth | undefined => {
    const health = servers[index];
    return health !== undefined && number > health.failedAtRequest ? health : undefined;
  };
  return {
    /** The next server that does not cool down, else the one whose cool-down ends first; nothing once each of them was tried. */
    startNext(kind: RequestKind, tried: ReadonlySet<number>): ServerRequest | undefined {
      const now = clock.now();
      const candidates = servers.map((_, step) => (next[kind] + step) % total).filter((index) => !tried.has(index));
      const [first] = candidates.toSorted(
        (left, right) => Math.max(now, coolDownUntil(left)) - Math.max(now, coolDownUntil(right)),
      );
      const health = first === undefined ? undefined : servers[first];
      if (first === undefined || health === undefined) return undefined;
      next[kind] = (first + 1) % total;
      const request = startAt(first);
      // One that comes back is tried by one request at a time: it cools down for others until this one is answered.
      if (health.failures > 0 && !request.isLastResort) health.coolDownUntil = now + coolDownMsFor(health.failures);
      return request;
    },
    /** A probe of one server, outside the round robin. */
    startAt,
    recordSuccess(request: ServerRequest): void {
      const health = healthAfter(request);
      if (health === undefined || health.failures === 0) return;
      Object.assign(health, { failures: 0, coolDownUntil: 0 });
      log('info', 'agent-back', { backend: labelOf(request.index) });
    },
    /** `retryAfterMs`: how long the server itself asks for. */
    recordFailure(request: ServerRequest, reason: string, retryAfterMs = 0): void {
      const health = healthAfter(request);
      // A last resort does not make the cool-down longer.
      if (health === undefined || (request.isLastResort && health.failures > 0)) return;
      health.failures += 1;
      const restMs = coolDownMsFor(health.failures, retryAfterMs);
      Object.assign(health, { coolDownUntil: clock.now() + restMs, failedAtRequest: lastRequest });
      // Logged once: further failures of the same server add nothing.
      if (health.failures === 1) log('warn', 'agent-left-out', { backend: labelOf(request.index), reason, restMs });
    },
    count: (): ServerCount => ({ total, healthy: servers.filter(({ failures }) => failures === 0).length }),
  };
};

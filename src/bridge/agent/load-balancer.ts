import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';

/** What the last requests to one of several agent servers say of its health. */
export type ServerHealth = {
  /** In a row; none while it is healthy. */
  readonly failures: number;
  /** Until then it gets a request only if no other server answers. */
  readonly coolDownUntil: number;
  /** The number of the newest request to any server when the last failure was recorded. */
  readonly failedAtRequest: number;
};

type ServerChoice = {
  /** In the list of servers. */
  readonly index: number;
  /** It cools down, and is chosen because all others have been tried. */
  readonly isLastResort: boolean;
};

/** One request to one server. `number` counts up over all servers. */
export type ServerRequest = ServerChoice & { readonly number: number };

type ServerSelection = {
  readonly servers: readonly ServerHealth[];
  /** Index of the server whose turn it is. */
  readonly next: number;
  readonly tried: ReadonlySet<number>;
  readonly now: number;
};

type ServerFailure = {
  readonly now: number;
  readonly lastRequest: number;
  /** How long the server itself asks for. */
  readonly retryAfterMs: number;
};

const FIRST_COOL_DOWN_MS = 500;
const LONGEST_COOL_DOWN_MS = 10_000;

/** A server without a recorded failure. */
export const HEALTHY: ServerHealth = { failures: 0, coolDownUntil: 0, failedAtRequest: 0 };

export const isHealthy = ({ failures }: ServerHealth): boolean => failures === 0;

/** How long a server gets no requests after so many failures in a row. */
export const coolDownMsFor = (failures: number, retryAfterMs = 0): number =>
  Math.min(LONGEST_COOL_DOWN_MS, Math.max(retryAfterMs, FIRST_COOL_DOWN_MS * 2 ** (failures - 1)));

/** Round robin: the next server that does not cool down, else the one whose cool-down ends first. */
export const chooseServer = ({ servers, next, tried, now }: ServerSelection): ServerChoice | undefined => {
  const candidates = servers.map((_, step) => (next + step) % servers.length).filter((index) => !tried.has(index));
  const coolDownUntil = (index: number): number => servers[index]?.coolDownUntil ?? 0;
  const available = candidates.find((index) => coolDownUntil(index) <= now);
  if (available !== undefined) return { index: available, isLastResort: false };
  const [first, ...others] = candidates;
  if (first === undefined) return undefined;
  const index = others.reduce(
    (soonest, other) => (coolDownUntil(other) < coolDownUntil(soonest) ? other : soonest),
    first,
  );
  return { index, isLastResort: true };
};

/** A server that comes back is tried by one request at a time: it cools down for others until this one is answered. */
export const afterStart = (health: ServerHealth, { isLastResort }: ServerChoice, now: number): ServerHealth =>
  isHealthy(health) || isLastResort ? health : { ...health, coolDownUntil: now + coolDownMsFor(health.failures) };

/** Requests that were under way when a server failed say nothing new of its health, however they end. */
export const isNewerThanFailure = (health: ServerHealth, { number }: ServerRequest): boolean =>
  number > health.failedAtRequest;

/** The health after a failure that is newer than the last. A last resort does not make the cool-down longer. */
export const afterFailure = (
  health: ServerHealth,
  request: ServerRequest,
  { now, lastRequest, retryAfterMs }: ServerFailure,
): ServerHealth => {
  if (request.isLastResort && !isHealthy(health)) return health;
  const failures = health.failures + 1;
  return { failures, coolDownUntil: now + coolDownMsFor(failures, retryAfterMs), failedAtRequest: lastRequest };
};

/** Each kind has a round robin of its own, so that prompts alone are spread evenly too. */
export type RequestKind = 'prompt' | 'call' | 'events';

export type ServerCount = { readonly total: number; readonly healthy: number };

/** Chooses among several agent servers by round robin, and gives a server that failed a cool-down. */
type LoadBalancer = {
  /** The next server, or nothing once each of them was tried. */
  readonly startNext: (kind: RequestKind, tried: ReadonlySet<number>) => ServerRequest | undefined;
  /** A probe of one server, outside the round robin. */
  readonly startAt: (index: number) => ServerRequest;
  readonly recordSuccess: (request: ServerRequest) => void;
  readonly recordFailure: (
    request: ServerRequest,
    failure: { readonly reason: string; readonly retryAfterMs?: number },
  ) => void;
  readonly count: () => ServerCount;
};

/** `total`: how many servers there are. */
export const createLoadBalancer = (total: number, clock: Clock, log: Log): LoadBalancer => {
  const servers: ServerHealth[] = Array.from({ length: total }, () => HEALTHY);
  const next: Record<RequestKind, number> = { prompt: 0, call: 0, events: 0 };
  let lastRequest = 0;

  const healthOf = (index: number): ServerHealth => servers[index] ?? HEALTHY;
  const labelOf = (index: number): string => `${index + 1} of ${total}`;
  const number = (choice: ServerChoice): ServerRequest => {
    lastRequest += 1;
    return { ...choice, number: lastRequest };
  };
  return {
    startNext(kind, tried) {
      const now = clock.now();
      const choice = chooseServer({ servers, next: next[kind], tried, now });
      if (choice === undefined) return undefined;
      const { index } = choice;
      next[kind] = (index + 1) % total;
      servers[index] = afterStart(healthOf(index), choice, now);
      return number(choice);
    },
    startAt: (index) => number({ index, isLastResort: healthOf(index).coolDownUntil > clock.now() }),
    recordSuccess(request) {
      const { index } = request;
      const health = healthOf(index);
      if (isHealthy(health) || !isNewerThanFailure(health, request)) return;
      servers[index] = HEALTHY;
      log('info', 'agent-back', { backend: labelOf(index) });
    },
    recordFailure(request, { reason, retryAfterMs = 0 }) {
      const { index } = request;
      const health = healthOf(index);
      if (!isNewerThanFailure(health, request)) return;
      const now = clock.now();
      const failed = afterFailure(health, request, { now, lastRequest, retryAfterMs });
      servers[index] = failed;
      // Logged once: further failures of the same server add nothing.
      if (!isHealthy(health)) return;
      log('warn', 'agent-left-out', { backend: labelOf(index), reason, restMs: failed.coolDownUntil - now });
    },
    count: () => ({ total, healthy: servers.filter(isHealthy).length }),
  };
};

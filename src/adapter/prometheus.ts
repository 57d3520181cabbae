import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Meter, Readings } from '../gateway/meter.ts';
import type { KeyStatus } from '../llm/key-pool.ts';

export type PrometheusNeeds = {
  readonly version: string;
  /** Left out where no state is shared: then the metric is left out too. */
  readonly isSharedStateUp?: (() => boolean) | undefined;
};

const KEY_STATES: readonly KeyStatus['state'][] = ['active', 'cooling', 'half-open', 'probing'];
/** From a cached verdict to a deadline at its end: fine where answers from memory lie, and around a model's seconds. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30];

const secondsOf = (ms: number): number => (Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0);

type Labels<Name extends string> = Readonly<Record<Name, string>>;
type Naming<Name extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Name[];
  readonly registers: Registry[];
};

/** Counts in a Map, and into the library's counter only when that is read: its own `inc` hashes the labels anew each time. */
const createTally = <Name extends string>(naming: Naming<Name>) => {
  const cells = new Map<string, { readonly labels: Labels<Name>; pending: number }>();
  const counter = new Counter<Name>({
    ...naming,
    collect() {
      for (const cell of cells.values()) {
        if (cell.pending > 0) counter.inc(cell.labels, cell.pending);
        cell.pending = 0;
      }
    },
  });
  return (cellName: string, amount: number, labels: () => Labels<Name>): void => {
    if (!(amount > 0 && amount < Number.POSITIVE_INFINITY)) return;
    let cell = cells.get(cellName);
    if (cell === undefined) {
      cell = { labels: labels(), pending: 0 };
      cells.set(cellName, cell);
    }
    cell.pending += amount;
  };
};

const createTimer = <Name extends string>(naming: Naming<Name>) => {
  const histogram = new Histogram<Name>({ ...naming, buckets: BUCKETS_SECONDS });
  const children = new Map<string, { readonly observe: (seconds: number) => void }>();
  return (label: string, durationMs: number): void => {
    let child = children.get(label);
    if (child === undefined) {
      child = histogram.labels(label);
      children.set(label, child);
    }
    child.observe(secondsOf(durationMs));
  };
};

/** The gauges of what is read off the gateway. Each call sets them all. */
const createReadingGauges = (registers: Registry[]): ((readings: Readings) => void) => {
  const gauge = <Name extends string>(name: string, help: string, labelNames: readonly Name[] = []) =>
    new Gauge<Name>({ name: `gatehouse_${name}`, help, labelNames, registers });
  const keyState = gauge('backend_key_state', '1 for the state a backend key is in', ['key', 'state']);
  const keyRest = gauge('backend_key_rest_seconds', 'What is left of the rest of a backend key', ['key']);
  const breakerOpen = gauge('backend_breaker_open', '1 while nothing is sent to the backend host');
  const running = gauge('backend_calls_running', 'Calls to the backend under way');
  const waiting = gauge('backend_calls_waiting', 'Calls to the backend that wait for a place');
  const cached = gauge('cached_verdicts', 'Verdicts in the memory of this process');
  return ({ keys, breaker, callsRunning, callsWaiting, cachedVerdicts }) => {
    for (const { fingerprint, state, restMs } of keys) {
      for (const name of KEY_STATES) keyState.set({ key: fingerprint, state: name }, name === state ? 1 : 0);
      keyRest.set({ key: fingerprint }, secondsOf(restMs));
    }
    breakerOpen.set(breaker.state === 'open' ? 1 : 0);
    running.set(callsRunning);
    waiting.set(callsWaiting);
    cached.set(cachedVerdicts);
  };
};

/** A meter that answers in Prometheus' text format, with the process's own metrics beside the gateway's. */
export const createPrometheusMeter = ({ version, isSharedStateUp }: PrometheusNeeds): Meter => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const naming = <Name extends string>(name: string, help: string, labelNames: readonly Name[]): Naming<Name> => ({
    name: `gatehouse_${name}`,
    help,
    labelNames,
    registers,
  });
  const requests = createTally(naming('requests_total', 'Requests answered', ['method', 'route', 'status']));
  const requestTime = createTimer(naming('request_duration_seconds', 'Time from request to answer', ['route']));
  const calls = createTally(naming('backend_calls_total', 'Calls to the backend by their end', ['outcome', 'model']));
  const callTime = createTimer(naming('backend_call_duration_seconds', 'Time of one call to the backend', ['model']));
  const verdicts = createTally(naming('verdicts_total', 'Items judged', ['alias', 'flagged', 'cached']));
  const unusable = createTally(naming('unusable_replies_total', 'Answers that held no verdict', ['model']));
  const tokens = createTally(naming('tokens_total', 'Tokens as the backend counts them', ['model', 'kind']));
  const setReadings = createReadingGauges(registers);
  const info = { name: 'gatehouse_build_info', help: 'Always 1', labelNames: ['version'], registers };
  new Gauge(info).set({ version }, 1);
  const shared = { name: 'gatehouse_shared_state_up', help: '1 while replicas share their state', registers };
  const sharedStateUp = isSharedStateUp === undefined ? undefined : new Gauge(shared);
  let read: (() => Readings) | undefined;

  return {
    answered({ method, route, status: code, durationMs }) {
      requests(`${method} ${code} ${route}`, 1, () => ({ method, route, status: String(code) }));
      requestTime(route, durationMs);
    },
    attempt({ kind: outcome, model, durationMs }) {
      calls(`${outcome} ${model}`, 1, () => ({ outcome, model }));
      callTime(model, durationMs);
    },
    verdict({ alias, isFlagged, isCached }) {
      const [flagged, cached] = [String(isFlagged), String(isCached)];
      verdicts(`${flagged} ${cached} ${alias}`, 1, () => ({ alias, flagged, cached }));
    },
    unusable: (model) => unusable(model, 1, () => ({ model })),
    tokens(model, { prompt, output }) {
      tokens(`prompt ${model}`, prompt, () => ({ model, kind: 'prompt' }));
      tokens(`output ${model}`, output, () => ({ model, kind: 'output' }));
    },
    watch(source) {
      read = source;
    },
    text() {
      if (read !== undefined) setReadings(read());
      sharedStateUp?.set(isSharedStateUp?.() ? 1 : 0);
      return registry.metrics();
    },
  };
};

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { AnsweredRequest } from '../core/http/handler.ts';

/** From a cached answer to a deadline: fine for answers from memory, and for the seconds of a model. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30];

/** For durations from seconds to half an hour. */
const LONG_BUCKETS_SECONDS = [0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800];

/** Seconds, as Prometheus wants them: never negative, and 0 for what is not finite. */
export const toSeconds = (ms: number): number => (Number.isFinite(ms) ? Math.max(0, ms) / 1000 : 0);

type Labels<Name extends string> = Readonly<Record<Name, string>>;
type MetricOptions<Name extends string> = {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Name[];
  readonly registers: Registry[];
};

/** Counts in a Map, and adds to the library's counter only when that is read: its own `inc` hashes the labels each time. */
const createCounter = <Name extends string>(naming: MetricOptions<Name>) => {
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

const createTimer = <Name extends string>(naming: MetricOptions<Name>, buckets: number[]) => {
  const histogram = new Histogram<Name>({ ...naming, buckets });
  const children = new Map<string, { readonly observe: (seconds: number) => void }>();
  return (label: string, durationMs: number): void => {
    let child = children.get(label);
    if (child === undefined) {
      child = histogram.labels(label);
      children.set(label, child);
    }
    child.observe(toSeconds(durationMs));
  };
};

/**
 * The metrics that all services have (the process, the build, and answered requests), and functions that create more. All
 * names begin with `gatehouse_`.
 */
export const createServiceMetrics = (version: string) => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const naming = <Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
  ): MetricOptions<Name> => ({
    name: `gatehouse_${name}`,
    help,
    labelNames,
    registers,
  });
  const counter = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) =>
    createCounter(naming(name, help, labelNames));
  const timer = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) =>
    createTimer(naming(name, help, labelNames), BUCKETS_SECONDS);
  const longTimer = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) =>
    createTimer(naming(name, help, labelNames), LONG_BUCKETS_SECONDS);
  const gauge = <Name extends string>(name: string, help: string, labelNames: readonly Name[] = []) =>
    new Gauge<Name>(naming(name, help, labelNames));
  const requests = counter('requests_total', 'Requests answered', ['method', 'route', 'status']);
  const requestTime = timer('request_duration_seconds', 'Time from request to answer', ['route']);
  gauge('build_info', 'Always 1', ['version']).set({ version }, 1);
  const answered = ({ method, route, status: code, durationMs }: AnsweredRequest): void => {
    requests(`${method} ${code} ${route}`, 1, () => ({ method, route, status: String(code) }));
    requestTime(route, durationMs);
  };
  return { registry, registers, counter, timer, longTimer, gauge, answered };
};

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { MetricFamilies } from './merge.ts';
import { readFamilies } from './metrics.ts';

/** What the process that watches workers counts, and what it takes itself. */
type WatcherMetrics = {
  readonly restarted: () => void;
  readonly families: () => Promise<MetricFamilies>;
};

/** Creates the metrics of the process that watches workers. `runningWorkers` is read on every scrape. */
export const createWatcherMetrics = (runningWorkers: () => number): WatcherMetrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const workers = new Gauge({ name: 'gatehouse_workers', help: 'Worker processes that take requests', registers });
  const restarts = new Counter({
    name: 'gatehouse_worker_restarts_total',
    help: 'Worker processes that ended and were replaced',
    registers,
  });
  return {
    restarted: () => restarts.inc(),
    families() {
      workers.set(runningWorkers());
      return readFamilies(registry);
    },
  };
};

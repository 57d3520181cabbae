import { AggregatorRegistry, type Registry } from 'prom-client';
import * as v from 'valibot';

const Sample = v.object({
  value: v.pipe(v.number(), v.finite()),
  labels: v.record(v.string(), v.union([v.string(), v.number()])),
  /** A histogram's samples have names of their own: `..._bucket`, `..._sum`, `..._count`. */
  metricName: v.optional(v.string()),
});
const Family = v.object({
  name: v.string(),
  help: v.string(),
  type: v.picklist(['counter', 'gauge', 'histogram']),
  // JSON has no NaN, which gauges without a value hold. Such a sample is left out.
  values: v.pipe(
    v.array(v.unknown()),
    v.transform((values) => values.filter((value) => v.is(Sample, value))),
    v.readonly(),
  ),
});

/** The metrics of one process, as the library's `getMetricsAsJSON` writes them, after their way through JSON. */
export const MetricFamilies = v.pipe(v.array(Family), v.readonly());
export type MetricFamilies = v.InferOutput<typeof MetricFamilies>;

/**
 * What a gauge of several processes is. Counters and histograms are always the sum. `max` where one process that has it is
 * what an operator looks for, or where all have the same.
 */
export const GAUGE_RULES: Readonly<Record<string, 'sum' | 'max' | 'min'>> = {
  gatehouse_backend_breaker_open: 'max',
  gatehouse_backend_calls_running: 'sum',
  gatehouse_backend_calls_waiting: 'sum',
  gatehouse_backend_calls_waiting_limit: 'sum',
  gatehouse_backend_key_reason: 'max',
  gatehouse_backend_key_rest_seconds: 'max',
  gatehouse_backend_key_state: 'max',
  gatehouse_build_info: 'max',
  gatehouse_bytes_in_flight: 'sum',
  gatehouse_cached_verdicts: 'sum',
  gatehouse_large_texts: 'sum',
  gatehouse_shared_state_up: 'min',
  gatehouse_workers: 'max',
  nodejs_active_handles: 'sum',
  nodejs_active_handles_total: 'sum',
  nodejs_active_requests: 'sum',
  nodejs_active_requests_total: 'sum',
  nodejs_active_resources: 'sum',
  nodejs_active_resources_total: 'sum',
  nodejs_eventloop_lag_max_seconds: 'max',
  nodejs_eventloop_lag_mean_seconds: 'max',
  nodejs_eventloop_lag_min_seconds: 'min',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_stddev_seconds: 'max',
  nodejs_external_memory_bytes: 'sum',
  nodejs_heap_size_total_bytes: 'sum',
  nodejs_heap_size_used_bytes: 'sum',
  nodejs_heap_space_size_available_bytes: 'sum',
  nodejs_heap_space_size_total_bytes: 'sum',
  nodejs_heap_space_size_used_bytes: 'sum',
  nodejs_version_info: 'max',
  process_heap_bytes: 'sum',
  process_max_fds: 'min',
  process_open_fds: 'sum',
  process_resident_memory_bytes: 'sum',
  // Of the process that began first: that of the service.
  process_start_time_seconds: 'min',
  process_virtual_memory_bytes: 'sum',
};

const merged = (processes: readonly MetricFamilies[]): Registry =>
  AggregatorRegistry.aggregate(
    processes.map((families) =>
      families.map((family) => ({
        ...family,
        aggregator: GAUGE_RULES[family.name] ?? 'sum',
        values: [...family.values],
      })),
    ),
  );

/** The metrics of several processes as one Prometheus text. */
export const mergedMetricsText = (processes: readonly MetricFamilies[]): Promise<string> => merged(processes).metrics();

/** The counters and histograms of processes that are gone, added up. Their gauges no longer hold. */
export const addedCounts = async (processes: readonly MetricFamilies[]): Promise<MetricFamilies> => {
  const counts = processes.map((families) => families.filter(({ type }) => type !== 'gauge'));
  return v.parse(MetricFamilies, await merged(counts).getMetricsAsJSON());
};

import type { ConsoleMetrics } from '../../console/metrics.ts';
import { createServiceMetrics } from './metrics.ts';

/** The console's metrics in Prometheus' text format, with those of the process. */
export const createPrometheusConsoleMetrics = (version: string): ConsoleMetrics => {
  const { registry, answered } = createServiceMetrics(version);
  return { recordRequest: answered, text: () => registry.metrics() };
};

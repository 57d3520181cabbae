import type { BridgeMetrics } from '../../../src/bridge/metrics.ts';

/** Metrics that record nothing. */
export const NO_BRIDGE_METRICS: BridgeMetrics = {
  recordRequest() {},
  recordAnswer() {},
  watch() {},
  text: async () => undefined,
};

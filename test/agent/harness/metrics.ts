import type { AgentMetrics } from '../../../src/agent/metrics.ts';

/** Counts nothing. */
export const NO_AGENT_METRICS: AgentMetrics = {
  requestAnswered() {},
  turnEnded() {},
  modelCallEnded() {},
  toolCallEnded() {},
  sessionsRetired() {},
  watch() {},
  text: async () => undefined,
};

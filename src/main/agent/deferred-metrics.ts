import type { AgentMetrics } from '../../agent/metrics.ts';

/** More calls would be buffered for nothing: the library is loaded soon after the start, or cannot be loaded at all. */
const BUFFER_LIMIT = 10_000;

/** Metrics whose library is loaded by `load` or by the first request for the metrics. Earlier events are counted then. */
export const createDeferredMetrics = (
  loaded: () => Promise<AgentMetrics>,
): { readonly metrics: AgentMetrics; readonly load: () => void } => {
  let metrics: AgentMetrics | undefined;
  const buffered: ((metrics: AgentMetrics) => void)[] = [];
  const ready = async (): Promise<AgentMetrics> => {
    const fresh = await loaded();
    metrics = fresh;
    for (const replay of buffered.splice(0)) replay(fresh);
    return fresh;
  };
  const record = (event: (metrics: AgentMetrics) => void): void => {
    if (metrics !== undefined) event(metrics);
    else if (buffered.length < BUFFER_LIMIT) buffered.push(event);
  };
  return {
    metrics: {
      requestAnswered: (fields) => record((target) => target.requestAnswered(fields)),
      turnEnded: (fields) => record((target) => target.turnEnded(fields)),
      modelCallEnded: (fields) => record((target) => target.modelCallEnded(fields)),
      toolCallEnded: (fields) => record((target) => target.toolCallEnded(fields)),
      sessionsRetired: (sessions) => record((target) => target.sessionsRetired(sessions)),
      watch: (read) => record((target) => target.watch(read)),
      text: async () => (await ready()).text(),
    },
    load: () => void ready().catch(() => {}),
  };
};

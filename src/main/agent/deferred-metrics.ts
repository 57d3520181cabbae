import type { AgentMetrics } from '../../agent/metrics.ts';

/** More would be held for nothing: the metrics library is loaded soon after the start, or cannot be loaded at all. */
const HELD_LIMIT = 10_000;

/** Metrics whose library is loaded when `load` is called or the metrics are requested. What happens before is counted then. */
export const createLateMeter = (
  loaded: () => Promise<AgentMetrics>,
): { readonly metrics: AgentMetrics; readonly load: () => void } => {
  let metrics: AgentMetrics | undefined;
  const held: ((metrics: AgentMetrics) => void)[] = [];
  const ready = async (): Promise<AgentMetrics> => {
    const fresh = await loaded();
    metrics = fresh;
    for (const tell of held.splice(0)) tell(fresh);
    return fresh;
  };
  const tell = (fact: (metrics: AgentMetrics) => void): void => {
    if (metrics !== undefined) fact(metrics);
    else if (held.length < HELD_LIMIT) held.push(fact);
  };
  return {
    metrics: {
      requestAnswered: (facts) => tell((one) => one.requestAnswered(facts)),
      turnEnded: (facts) => tell((one) => one.turnEnded(facts)),
      modelCallEnded: (facts) => tell((one) => one.modelCallEnded(facts)),
      toolCallEnded: (facts) => tell((one) => one.toolCallEnded(facts)),
      sessionsRetired: (sessions) => tell((one) => one.sessionsRetired(sessions)),
      watch: (read) => tell((one) => one.watch(read)),
      text: async () => (await ready()).text(),
    },
    load: () => void ready().catch(() => {}),
  };
};

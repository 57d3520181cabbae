import type { CategoryScores } from '../../../src/gateway/policy/categories.ts';
import type { SharedState } from '../../../src/gateway/shared-state.ts';

/** Verdicts that several gateways share, as a replica set does. `leftMs`: what each has left when it is found. */
export const createReplicas = (leftMs = 3_600_000) => {
  const verdicts = new Map<string, CategoryScores>();
  const shared: SharedState = {
    verdicts: () => ({
      async find(key) {
        const scores = verdicts.get(key);
        return scores === undefined ? undefined : { scores, leftMs };
      },
      store: (key, scores) => void verdicts.set(key, scores),
    }),
    rateLimit: (_, local) => local,
    coolDowns: { publish() {}, subscribe() {}, scope: () => 'replicas' },
  };
  return { shared, verdicts };
};

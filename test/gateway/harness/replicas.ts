import type { SharedState } from '../../../src/gateway/app.ts';
import type { CategoryScores } from '../../../src/gateway/policy/categories.ts';

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
    coolDowns: { publish() {}, subscribe() {} },
  };
  return { shared, verdicts };
};

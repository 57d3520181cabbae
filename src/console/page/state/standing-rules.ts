import type { ShownRule } from '../../protocol.ts';
import { standingRules } from './approvals.ts';
import { api } from './visitor.ts';

/** Ends a standing rule. Throws `ApiError`, also where it is over. */
export const revokeRule = async ({ agent, id }: ShownRule): Promise<void> => {
  await api.send('DELETE', `/api/standing/${agent}/${encodeURIComponent(id)}`);
  standingRules.value = standingRules.value.filter((rule) => rule.id !== id);
};

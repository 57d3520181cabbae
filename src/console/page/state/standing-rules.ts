import { computed } from '@preact/signals';
import type { ShownRule } from '../../protocol.ts';
import { listedRules } from './approvals.ts';
import { now } from './clock.ts';
import { api } from './visitor.ts';

/** The rules that hold now, the oldest first. */
export const standingRules = computed(() => listedRules.value.filter(({ until }) => until > now.value));

/** Ends a standing rule. Throws `ApiError`, also where it is over. */
export const revokeRule = async ({ agent, id }: ShownRule): Promise<void> => {
  await api.send('DELETE', `/api/standing/${agent}/${encodeURIComponent(id)}`);
  listedRules.value = listedRules.value.filter((rule) => rule.id !== id);
};

import { isConsoleFault } from '../errors.ts';
import type { ServiceClient } from './service-client.ts';

type EveryAnswer<Value> = { readonly values: readonly (Value | undefined)[]; readonly unread: readonly number[] };

/**
 * What each agent server answers, `undefined` for one that does not: `unread` has the positions of those. Faults as the first one where
 * none answers, and with what is no failure of a service.
 */
export const askEveryAgent = async <Value>(
  agents: readonly ServiceClient[],
  ask: (client: ServiceClient, agent: number) => Promise<Value>,
): Promise<EveryAnswer<Value>> => {
  const answers = await Promise.allSettled(agents.map(ask));
  const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
  const [first] = failures;
  if (failures.length > 0 && (failures.length === agents.length || !failures.every(isConsoleFault))) throw first;
  return {
    values: answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined)),
    unread: answers.flatMap((answer, agent) => (answer.status === 'rejected' ? [agent] : [])),
  };
};

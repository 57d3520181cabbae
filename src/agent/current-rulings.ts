import type { Action, Session } from './session.ts';
import type { Store } from './store/store.ts';
import type { TaskFamilies } from './task-families.ts';
import type { Approvals } from './tools/approvals.ts';
import { rulesInForce, rulingUnder, type Worker } from './tools/rules.ts';

export type RulingsNeeds = {
  readonly store: Pick<Store, 'session'>;
  readonly approvals: Pick<Approvals, 'allowed'>;
  readonly families: Pick<TaskFamilies, 'parentOf'>;
};

/** What the rules say of a call when it is to be made, and not when its turn began. A session that is gone allows nothing. */
export const createCurrentRulings = ({ store, approvals, families }: RulingsNeeds) => {
  /** The sessions that one works for at the moment. */
  const above = async (sessionID: string): Promise<readonly Session[]> => {
    const parentID = families.parentOf(sessionID);
    const parent = parentID === undefined ? undefined : await store.session(parentID);
    return parent === undefined ? [] : [parent, ...(await above(parent.id))];
  };
  return ({ agent, session: { id }, user }: Worker) =>
    async (tool: string, patterns: readonly string[]): Promise<Action> => {
      const session = await store.session(id);
      if (session === undefined) return 'deny';
      const rules = rulesInForce({ agent, session, user, above: await above(id) });
      return rulingUnder(rules, { tool, patterns }, await approvals.allowed());
    };
};

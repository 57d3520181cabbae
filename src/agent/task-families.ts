/** Which sessions work for which at the moment, and how much one prompt has handed on, all the way down. */
export type TaskFamilies = {
  /** Counts one more task of the prompt that is being answered; false when it has handed on all that it may. */
  readonly take: (asking: Asking) => boolean;
  /** A session works for the one that asks, until the returned function is called. */
  readonly begin: (childID: string, asking: Asking) => () => void;
  /** The session that one works for. */
  readonly parentOf: (sessionID: string) => string | undefined;
};

/** Where a task is handed on: the session, and the signal of the turn in it, which every turn has one of its own. */
export type Asking = { readonly sessionID: string; readonly signal: AbortSignal };

type Budget = { left: number };

/** `limit` tasks for each prompt of a person. */
export const createTaskFamilies = (limit: number): TaskFamilies => {
  const begun = new WeakMap<AbortSignal, Budget>();
  const working = new Map<string, { readonly parentID: string; readonly budget: Budget }>();
  const budgetOf = ({ sessionID, signal }: Asking): Budget => {
    const known = working.get(sessionID)?.budget ?? begun.get(signal);
    if (known !== undefined) return known;
    const fresh = { left: limit };
    begun.set(signal, fresh);
    return fresh;
  };
  return {
    take(asking) {
      const budget = budgetOf(asking);
      if (budget.left === 0) return false;
      budget.left -= 1;
      return true;
    },
    begin(childID, asking) {
      working.set(childID, { parentID: asking.sessionID, budget: budgetOf(asking) });
      return () => void working.delete(childID);
    },
    parentOf: (sessionID) => working.get(sessionID)?.parentID,
  };
};

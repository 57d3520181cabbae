import { type AlwaysRefusal, isSameTool, type PermissionDecision, type StandingRule } from '../protocol/permissions.ts';
import type { Rule } from '../protocol/types.ts';
import { wildcard } from '../protocol/wildcard.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { PermissionBoard } from '../store/cluster.ts';
import type { AgentTool } from './tool.ts';

/** A call before it is decided, as its decision will name it. */
type UndecidedCall = Omit<PermissionDecision, 'id' | 'reply' | 'at'>;

/** Rules that people made with `always`: each for calls of one tool in one session, for an hour. */
export type StandingRules = {
  /** Why a call needs a decision of its own, which no rule can stand for. `metadata` is what a person would be shown. */
  readonly refusalFor: (
    tool: Pick<AgentTool, 'name' | 'isDestructive'>,
    metadata: Readonly<Record<string, unknown>>,
  ) => AlwaysRefusal | undefined;
  /** Whether a call may run under a rule of its session. If so, that is kept as the decision about it. */
  readonly use: (call: UndecidedCall, isAllowed: (rules: readonly Rule[]) => Promise<boolean>) => Promise<boolean>;
  /** The rules that hold now, the oldest first. */
  readonly list: () => Promise<readonly StandingRule[]>;
  /** Ends the rule that the reply to this request has made. False when none holds. */
  readonly revoke: (requestID: string) => Promise<boolean>;
};

type StandingRulesNeeds = Pick<AgentRuntime, 'ids' | 'clock'> & {
  readonly board: PermissionBoard;
  /** Patterns of the names of tools whose calls each need a decision of their own. */
  readonly onceOnly: readonly string[];
};

/** The standing rules of all servers of one store. */
export const createStandingRules = ({ board, ids, clock, onceOnly }: StandingRulesNeeds): StandingRules => {
  const listed = onceOnly.map((pattern) => wildcard(pattern));
  const list = (): Promise<readonly StandingRule[]> => board.standing(clock.now());
  return {
    list,
    revoke: board.revoke,
    refusalFor({ name, isDestructive }, metadata) {
      if ('preview' in metadata) return 'recharge';
      if (isDestructive === true) return 'destructive';
      return listed.some((matches) => matches(name)) ? 'listed' : undefined;
    },
    async use(call, isAllowed) {
      for (const rule of await list()) {
        const { id: through, covers, by } = rule;
        if (!isSameTool(rule, call) || !(await isAllowed(covers))) continue;
        const how = { reply: 'always', through, ...(by === undefined ? {} : { by }) } as const;
        if (await board.use(through, { ...call, id: ids('permission'), ...how, at: clock.now() })) return true;
      }
      return false;
    },
  };
};

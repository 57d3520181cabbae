import type { UserMessage } from '../message.ts';
import { rulingForAll } from '../permission-rules.ts';
import type { Action, Rule, Session } from '../session.ts';

/** Who works on what: its agent's rules, its session, and the sessions that it works for, if any. */
export type Worker = {
  readonly agent: readonly Rule[];
  readonly session: Session;
  readonly user: UserMessage;
  readonly above?: readonly Session[];
};

/** The rules that hold for one message in a session, in their order. */
export type RulesInForce = {
  readonly own: readonly Rule[];
  /** The same without those that hold back and lift nothing. */
  readonly firm: readonly Rule[];
  /** What the sessions above say, each by itself. It holds back, too. */
  readonly above: readonly (readonly Rule[])[];
};

const ALLOW_ALL: Rule = { permission: '*', pattern: '*', action: 'allow' };

/** Rules of one message: tools that it switches on or off by name. */
const rulesOfMessage = ({ tools = {} }: UserMessage): readonly Rule[] =>
  Object.entries(tools).map(([permission, isOn]) => ({ permission, pattern: '*', action: isOn ? 'allow' : 'deny' }));

/**
 * The rules of an agent, a session and a message. In a session below another one `ask` was handed down by whoever handed on
 * the work, who may do other things: it lifts no ban of the agent that works there.
 */
export const rulesInForce = ({ agent, session, user, above = [] }: Worker): RulesInForce => {
  const rules = session.permission ?? [];
  const lifting = session.parentID === undefined ? rules : rules.filter(({ action }) => action !== 'ask');
  const switches = rulesOfMessage(user);
  return {
    own: [...agent, ...rules, ...switches],
    firm: [...agent, ...lifting, ...switches],
    above: above.map(({ permission = [] }) => [ALLOW_ALL, ...permission]),
  };
};

/** What rules say of a call. What people allowed for good answers a question, and lifts no ban: it may have been another agent's. */
export const rulingUnder = (
  { own, firm, above }: RulesInForce,
  { tool, patterns }: { readonly tool: string; readonly patterns: readonly string[] },
  allowed: readonly Rule[],
): Action => {
  const lists = [own, ...above];
  const rulings = lists.map((rules) => rulingForAll(rules, tool, patterns));
  if (rulings.includes('deny')) return 'deny';
  if (rulings[0] === 'ask' && rulingForAll(firm, tool, patterns) === 'deny') return 'deny';
  if (!rulings.includes('ask')) return 'allow';
  const isAllowed = lists.every((rules) => rulingForAll([...rules, ...allowed], tool, patterns) === 'allow');
  return isAllowed ? 'allow' : 'ask';
};

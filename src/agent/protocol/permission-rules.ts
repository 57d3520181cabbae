import type { Action, Rule, Session, UserMessage } from './types.ts';
import { type Wildcard, wildcard } from './wildcard.ts';

/** Permissions as a configuration writes them: one action for all, or by tool, or by tool and pattern. */
export type PermissionSettings = Action | { readonly [tool: string]: Action | { readonly [pattern: string]: Action } };

/** Rules in the order in which they are written, and a later one counts more. */
export const parsePermissionRules = (permission: PermissionSettings): readonly Rule[] => {
  if (typeof permission === 'string') return [{ permission: '*', pattern: '*', action: permission }];
  return Object.entries(permission).flatMap(([tool, actions]): Rule[] =>
    typeof actions === 'string'
      ? [{ permission: tool, pattern: '*', action: actions }]
      : Object.entries(actions).map(([pattern, action]) => ({ permission: tool, pattern, action })),
  );
};

type Compiled = { readonly permission: Wildcard; readonly pattern: Wildcard };

/** Rules that were looked at before. A turn holds the same ones against every tool and every call. */
const compiled = new WeakMap<Rule, Compiled>();
const compile = (rule: Rule): Compiled => {
  const known = compiled.get(rule);
  if (known !== undefined) return known;
  const made = { permission: wildcard(rule.permission), pattern: wildcard(rule.pattern) };
  compiled.set(rule, made);
  return made;
};

/** Whether a rule is about a tool, with whatever patterns. */
export const appliesToTool = (rule: Rule, permission: string): boolean => compile(rule).permission(permission);
const covers = (rule: Rule, permission: string, pattern: string): boolean =>
  appliesToTool(rule, permission) && compile(rule).pattern(pattern);

/** The last rule that covers the tool and the pattern decides. Silence means ask. */
export const actionFor = (rules: readonly Rule[], permission: string, pattern: string): Action =>
  rules.findLast((rule) => covers(rule, permission, pattern))?.action ?? 'ask';

/** One ruling for a call with several patterns: any deny denies it, else any ask asks. No pattern at all is `*`. */
export const actionForAll = (rules: readonly Rule[], permission: string, patterns: readonly string[]): Action => {
  const rulings = (patterns.length === 0 ? ['*'] : patterns).map((pattern) => actionFor(rules, permission, pattern));
  if (rulings.includes('deny')) return 'deny';
  return rulings.includes('ask') ? 'ask' : 'allow';
};

/** Whether the tool is not even offered to a model: the last rule for it denies everything. */
export const isToolHidden = (rules: readonly Rule[], permission: string): boolean => {
  const last = rules.findLast((rule) => appliesToTool(rule, permission));
  return last?.pattern === '*' && last.action === 'deny';
};

/** Who works on what: its agent's rules, its session, and the sessions that it works for, if any. */
export type RuleScope = {
  readonly agent: readonly Rule[];
  readonly session: Session;
  readonly user: UserMessage;
  readonly ancestors?: readonly Session[];
};

/** The rules that hold for one message in a session, in their order. */
type EffectiveRules = {
  readonly own: readonly Rule[];
  /** The same without those that hold back and lift nothing. */
  readonly withoutInheritedAsk: readonly Rule[];
  /** What the sessions above say, each by itself. It holds back, too. */
  readonly ofAncestors: readonly (readonly Rule[])[];
};

const ALLOW_ALL: Rule = { permission: '*', pattern: '*', action: 'allow' };

/** Rules of one message: tools that it switches on or off by name. */
const rulesOfMessage = ({ tools = {} }: UserMessage): readonly Rule[] =>
  Object.entries(tools).map(([permission, isOn]) => ({ permission, pattern: '*', action: isOn ? 'allow' : 'deny' }));

/**
 * The rules of an agent, a session and a message. In a session below another one `ask` was inherited from the agent that handed on
 * the work, who may do other things: it lifts no ban of the agent that works there.
 */
export const collectRules = ({ agent, session, user, ancestors: above = [] }: RuleScope): EffectiveRules => {
  const rules = session.permission ?? [];
  const lifting = session.parentID === undefined ? rules : rules.filter(({ action }) => action !== 'ask');
  const switches = rulesOfMessage(user);
  return {
    own: [...agent, ...rules, ...switches],
    withoutInheritedAsk: [...agent, ...lifting, ...switches],
    ofAncestors: above.map(({ permission = [] }) => [ALLOW_ALL, ...permission]),
  };
};

/** What rules say of a call. What people allowed with `always` answers a question, and lifts no ban: it may have been another agent's. */
export const decideAction = (
  { own, withoutInheritedAsk: firm, ofAncestors: above }: EffectiveRules,
  { tool, patterns }: { readonly tool: string; readonly patterns: readonly string[] },
  allowed: readonly Rule[],
): Action => {
  const lists = [own, ...above];
  const rulings = lists.map((rules) => actionForAll(rules, tool, patterns));
  if (rulings.includes('deny')) return 'deny';
  if (rulings[0] === 'ask' && actionForAll(firm, tool, patterns) === 'deny') return 'deny';
  if (!rulings.includes('ask')) return 'allow';
  const isAllowed = lists.every((rules) => actionForAll([...rules, ...allowed], tool, patterns) === 'allow');
  return isAllowed ? 'allow' : 'ask';
};

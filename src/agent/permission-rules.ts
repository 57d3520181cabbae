import { type Wildcard, wildcard } from '../core/wildcard.ts';
import type { Action, Rule } from './session.ts';

/** Permissions as a configuration writes them: one action for all, or by tool, or by tool and pattern. */
export type PermissionSettings = Action | { readonly [tool: string]: Action | { readonly [pattern: string]: Action } };

/** Rules in the order in which they are written, and a later one counts more. */
export const rulesOf = (permission: PermissionSettings): readonly Rule[] => {
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
const compiledOf = (rule: Rule): Compiled => {
  const known = compiled.get(rule);
  if (known !== undefined) return known;
  const made = { permission: wildcard(rule.permission), pattern: wildcard(rule.pattern) };
  compiled.set(rule, made);
  return made;
};

/** Whether a rule is about a tool, with whatever patterns. */
export const isAbout = (rule: Rule, permission: string): boolean => compiledOf(rule).permission(permission);
const covers = (rule: Rule, permission: string, pattern: string): boolean =>
  isAbout(rule, permission) && compiledOf(rule).pattern(pattern);

/** The last rule that covers the tool and the pattern decides. Silence means ask. */
export const rulingFor = (rules: readonly Rule[], permission: string, pattern: string): Action =>
  rules.findLast((rule) => covers(rule, permission, pattern))?.action ?? 'ask';

/** One ruling for a call with several patterns: any deny denies it, else any ask asks. No pattern at all is `*`. */
export const rulingForAll = (rules: readonly Rule[], permission: string, patterns: readonly string[]): Action => {
  const rulings = (patterns.length === 0 ? ['*'] : patterns).map((pattern) => rulingFor(rules, permission, pattern));
  if (rulings.includes('deny')) return 'deny';
  return rulings.includes('ask') ? 'ask' : 'allow';
};

/** Whether a model is not even told of the tool: the last rule for it denies everything. */
export const isHidden = (rules: readonly Rule[], permission: string): boolean => {
  const last = rules.findLast((rule) => isAbout(rule, permission));
  return last?.pattern === '*' && last.action === 'deny';
};

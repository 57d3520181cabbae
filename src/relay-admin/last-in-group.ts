import { createDeadline } from '../core/async.ts';
import type { Clock } from '../core/clock.ts';
import { type ListPage, readPage } from './list-page.ts';
import { type Account, accountOf, groupsOf } from './relay/accounts.ts';
import type { Relay } from './relay/client.ts';
import type { ToolCall } from './tool-call.ts';

/** What a caller should know about the groups of an account that is being switched off. */
export type GroupWarning = {
  readonly code: 'last_schedulable_in_group' | 'groups_not_checked';
  /** Empty when not even the groups of the account could be read. */
  readonly group_ids: readonly number[];
};

const GROUPS_LOOKED_AT = 5;
const GROUPS_NAMED = 50;
/** The look is only a courtesy: it ends while the change itself still has more than the half that it needs to start. */
const SHARE_AFTERWARDS = 0.625;

type Finding = 'bare' | 'served' | 'not-known';

/** Some relays may not filter by group: an account that says that it is elsewhere does not serve this one. */
const serves = (candidate: Account, group: number): boolean => {
  const groups = groupsOf(candidate) ?? [];
  return candidate.schedulable && candidate.status === 'active' && (groups.length === 0 || groups.includes(group));
};

/** What the first page of a group's accounts says about the group without the account `id`. */
const findingOf = (
  { items, total }: ListPage,
  { id, group }: { readonly id: number; readonly group: number },
): Finding => {
  const accounts = items.map(accountOf);
  if (accounts.some((other) => other !== undefined && other.id !== id && serves(other, group))) return 'served';
  const isWhole = total <= items.length && !accounts.includes(undefined);
  return isWhole ? 'bare' : 'not-known';
};

const look = async (relay: Relay, account: Account, call: { readonly signal: AbortSignal; readonly group: number }) => {
  const { signal, group } = call;
  try {
    const page = await readPage(relay, { path: 'accounts', query: { group }, page: 1 }, signal);
    return findingOf(page, { id: account.id, group });
  } catch {
    return 'not-known';
  }
};

const warning = (code: GroupWarning['code'], ids: readonly number[]): readonly GroupWarning[] =>
  ids.length === 0 ? [] : [{ code, group_ids: ids.slice(0, GROUPS_NAMED) }];

/** Which groups would have no other active and schedulable account. Never rejects: what was not seen is a warning, too. */
export const groupWarnings = async (
  { relay, clock }: { readonly relay: Relay; readonly clock: Clock },
  account: Account,
  call: ToolCall,
): Promise<readonly GroupWarning[]> => {
  const groups = groupsOf(account);
  if (groups === undefined) return [{ code: 'groups_not_checked', group_ids: [] }];
  const findings = new Map<number, Finding>();
  const deadline = createDeadline(clock, call.remainingMs() - call.limitMs * SHARE_AFTERWARDS, call.signal);
  try {
    for (const group of groups.slice(0, GROUPS_LOOKED_AT)) {
      if (deadline.signal.aborted || deadline.remainingMs() === 0) break;
      findings.set(group, await look(relay, account, { signal: deadline.signal, group }));
    }
  } finally {
    deadline.clear();
  }
  const found = (wanted: Finding) => groups.filter((group) => (findings.get(group) ?? 'not-known') === wanted);
  return [...warning('last_schedulable_in_group', found('bare')), ...warning('groups_not_checked', found('not-known'))];
};

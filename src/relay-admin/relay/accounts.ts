import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { unexpectedShape } from '../errors/errors.ts';
import type { RelayClient } from './client.ts';
import { type ListPage, readPage } from './list.ts';
import { RelayId, readById } from './users.ts';

const Time = v.nullish(v.string(), null);
/** A figure that only some accounts have. In another shape it counts as absent. */
const Figure = v.fallback(v.nullish(v.number(), null), null);

/** The groups of an account record. Only a warning needs them, so an unknown shape here fails nothing else. */
const Groups = v.object({
  group_ids: v.nullish(v.array(RelayId), []),
  account_groups: v.nullish(v.array(v.object({ group_id: RelayId })), []),
});

/** The fields that are read of the relay's account record. All others, above all credentials, are dropped. */
const RelayAccount = v.object({
  id: RelayId,
  name: v.nullish(v.string(), ''),
  status: v.string(),
  schedulable: v.boolean(),
  rate_limit_reset_at: Time,
  overload_until: Time,
  temp_unschedulable_until: Time,
  auto_pause_on_expired: v.nullish(v.boolean(), false),
  /** Seconds since the epoch. */
  expires_at: v.nullish(v.number(), null),
  type: v.fallback(v.nullish(v.string(), ''), ''),
  quota_limit: Figure,
  quota_used: Figure,
  quota_daily_limit: Figure,
  quota_daily_used: Figure,
  quota_daily_reset_at: v.fallback(Time, null),
  quota_weekly_limit: Figure,
  quota_weekly_used: Figure,
  quota_weekly_reset_at: v.fallback(Time, null),
  group_ids: v.optional(v.unknown()),
  account_groups: v.optional(v.unknown()),
});

/** An account of the relay. Its texts are as the relay sent them. */
export type Account = v.InferOutput<typeof RelayAccount>;

/** The account in a record of the relay; `undefined` when it is not an account. */
const parseAccount = (record: unknown): Account | undefined => {
  const parsed = v.safeParse(RelayAccount, record);
  return parsed.success ? parsed.output : undefined;
};

/** The account with this id. Throws `upstream-contract` when the answer is about another one. */
export const readAccount = async (relay: RelayClient, id: number, signal: AbortSignal): Promise<Account> => {
  const account = parseAccount(await readById(relay, { what: 'account', id }, signal));
  if (account?.id !== id) throw unexpectedShape();
  return account;
};

/** The groups of an account; `undefined` when the record does not show them in a known shape. */
const parseGroups = (account: Account): readonly number[] | undefined => {
  const parsed = v.safeParse(Groups, account);
  if (!parsed.success) return undefined;
  const { group_ids, account_groups } = parsed.output;
  return [...new Set([...group_ids, ...account_groups.map(({ group_id }) => group_id)])];
};

export const BLOCKS = [
  'status_not_active',
  'expired',
  'rate_limited',
  'overloaded',
  'temporarily_unschedulable',
  'quota_used_up',
] as const;

/** A state other than the switch that keeps an account from being scheduled; `until` in ISO 8601 where it is known. */
type Block = { readonly code: (typeof BLOCKS)[number]; readonly until: string | null };

const blockUntil = (code: Block['code'], time: string | null, now: number): readonly Block[] => {
  if (time === null || time === '') return [];
  const endsAt = Date.parse(time);
  // A time that cannot be parsed may be in the future.
  if (Number.isNaN(endsAt)) return [{ code, until: null }];
  return endsAt > now ? [{ code, until: new Date(endsAt).toISOString() }] : [];
};

/** The platform counts a quota for accounts with a key of their own only. */
const TYPES_WITHOUT_QUOTA = new Set(['oauth', 'setup-token']);

/** A quota that is used up, until its reset where that is known. The platform then answers 503 and shows no block of its own. */
const quotaBlock = (
  limit: number | null,
  used: number | null,
  { resetAt, now }: { readonly resetAt: string | null; readonly now: number },
): readonly Block[] => {
  if (limit === null || limit <= 0 || (used ?? 0) < limit) return [];
  return resetAt === null || resetAt === ''
    ? [{ code: 'quota_used_up', until: null }]
    : blockUntil('quota_used_up', resetAt, now);
};

const quotaBlocks = (account: Account, now: number): readonly Block[] => {
  if (TYPES_WITHOUT_QUOTA.has(account.type)) return [];
  const { quota_daily_reset_at, quota_weekly_reset_at } = account;
  return [
    ...quotaBlock(account.quota_limit, account.quota_used, { resetAt: null, now }),
    ...quotaBlock(account.quota_daily_limit, account.quota_daily_used, { resetAt: quota_daily_reset_at, now }),
    ...quotaBlock(account.quota_weekly_limit, account.quota_weekly_used, { resetAt: quota_weekly_reset_at, now }),
  ];
};

/** Everything but the switch that keeps an account from being scheduled now, as far as its record shows. */
export const findBlocks = (account: Account, now: number): readonly Block[] => {
  const { status, auto_pause_on_expired, expires_at } = account;
  const isExpired = auto_pause_on_expired && expires_at !== null && expires_at * 1000 <= now;
  return [
    ...(status === 'active' ? [] : [{ code: 'status_not_active', until: null } as const]),
    ...(isExpired ? [{ code: 'expired', until: null } as const] : []),
    ...blockUntil('rate_limited', account.rate_limit_reset_at, now),
    ...blockUntil('overloaded', account.overload_until, now),
    ...blockUntil('temporarily_unschedulable', account.temp_unschedulable_until, now),
    ...quotaBlocks(account, now),
  ];
};

/** A warning about the groups of an account that is being switched off. */
export type GroupWarning = {
  readonly code: 'last_schedulable_in_group' | 'groups_not_checked';
  /** Empty when not even the groups of the account could be read. */
  readonly group_ids: readonly number[];
};

const GROUPS_CHECKED = 5;
const GROUPS_NAMED = 50;
/** The check is optional: it ends while the change itself still has more than the half of the time that it needs to start. */
const SHARE_LEFT_FOR_CHANGE = 0.625;

/** `last`: the account is the last one that serves the group. */
type GroupCheck = 'last' | 'served' | 'unknown';

/**
 * Whether an account serves a group now: it is switched on, and nothing else blocks it, such as a limit or a quota that is used
 * up. Some relays may not filter by group, so an account that lists only other groups does not serve this one.
 */
const serves = (candidate: Account, { group, now }: { readonly group: number; readonly now: number }): boolean => {
  const groups = parseGroups(candidate) ?? [];
  const isMember = groups.length === 0 || groups.includes(group);
  return candidate.schedulable && isMember && findBlocks(candidate, now).length === 0;
};

/** Whether a group has an account other than `id` that serves it, from the first page of its accounts. */
const checkPage = (
  { items, total }: ListPage,
  { id, ...place }: { readonly id: number; readonly group: number; readonly now: number },
): GroupCheck => {
  const accounts = items.map(parseAccount);
  if (accounts.some((other) => other !== undefined && other.id !== id && serves(other, place))) return 'served';
  const isWhole = total <= items.length && !accounts.includes(undefined);
  return isWhole ? 'last' : 'unknown';
};

const checkGroup = async (
  relay: RelayClient,
  account: Account,
  call: { readonly signal: AbortSignal; readonly group: number; readonly now: number },
) => {
  const { signal, group, now } = call;
  try {
    const page = await readPage(relay, { path: 'accounts', query: { group }, page: 1 }, signal);
    return checkPage(page, { id: account.id, group, now });
  } catch {
    return 'unknown';
  }
};

const toWarnings = (code: GroupWarning['code'], ids: readonly number[]): readonly GroupWarning[] =>
  ids.length === 0 ? [] : [{ code, group_ids: ids.slice(0, GROUPS_NAMED) }];

/** The groups that no other account would serve. Never rejects: an unchecked group is a warning, too. */
export const findGroupWarnings = async (
  { relay, clock }: { readonly relay: RelayClient; readonly clock: Clock },
  account: Account,
  call: CallDeadline,
): Promise<readonly GroupWarning[]> => {
  const groups = parseGroups(account);
  if (groups === undefined) return [{ code: 'groups_not_checked', group_ids: [] }];
  const checks = new Map<number, GroupCheck>();
  const deadline = createDeadline(clock, call.remainingMs() - call.limitMs * SHARE_LEFT_FOR_CHANGE, call.signal);
  try {
    for (const group of groups.slice(0, GROUPS_CHECKED)) {
      if (deadline.signal.aborted || deadline.remainingMs() === 0) break;
      checks.set(group, await checkGroup(relay, account, { signal: deadline.signal, group, now: clock.now() }));
    }
  } finally {
    deadline.clear();
  }
  const found = (wanted: GroupCheck) => groups.filter((group) => (checks.get(group) ?? 'unknown') === wanted);
  return [
    ...toWarnings('last_schedulable_in_group', found('last')),
    ...toWarnings('groups_not_checked', found('unknown')),
  ];
};

import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from './client.ts';
import { type ListPage, readPage } from './list.ts';
import { RelayId, readById } from './users.ts';

const Time = v.nullish(v.string(), null);

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
  if (account?.id !== id) throw new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });
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

/** Some relays may not filter by group, so an account that lists only other groups does not serve this one. */
const serves = (candidate: Account, group: number): boolean => {
  const groups = parseGroups(candidate) ?? [];
  return candidate.schedulable && candidate.status === 'active' && (groups.length === 0 || groups.includes(group));
};

/** Whether a group has a schedulable account other than `id`, from the first page of its accounts. */
const checkPage = (
  { items, total }: ListPage,
  { id, group }: { readonly id: number; readonly group: number },
): GroupCheck => {
  const accounts = items.map(parseAccount);
  if (accounts.some((other) => other !== undefined && other.id !== id && serves(other, group))) return 'served';
  const isWhole = total <= items.length && !accounts.includes(undefined);
  return isWhole ? 'last' : 'unknown';
};

const checkGroup = async (
  relay: RelayClient,
  account: Account,
  call: { readonly signal: AbortSignal; readonly group: number },
) => {
  const { signal, group } = call;
  try {
    const page = await readPage(relay, { path: 'accounts', query: { group }, page: 1 }, signal);
    return checkPage(page, { id: account.id, group });
  } catch {
    return 'unknown';
  }
};

const toWarnings = (code: GroupWarning['code'], ids: readonly number[]): readonly GroupWarning[] =>
  ids.length === 0 ? [] : [{ code, group_ids: ids.slice(0, GROUPS_NAMED) }];

/** The groups that would have no other active and schedulable account. Never rejects: an unchecked group is a warning, too. */
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
      checks.set(group, await checkGroup(relay, account, { signal: deadline.signal, group }));
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

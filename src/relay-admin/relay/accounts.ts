import * as v from 'valibot';
import { createDeadline } from '../../core/async.ts';
import type { Clock } from '../../core/clock.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { RelayError } from '../errors/errors.ts';
import type { RelayClient } from './client.ts';
import { type ListPage, readPage } from './list.ts';
import { RelayId, readById } from './users.ts';

const Time = v.nullish(v.string(), null);

/** Where a record tells its groups. Only a warning needs them, so a strange shape of theirs stops nothing else. */
const Groups = v.object({
  group_ids: v.nullish(v.array(RelayId), []),
  account_groups: v.nullish(v.array(v.object({ group_id: RelayId })), []),
});

/** What is read of the relay's account record. All else in it, credentials above all, stays out. */
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

/** The account in a record of the relay's, or nothing when it is none. */
export const parseAccount = (record: unknown): Account | undefined => {
  const parsed = v.safeParse(RelayAccount, record);
  return parsed.success ? parsed.output : undefined;
};

/** The account with this id, and no other: an answer about another one is the `upstream-contract` problem. */
export const readAccount = async (relay: RelayClient, id: number, signal: AbortSignal): Promise<Account> => {
  const account = parseAccount(await readById(relay, { what: 'account', id }, signal));
  if (account?.id !== id) throw new RelayError({ kind: 'upstream-contract', why: 'unexpected-shape' });
  return account;
};

/** The groups of an account; nothing when the record does not tell them readably. */
export const parseGroups = (account: Account): readonly number[] | undefined => {
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

/** A state beside the switch that keeps an account from being scheduled; `until` in ISO 8601 where that is known. */
export type Block = { readonly code: (typeof BLOCKS)[number]; readonly until: string | null };

const blockUntil = (code: Block['code'], time: string | null, now: number): readonly Block[] => {
  if (time === null || time === '') return [];
  const endsAt = Date.parse(time);
  // A time that cannot be read may well be in the future.
  if (Number.isNaN(endsAt)) return [{ code, until: null }];
  return endsAt > now ? [{ code, until: new Date(endsAt).toISOString() }] : [];
};

/** Everything but the switch that keeps an account from being scheduled now, as far as its record tells. */
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

/** What a caller should know about the groups of an account that is being switched off. */
export type GroupWarning = {
  readonly code: 'last_schedulable_in_group' | 'groups_not_checked';
  /** Empty when not even the groups of the account could be read. */
  readonly group_ids: readonly number[];
};

const GROUPS_CHECKED = 5;
const GROUPS_NAMED = 50;
/** The look is only a courtesy: it ends while the change itself still has more than the half that it needs to start. */
const SHARE_AFTERWARDS = 0.625;

type GroupCheck = 'bare' | 'served' | 'not-known';

/** Some relays may not filter by group: an account that says that it is elsewhere does not serve this one. */
const serves = (candidate: Account, group: number): boolean => {
  const groups = parseGroups(candidate) ?? [];
  return candidate.schedulable && candidate.status === 'active' && (groups.length === 0 || groups.includes(group));
};

/** What the first page of a group's accounts says about the group without the account `id`. */
const checkPage = (
  { items, total }: ListPage,
  { id, group }: { readonly id: number; readonly group: number },
): GroupCheck => {
  const accounts = items.map(parseAccount);
  if (accounts.some((other) => other !== undefined && other.id !== id && serves(other, group))) return 'served';
  const isWhole = total <= items.length && !accounts.includes(undefined);
  return isWhole ? 'bare' : 'not-known';
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
    return 'not-known';
  }
};

const toWarnings = (code: GroupWarning['code'], ids: readonly number[]): readonly GroupWarning[] =>
  ids.length === 0 ? [] : [{ code, group_ids: ids.slice(0, GROUPS_NAMED) }];

/** Which groups would have no other active and schedulable account. Never rejects: what was not seen is a warning, too. */
export const findGroupWarnings = async (
  { relay, clock }: { readonly relay: RelayClient; readonly clock: Clock },
  account: Account,
  call: CallDeadline,
): Promise<readonly GroupWarning[]> => {
  const groups = parseGroups(account);
  if (groups === undefined) return [{ code: 'groups_not_checked', group_ids: [] }];
  const findings = new Map<number, GroupCheck>();
  const deadline = createDeadline(clock, call.remainingMs() - call.limitMs * SHARE_AFTERWARDS, call.signal);
  try {
    for (const group of groups.slice(0, GROUPS_CHECKED)) {
      if (deadline.signal.aborted || deadline.remainingMs() === 0) break;
      findings.set(group, await checkGroup(relay, account, { signal: deadline.signal, group }));
    }
  } finally {
    deadline.clear();
  }
  const found = (wanted: GroupCheck) => groups.filter((group) => (findings.get(group) ?? 'not-known') === wanted);
  return [
    ...toWarnings('last_schedulable_in_group', found('bare')),
    ...toWarnings('groups_not_checked', found('not-known')),
  ];
};

import * as v from 'valibot';
import { Problem } from '../errors.ts';
import type { Relay } from './client.ts';
import { Id, readById } from './users.ts';

const Time = v.nullish(v.string(), null);

/** Where a record tells its groups. Only a warning needs them, so a strange shape of theirs stops nothing else. */
const Groups = v.object({
  group_ids: v.nullish(v.array(Id), []),
  account_groups: v.nullish(v.array(v.object({ group_id: Id })), []),
});

/** What is read of the relay's account record. All else in it, credentials above all, stays out. */
const RelayAccount = v.object({
  id: Id,
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
export const accountOf = (record: unknown): Account | undefined => {
  const parsed = v.safeParse(RelayAccount, record);
  return parsed.success ? parsed.output : undefined;
};

/** The account with this id, and no other: an answer about another one is the `upstream-contract` problem. */
export const readAccount = async (relay: Relay, id: number, signal: AbortSignal): Promise<Account> => {
  const account = accountOf(await readById(relay, { what: 'account', id }, signal));
  if (account?.id !== id) throw new Problem({ kind: 'upstream-contract', why: 'not-the-shape' });
  return account;
};

/** The groups of an account; nothing when the record does not tell them readably. */
export const groupsOf = (account: Account): readonly number[] | undefined => {
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
export const blocksOf = (account: Account, now: number): readonly Block[] => {
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

import { HOSTILE, SECRETS } from './secrets.ts';

const DECIMALS = 8;
const PER_ONE = 10n ** BigInt(DECIMALS);
const AMOUNT = /^(-?)(\d+)(?:\.(\d{1,8}))?$/;

/** Money as whole units of 1e-8. A number is rounded there, as the platform's column rounds; a text must be exact. */
export const toUnits = (amount: number | string): bigint => {
  const [, sign, whole, part = ''] = AMOUNT.exec(typeof amount === 'number' ? amount.toFixed(DECIMALS) : amount) ?? [];
  if (whole === undefined) throw new RangeError('An amount has digits and at most 8 decimals');
  const units = BigInt(whole) * PER_ONE + BigInt(part.padEnd(DECIMALS, '0'));
  return sign === '-' ? -units : units;
};

/** `1.5` for 150000000 units: exact, without trailing zeros. */
export const formatAmount = (units: bigint): string => {
  const size = units < 0n ? -units : units;
  const part = String(size % PER_ONE)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size / PER_ONE}${part === '' ? '' : `.${part}`}`;
};

/** What the platform puts into its JSON: a double, with a double's digits (`5e-8` too). */
export const toAmount = (units: bigint): number => Number(formatAmount(units));

/** A user as the platform's own fields name it, money in units of 1e-8. Tests may change anything but the id. */
export type DemoUser = {
  readonly id: number;
  email: string;
  username: string;
  role: 'admin' | 'user';
  status: 'active' | 'disabled';
  balance: bigint;
  frozen_balance: bigint;
  concurrency: number;
  rpm_limit: number;
  notes: string;
  allowed_groups: readonly number[] | null;
  group_rates: Readonly<Record<string, number>>;
  api_keys: { readonly id: number; name: string; key: string }[];
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
  last_used_at: string | null;
  /** Spent, in units, before each request that touches the user: usage that goes on while a tool works. */
  running_debit: bigint;
};

/** One line of a user's balance history; `value` is a signed difference in units of 1e-8. */
export type HistoryRow = {
  readonly id: number;
  readonly used_by: number;
  readonly code: string;
  readonly type: string;
  readonly value: bigint;
  readonly notes: string;
  readonly used_at: string;
};

const DAY_MS = 86_400_000;

/** A user with a new account's settings, to be named and changed. */
export const createUser = (id: number, email: string, createdAt: string): DemoUser => ({
  id,
  email,
  username: email.slice(0, email.indexOf('@')),
  role: 'user',
  status: 'active',
  balance: 0n,
  frozen_balance: 0n,
  concurrency: 5,
  rpm_limit: 60,
  notes: '',
  allowed_groups: null,
  group_rates: {},
  api_keys: [],
  created_at: createdAt,
  updated_at: createdAt,
  deleted_at: null,
  last_used_at: null,
  running_debit: 0n,
});

type Person = Partial<DemoUser> & { readonly email: string };

const PEOPLE: readonly Person[] = [
  { email: 'owner@relay.example', role: 'admin', concurrency: 30, rpm_limit: 0, balance: toUnits('1000') },
  { email: 'alice@example.com', balance: toUnits('12.5'), notes: 'Pays by invoice' },
  { email: 'bob@example.com', status: 'disabled', balance: toUnits('0.3') },
  { email: 'carol@example.org', concurrency: 0, rpm_limit: 0, balance: toUnits('98765.43210987') },
  { email: 'mallory@example.net', username: HOSTILE.username, notes: HOSTILE.notes, balance: toUnits('1') },
  { email: 'Dave@Example.com', balance: toUnits('7') },
  { email: 'dave@example.com', balance: toUnits('8') },
  { email: 'erin@example.com', notes: 'Shares a card with alice@example.com', balance: toUnits('-0.00000005') },
  { email: 'gone@example.com', balance: toUnits('2') },
];
const DELETED_ID = 9;

/** Nine users, id 1 an admin: a disabled one, an unlimited one, a hostile one, two of one address, a deleted one. */
export const seedUsers = (nowMs: number): DemoUser[] =>
  PEOPLE.map((person, index) => {
    const id = index + 1;
    const createdAt = new Date(nowMs - (PEOPLE.length - index) * DAY_MS).toISOString();
    const user = { ...createUser(id, person.email, createdAt), ...person };
    // Real keys differ from user to user; the first is the canary's, and the search looks into all of them.
    const key = id === 2 ? SECRETS.userKey : `${SECRETS.userKey}-${id}`;
    return { ...user, api_keys: [{ id, name: 'laptop', key }], deleted_at: id === DELETED_ID ? createdAt : null };
  });

const ROWS = [
  { used_by: 2, type: 'balance', value: toUnits('10'), notes: '' },
  { used_by: 2, type: 'admin_balance', value: toUnits('5'), notes: 'Goodwill' },
  { used_by: 2, type: 'admin_concurrency', value: toUnits('2'), notes: '' },
  { used_by: 5, type: 'admin_balance', value: toUnits('1'), notes: HOSTILE.notes },
  { used_by: 4, type: 'admin_balance', value: toUnits('98765.43210987'), notes: 'Transfer' },
] as const;

export const seedHistory = (nowMs: number): HistoryRow[] =>
  ROWS.map((row, index) => ({
    ...row,
    id: index + 1,
    code: SECRETS.historyCode,
    used_at: new Date(nowMs - (ROWS.length - index) * DAY_MS).toISOString(),
  }));

import * as v from 'valibot';
import { internalError, invalid, ok, parseBody, parsePage, refusedResponse, toPage } from '../envelope.ts';
import { type DemoUser, type HistoryRow, toAmount } from '../records/users.ts';

import { addHistory, currentTime, type RelayWorld, touchUser } from '../world.ts';
import { parseId, type RelayCall, type RelayTable } from './table.ts';

const LARGEST_INT = 2_147_483_647;
const SEARCH_CHARS = 100;
const PER_ONE = 100_000_000n;

const sumOf = (rows: readonly HistoryRow[], types: readonly string[]): bigint =>
  rows.filter(({ type, value }) => types.includes(type) && value > 0n).reduce((sum, { value }) => sum + value, 0n);

const historyOf = ({ history }: RelayWorld, id: number | undefined): HistoryRow[] =>
  history.filter(({ used_by }) => used_by === id);

/** A user as an admin sees them. The platform seldom adds `api_keys`; where it does, each key is there in full. */
export const userView = (world: RelayWorld, user: DemoUser) => {
  const { running_debit: _, balance, frozen_balance, deleted_at, api_keys, ...rest } = user;
  return {
    ...rest,
    api_keys: world.settings.arePlanted ? api_keys : [],
    balance: toAmount(balance),
    frozen_balance: toAmount(frozen_balance),
    // Only the history counts what an admin has credited.
    total_recharged: toAmount(sumOf(historyOf(world, user.id), ['balance'])),
    last_active_at: user.updated_at,
    ...(deleted_at === null ? {} : { deleted_at }),
    balance_notify_enabled: false,
    balance_notify_threshold_type: 'fixed',
    balance_notify_threshold: null,
    balance_notify_extra_emails: [`billing+${user.id}@example.com`],
    subscriptions: [],
  };
};

const noUser = (): Response => refusedResponse({ status: 404, message: 'user not found', reason: 'USER_NOT_FOUND' });
const badId = (): Response => refusedResponse({ status: 400, message: 'Invalid user ID' });

/** As a database folds case: letter by letter, so that a letter whose lower case has two stays as it is. */
const folded = (text: string): string =>
  [...text].map((letter) => (letter.toLowerCase().length === letter.length ? letter.toLowerCase() : letter)).join('');

const isFoundBy =
  (search: string) =>
  ({ email, username, notes, api_keys }: DemoUser): boolean =>
    [email, username, notes, ...api_keys.map(({ key }) => key)].some((text) => folded(text).includes(search));

const list = (world: RelayWorld, { query }: RelayCall): Response => {
  const search = folded([...(query.get('search') ?? '').trim()].slice(0, SEARCH_CHARS).join(''));
  const status = query.get('status') ?? '';
  const role = query.get('role') ?? '';
  const order = query.get('sort_order') === 'asc' ? 1 : -1;
  const found = world.users
    .filter((user) => user.deleted_at === null && isFoundBy(search)(user))
    .filter((user) => (status === '' || user.status === status) && (role === '' || user.role === role))
    .sort((left, right) => order * (left.created_at.localeCompare(right.created_at) || left.id - right.id));
  const { items, ...frame } = toPage(found, parsePage(query));
  for (const { id } of items) touchUser(world, id);
  return ok({ items: items.map((user) => ({ ...userView(world, user), current_concurrency: 0 })), ...frame });
};

const one = (world: RelayWorld, { params, query }: RelayCall): Response => {
  const id = parseId(params);
  if (id === undefined) return badId();
  const deleted = query.get('include_deleted') === 'true' ? world.users.find((user) => user.id === id) : undefined;
  const user = touchUser(world, id) ?? deleted;
  return user === undefined ? noUser() : ok(userView(world, user));
};

// Nothing keeps a number from being negative.
const Integer = v.exactOptional(v.pipe(v.number(), v.integer()));
const Update = v.object({
  email: v.exactOptional(v.string()),
  username: v.exactOptional(v.string()),
  notes: v.exactOptional(v.string()),
  role: v.exactOptional(v.picklist(['admin', 'user'])),
  status: v.exactOptional(v.picklist(['active', 'disabled'])),
  concurrency: Integer,
  rpm_limit: Integer,
  allowed_groups: v.exactOptional(v.array(v.number())),
  group_rates: v.exactOptional(v.record(v.string(), v.number())),
});

const update = (world: RelayWorld, { params, body, isIgnored }: RelayCall): Response => {
  const id = parseId(params);
  if (id === undefined) return badId();
  const fields = parseBody(Update, body);
  if (fields === undefined) return invalid('a field does not fit');
  const user = touchUser(world, id);
  if (user === undefined) return noUser();
  const isTooLarge = [fields.concurrency, fields.rpm_limit].some((limit) => Math.abs(limit ?? 0) > LARGEST_INT);
  if (isTooLarge || (user.role === 'admin' && fields.status === 'disabled')) return internalError();
  const concurrency = user.concurrency;
  const changed: DemoUser = Object.assign(isIgnored ? { ...user } : user, fields, {
    updated_at: currentTime(world),
  });
  const added = BigInt(changed.concurrency - concurrency);
  if (added !== 0n && !isIgnored)
    addHistory(world, { used_by: id, type: 'admin_concurrency', value: added * PER_ONE, notes: '' });
  return ok(userView(world, changed));
};

const history = (world: RelayWorld, { params, query }: RelayCall): Response => {
  const id = parseId(params);
  if (id === undefined) return badId();
  touchUser(world, id);
  const all = historyOf(world, id);
  const type = query.get('type') ?? '';
  const rows = all
    .filter((row) => type === '' || row.type === type)
    .sort((left, right) => right.used_at.localeCompare(left.used_at) || right.id - left.id)
    .map((row) => ({
      ...row,
      value: toAmount(row.value),
      status: 'used',
      created_at: row.used_at,
      group_id: null,
      validity_days: 0,
    }));
  return ok({ ...toPage(rows, parsePage(query)), total_recharged: toAmount(sumOf(all, ['balance', 'admin_balance'])) });
};

const ofUser =
  (world: RelayWorld, view: (user: DemoUser) => unknown) =>
  ({ params }: RelayCall): Response => {
    const id = parseId(params);
    if (id === undefined) return badId();
    const user = touchUser(world, id);
    return user === undefined ? noUser() : ok(view(user));
  };

/** Everything about users but their balance's one write. An unknown user has an empty history, and no 404. */
export const usersTable = (world: RelayWorld): RelayTable => ({
  'GET users': (call) => list(world, call),
  'GET users/:id': (call) => one(world, call),
  'PUT users/:id': (call) => update(world, call),
  'GET users/:id/balance-history': (call) => history(world, call),
  // Requests of a user without a limit are not counted.
  'GET users/:id/rpm-status': ofUser(world, ({ rpm_limit, running_debit }) => ({
    user_rpm_used: rpm_limit > 0 && running_debit !== 0n ? 1 : 0,
    user_rpm_limit: rpm_limit,
    per_group: null,
  })),
  'GET users/:id/platform-quotas': ofUser(world, () => []),
  'GET users/:id/subscriptions': ofUser(world, () => []),
});

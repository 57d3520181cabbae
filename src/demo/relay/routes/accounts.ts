import * as v from 'valibot';
import { invalid, ok, parseBody, parsePage, toPage } from '../envelope.ts';
import type { DemoAccount } from '../records/accounts.ts';
import { CREDENTIALS, EXTRA_SECRETS, PROXY, SECRETS } from '../records/secrets.ts';
import { currentTime, type RelayWorld } from '../world.ts';
import { ofRecord, type RelayCall, type RelayRoute, type RelayTable } from './table.ts';

/** An account as an admin sees it, with all the secrets that the platform has let through at one time or another. */
const accountView = ({ settings }: RelayWorld, account: DemoAccount) => {
  const { models: _, ...rest } = account;
  const lastCall = `last upstream call sent x-api-key: ${settings.adminKey}, Authorization: Bearer ${SECRETS.jwt}`;
  return {
    ...rest,
    credentials: CREDENTIALS,
    credentials_status: { has_api_key: true, has_refresh_token: account.type === 'oauth' },
    extra: { ...account.extra, ...EXTRA_SECRETS },
    error_message: account.error_message === '' ? '' : `${account.error_message}; ${lastCall}`,
    proxy_id: PROXY.id,
    proxy: PROXY,
    custom_base_url: `https://${PROXY.username}:${PROXY.password}@upstream.example/v1`,
    rate_multiplier: 1,
    last_used_at: null,
    auto_pause_on_expired: false,
    current_concurrency: 0,
    parent_account_id: null,
  };
};

const isAhead = ({ clock }: RelayWorld, time: string | null): boolean =>
  time !== null && Date.parse(time) > clock.now();

const derivedStates = (world: RelayWorld, account: DemoAccount): readonly string[] => {
  const isLimited = isAhead(world, account.rate_limit_reset_at) || isAhead(world, account.overload_until);
  const isPaused = isAhead(world, account.temp_unschedulable_until);
  const isUsable = account.status === 'active' && account.schedulable && !isLimited && !isPaused;
  return [
    ...(account.status === 'active' ? [] : [account.status]),
    ...(isUsable ? ['active'] : []),
    ...(isLimited ? ['rate_limited'] : []),
    ...(isPaused ? ['temp_unschedulable'] : []),
    ...(account.schedulable ? [] : ['unschedulable']),
  ];
};

const fits = (wanted: string | null, value: string): boolean => wanted === null || wanted === '' || wanted === value;

const isInGroup = (wanted: string | null, { group_ids }: DemoAccount): boolean => {
  if (wanted === null || wanted === '') return true;
  return wanted === 'ungrouped' ? group_ids.length === 0 : group_ids.includes(Number(wanted));
};

/** Changes whenever the text does, which is all that is asked of it. */
const tagOf = (text: string): string =>
  `W/"${[...text].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 4294967291, 7).toString(16)}"`;

const list = (world: RelayWorld, { query, request }: RelayCall): Response => {
  const status = query.get('status') ?? '';
  const search = (query.get('search') ?? '').trim().toLowerCase();
  const order = query.get('sort_order') === 'desc' ? -1 : 1;
  const found = world.accounts
    .filter(({ platform, type }) => fits(query.get('platform'), platform) && fits(query.get('type'), type))
    .filter((account) => isInGroup(query.get('group'), account) && account.name.toLowerCase().includes(search))
    .filter((account) => status === '' || derivedStates(world, account).includes(status))
    .sort((left, right) => order * left.name.localeCompare(right.name));
  const { items, ...frame } = toPage(found, parsePage(query));
  const data = { items: items.map((account) => accountView(world, account)), ...frame };
  const etag = tagOf(JSON.stringify(data));
  return request.headers.get('if-none-match') === etag
    ? new Response(null, { status: 304, headers: { etag } })
    : ok(data, { etag });
};

const ofAccount = ({ accounts }: RelayWorld, view: (account: DemoAccount) => unknown): RelayRoute =>
  ofRecord('account', accounts, view);

const Switch = v.object({ schedulable: v.optional(v.boolean(), false) });

/** Nothing in the body means false: this is how the platform has it, and why `{}` switches an account off. */
const setSchedulable = (world: RelayWorld, account: DemoAccount, { body, isIgnored }: RelayCall): unknown => {
  const fields = parseBody(Switch, body);
  if (fields === undefined) return invalid('schedulable does not fit');
  const changed = Object.assign(isIgnored ? { ...account } : account, fields, { updated_at: currentTime(world) });
  return accountView(world, changed);
};

const secondsOf = (time: string | null): number => Math.floor(Date.parse(time ?? '') / 1000);

const pauseOf = (world: RelayWorld, account: DemoAccount) =>
  isAhead(world, account.temp_unschedulable_until)
    ? {
        active: true,
        state: {
          until_unix: secondsOf(account.temp_unschedulable_until),
          triggered_at_unix: secondsOf(account.updated_at),
          status_code: 529,
          matched_keyword: 'overloaded',
          rule_index: 0,
          error_message: `upstream said no to Bearer ${SECRETS.bearer}`,
        },
      }
    : { active: false };

/** Everything about accounts that a tool has business with. */
export const accountsTable = (world: RelayWorld): RelayTable => ({
  'GET accounts': (call) => list(world, call),
  'GET accounts/:id': ofAccount(world, (account) => accountView(world, account)),
  'POST accounts/:id/schedulable': ofRecord('account', world.accounts, (account, call) =>
    setSchedulable(world, account, call),
  ),
  'GET accounts/:id/temp-unschedulable': ofAccount(world, (account) => pauseOf(world, account)),
  'GET accounts/:id/models': ofAccount(world, ({ models }) =>
    models.map((id) => ({ id, type: 'model', display_name: id, created_at: currentTime(world) })),
  ),
  'GET accounts/:id/stats': ofAccount(world, () => ({ history: [], summary: { total_requests: 0, total_cost: 0 } })),
  'GET accounts/:id/today-stats': ofAccount(world, () => ({ requests: 0, tokens: 0, cost: 0 })),
});

import { ok } from '../envelope.ts';
import { CREDENTIALS, PROXY, SECRETS } from '../records/secrets.ts';
import type { RelayWorld } from '../world.ts';
import type { RelayTable } from './table.ts';

const userKeys = [{ id: 2, user_id: 2, name: 'laptop', key: SECRETS.userKey, status: 'active' }];
const groupKeys = [{ id: 3, user_id: 4, name: 'server', key: SECRETS.groupKey, status: 'active' }];
const codes = [{ id: 9, code: SECRETS.unusedCode, type: 'balance', value: 100, status: 'unused' }];
const download = { url: `https://store.example/backup.sql?${SECRETS.presignedUrl}` };
const stores = {
  database: { host: 'db.example', password: SECRETS.storeSecret },
  s3: { access_key_id: SECRETS.awsKeyId, secret_access_key: SECRETS.awsSecret },
};
const monitor = { id: 1, name: 'probe', extra_headers: { Authorization: `Bearer ${SECRETS.bearer}` } };
const upstreamError = { id: 1, upstream_errors: JSON.stringify([{ key: SECRETS.openAiKey }]), client_ip: '192.0.2.7' };

const LISTS = {
  'users/:id/api-keys': userKeys,
  'groups/:id/api-keys': groupKeys,
  usage: [{ id: 1, user_id: 2, api_key: userKeys[0], ip_address: '192.0.2.7' }],
  proxies: [PROXY],
  'redeem-codes': codes,
  'promo-codes': [{ id: 1, code: SECRETS.unusedCode }],
  'channel-monitors': [monitor],
  'ops/errors': [upstreamError],
  'audit-logs': [{ id: 1, actor_email: 'owner@relay.example', credential_masked: SECRETS.moderationMask }],
  'payment/orders': [{ id: 1, user_email: 'alice@example.com', pay_url: download.url }],
} as const;

const RECORDS = {
  'accounts/data': { accounts: [{ id: 1, credentials: CREDENTIALS }], proxies: [PROXY] },
  'proxies/all': [PROXY],
  'proxies/data': { proxies: [PROXY] },
  'proxies/:id': PROXY,
  'redeem-codes/:id': codes[0],
  'backups/:id/download-url': download,
  'backups/s3-config': stores.s3,
  'data-management/config': stores,
  'data-management/s3/profiles': [stores.s3],
  settings: { smtp_username: 'mailer', smtp_password: SECRETS.smtpPassword, site_name: 'Relay' },
  'accounts/:id/usage': { source: 'active' },
  'system/check-updates': { current_version: '0.1.179', latest_version: '0.1.179', has_update: false },
} as const;

const masked = (key: string): string => `${key.slice(0, 10)}...${key.slice(-4)}`;

/** Another key of the right form; the one before it stops working at once. */
const nextKey = (id: string): string =>
  `admin-${[...id]
    .map((letter) => letter.charCodeAt(0).toString(16))
    .join('')
    .padEnd(64, '0')
    .slice(0, 64)}`;

/**
 * Routes that no tool may reach, although the admin key opens them: they answer as the platform does, with secrets in
 * full, and what they destroy is destroyed.
 */
export const forbiddenTable = (world: RelayWorld): RelayTable => {
  const { settings } = world;
  return {
    ...Object.fromEntries(
      Object.entries(LISTS).map(([path, items]) => [
        `GET ${path}`,
        () => ok({ items, total: items.length, page: 1, page_size: 20, pages: 1 }),
      ]),
    ),
    ...Object.fromEntries(Object.entries(RECORDS).map(([path, data]) => [`GET ${path}`, () => ok(data)])),
    'GET redeem-codes/export': () =>
      new Response(`id,code,value\n9,${SECRETS.unusedCode},100\n`, { headers: { 'content-type': 'text/csv' } }),
    'GET settings/admin-api-key': () => ok({ exists: true, masked_key: masked(settings.adminKey) }),
    'POST settings/admin-api-key/regenerate': () => {
      settings.adminKey = nextKey(world.newId());
      return ok({ key: settings.adminKey });
    },
    'DELETE settings/admin-api-key': () => {
      settings.adminKey = '';
      return ok({ message: 'Admin API key deleted' });
    },
    'GET compliance': () => ok({ acknowledged: settings.areTermsAccepted, ack_phrase_en: 'I have read and accept' }),
    'POST compliance/accept': () => {
      settings.areTermsAccepted = true;
      return ok({ acknowledged: true });
    },
    'DELETE users/:id': ({ params }) => {
      const user = world.users.find(({ id }) => id === Number(params.id));
      if (user !== undefined) user.deleted_at = new Date(world.clock.now()).toISOString();
      return ok({ message: 'User deleted successfully' });
    },
    'DELETE accounts/:id': () => ok({ message: 'Account deleted successfully' }),
    'POST users': () => ok({ id: world.users.length + 1 }),
    'POST users/batch-limits': () => ok({ affected: world.users.length }),
    'POST accounts/:id/clear-rate-limit': () => ok({}),
    'POST redeem-codes/create-and-redeem': () => ok({ redeem_code: { code: SECRETS.unusedCode, status: 'used' } }),
    'PUT settings': () => ok({}),
  };
};

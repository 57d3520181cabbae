import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { matchRoute } from '../../../../src/relay-admin/read/match.ts';
import type { Json } from '../../../../src/relay-admin/read/project.ts';
import { amount, fields, mapOf, plain } from '../../../../src/relay-admin/read/project.ts';
import { redactData } from '../../../../src/relay-admin/read/redact.ts';
import { describe } from '../../../check.ts';

const readingOf = (path: string, data: unknown): Json => matchRoute(path).route.readAnswer(data);

const user = {
  id: 7,
  email: 'bob@example.test',
  username: 'bob',
  role: 'user',
  status: 'active',
  balance: 0.1 + 0.2,
  frozen_balance: 0,
  total_recharged: 12.5,
  concurrency: 5,
  rpm_limit: 0,
  allowed_groups: [1, 2],
  group_rates: { 3: 1.5 },
  notes: 'pays late',
  api_keys: [{ id: 1, key: 'sk-secret' }],
  password_hash: 'x',
  subscriptions: [{ id: 1 }],
  balance_notify_extra_emails: ['alice@example.test'],
};

describe('what is shown of the relay', (check) => {
  check('of a user are the known fields, with money as decimal strings', () => {
    assert.equal(readingOf('users/7', user), {
      id: 7,
      email: 'bob@example.test',
      username: 'bob',
      role: 'user',
      status: 'active',
      concurrency: 5,
      rpm_limit: 0,
      balance: '0.3',
      frozen_balance: '0',
      total_recharged: '12.5',
      allowed_groups: [1, 2],
      group_rates: { 3: 1.5 },
    });
  });
  check('of the balance history is no code, but the note with the marker', () => {
    const row = { id: 1, code: 'ABCD', type: 'admin_balance', value: 2.5, notes: 'recharge rc_0123456789abcdef', user };
    assert.equal(
      readingOf('users/7/balance-history', {
        items: [row],
        total: 1,
        page: 1,
        page_size: 20,
        pages: 1,
        total_recharged: 9,
      }),
      {
        items: [{ id: 1, type: 'admin_balance', notes: 'recharge rc_0123456789abcdef', value: '2.5' }],
        total: 1,
        page: 1,
        page_size: 20,
        pages: 1,
        total_recharged: '9',
      },
    );
  });
  check('of an account are no credentials, no proxy, and of the rest only the models that rest', () => {
    const account = {
      id: 3,
      name: 'main',
      schedulable: true,
      credentials: { access_token: 'x', header_overrides: { Authorization: 'Bearer x' } },
      credentials_status: { has_access_token: true, has_note: 'a text' },
      proxy: { username: 'u', host: 'h' },
      notes: 'pw: hunter2',
      parent_email: 'x@example.test',
      custom_base_url: 'https://u:p@host',
      extra: { model_rate_limits: { 'antigravity:gemini': { rate_limit_reset_at: 'soon', who: 'x' } }, email: 'x' },
    };
    assert.equal(readingOf('accounts/3', account), {
      id: 3,
      name: 'main',
      schedulable: true,
      credentials_status: { has_access_token: true },
      extra: { model_rate_limits: { 'antigravity:gemini': { rate_limit_reset_at: 'soon' } } },
    });
  });
  check('of the moderation settings are no keys, however masked', () => {
    const shown = readingOf('risk-control/config', {
      enabled: true,
      api_key_count: 2,
      api_key_masked: 'sk-a…z',
      api_key_masks: ['sk-a…z'],
      api_key_statuses: [{ masked: 'sk-a', key_hash: 'x' }],
      blocked_keywords: ['x'],
      thresholds: { hate: 0.65 },
    });
    assert.equal(shown, { enabled: true, api_key_count: 2, thresholds: { hate: 0.65 } });
  });
  check('of the keys of moderation is which are frozen, and no key, mask, hash or error', () => {
    const status = { index: 0, status: 'frozen', frozen_until: '2026-01-01T00:10:00Z', last_http_status: 413 };
    const secrets = { masked: 'sk-a…z', key_hash: 'x', last_error: 'canary' };
    const read = readingOf('risk-control/status', { enabled: true, api_key_statuses: [{ ...status, ...secrets }] });
    assert.equal(read, { enabled: true, key_statuses: [status] });
    // The name is one that the second step leaves in place.
    assert.equal(redactData(read).data, read);
  });
  check('of the log of moderation is what was decided, and nothing that a user wrote', () => {
    const row = { id: 1, action: 'error', highest_score: 0.5, category_scores: { 'hate/threatening': 0.5 } };
    const words = { input_excerpt: 'x', matched_keyword: 'x', error: 'x', user_email: 'x', api_key_name: 'x' };
    const frame = { total: 1, page: 1, page_size: 20, pages: 1 };
    const read = readingOf('risk-control/logs', { items: [{ ...row, ...words }], ...frame });
    assert.equal(read, { items: [row], ...frame });
  });
  check('of failed requests is what failed, and not the message, the body or the person', () => {
    const row = { id: 1, status_code: 502, upstream_status_code: 400, model: 'gpt-5', user_id: 2, account_id: 3 };
    const words = {
      message: 'x',
      error_body: 'x',
      upstream_errors: '[]',
      user_email: 'x',
      client_ip: 'x',
      user_agent: 'x',
    };
    for (const path of ['ops/request-errors', 'ops/upstream-errors']) {
      assert.equal(readingOf(path, [{ ...row, ...words }]), [row]);
      assert.equal(readingOf(path, { items: [{ ...row, ...words }], total: 1 }), { items: [row], total: 1 });
    }
  });
  check('of special rates are the users by id alone', () => {
    const row = { user_id: 2, user_status: 'active', rate_multiplier: 0.8, rpm_override: null };
    const people = { user_name: 'x', user_email: 'x', user_notes: 'x' };
    assert.equal(readingOf('groups/1/rate-multipliers', [{ ...row, ...people }]), [row]);
  });
  check('of a group and a channel are the fields of either release', () => {
    const group = {
      id: 1,
      profit_control_enabled: true,
      profit_min_margin: 0.3,
      peak_rate_enabled: true,
      peak_start: '20:00',
      peak_rate_multiplier: 2,
      max_reasoning_effort_over_limit: 'deny',
      model_pricing: [{ models: ['gpt-5'], input_price: 1e-6 }],
      model_allowlist: { enabled: true, models: ['gpt-5'] },
      codex_models_manifest_config: { enabled: true, account_ids: [3], fallback_to_scheduler: false },
    };
    assert.equal(readingOf('groups/1', { ...group, later: 'x' }), group);
    const time_pricing = {
      timezone: 'Asia/Tokyo',
      periods: [{ start_time: '20:00', end_time: '00:00', multiplier: 0.5 }],
    };
    const channel = { id: 2, model_pricing: [{ models: ['gpt-5'], time_pricing }] };
    assert.equal(readingOf('channels/2', channel), channel);
  });
  check('is nothing that a later release adds', () => {
    const routes = ['users/1', 'accounts/1', 'groups/1', 'channels/1', 'users/1/rpm-status', 'system/version'];
    const known = { id: 1, version: '1', user_rpm_used: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...routes),
        fc.stringMatching(/^new_[a-z]{1,9}$/),
        fc.jsonValue(),
        (path, name, value) => {
          assert.equal(readingOf(path, { ...known, [name]: value }), readingOf(path, known));
        },
      ),
    );
  });
  check('is a number that JSON has', () => {
    assert.is(plain(JSON.parse('1e999')), null);
    assert.is(amount(JSON.parse('1e999')), undefined);
    assert.is(amount('12'), undefined);
    assert.is(amount(-0.000000001), '0');
  });
  check('never reaches into what every object has', () => {
    const data = JSON.parse('{"__proto__":{"id":1},"id":2}');
    assert.equal(fields('id constructor toString')(data), { id: 2 });
    assert.equal(Object.getPrototypeOf(mapOf(plain)(data)), Object.prototype);
  });
});

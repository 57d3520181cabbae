import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { ALLOWED_ROUTES, ROUTES } from '../../../src/relay-admin/read/routes.ts';
import { describe } from '../../check.ts';
import { words } from '../../words.ts';

/** Routes of the relay that show keys, codes, prompts or backups, or that call out to a provider. */
const NEVER = words(`
  users/:id/api-keys groups/:id/api-keys accounts/data accounts/:id/usage proxies proxies/:id proxies/data
  redeem-codes redeem-codes/export promo-codes settings settings/admin-api-key backups/:id/download-url
  data-management/config usage usage/search-api-keys prompt-audit/events audit-logs ops/errors ops/system-logs
  ops/ws/qps payment/providers payment/orders system/check-updates compliance channel-monitors
`);
/** Parameters that search in secrets, gather more than is shown, or make the relay call out. */
const NEVER_ASKED = ['search', 'q', 'force', 'include_scheduler_score', 'include_deleted', 'include_subscriptions'];

describe('the allow-list', (check) => {
  check('has no route that shows secrets or calls out', () => {
    const templates = ROUTES.map(({ template }) => template);
    assert.equal(
      NEVER.filter((template) => templates.includes(template)),
      [],
    );
  });
  check('has no route twice, and none but plain segments and ids', () => {
    const templates = ROUTES.map(({ template }) => template);
    assert.is(new Set(templates).size, templates.length);
    for (const template of templates) assert.match(template, /^[a-z0-9-]+(?:\/(?:[a-z0-9-]+|:id)){0,3}$/);
  });
  check('lets no one search, force or ask for scores', () => {
    for (const { query } of ROUTES)
      assert.equal(
        NEVER_ASKED.filter((name) => Object.hasOwn(query, name)),
        [],
      );
  });
  check('names the parameters behind each route', () => {
    assert.ok(ALLOWED_ROUTES.includes('users/:id/balance-history?type&page&page_size'));
    assert.ok(ALLOWED_ROUTES.includes('system/version'));
    assert.is(ALLOWED_ROUTES.length, ROUTES.length);
  });
  check('asks for a page of 20 wherever there are pages', () => {
    for (const { template, query, defaults: sent } of ROUTES) {
      if (Object.hasOwn(query, 'page_size')) assert.is(sent.page_size, 20, template);
    }
  });
  check('lets no parameter take a blank, an ampersand, a percent sign or a text of any length', () => {
    for (const { template, query } of ROUTES) {
      for (const [name, { accepts }] of Object.entries(query)) {
        for (const text of [
          '',
          ' ',
          'a b',
          'a&b=c',
          'a%20',
          'a\nb',
          '\u202e',
          'a'.repeat(200),
          '../x',
          '-1',
          '1e3',
          '01',
        ]) {
          const isModelName = name === 'model' && /^[A-Za-z0-9._:/-]{1,100}$/.test(text);
          assert.is(accepts(text) && !isModelName, false, `${template} ${name} ${JSON.stringify(text)}`);
        }
      }
    }
  });
  check('reads no answer of another shape', () => {
    for (const { template, readAnswer: reading } of ROUTES) {
      for (const data of ['a page of HTML', 7, true]) {
        assert.throws(
          () => reading(data),
          (error: unknown) => error instanceof RelayError && error.detail.kind === 'upstream-contract',
          template,
        );
      }
    }
  });
});

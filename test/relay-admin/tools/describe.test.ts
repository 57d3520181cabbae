import * as assert from 'uvu/assert';
import { ALLOWED_ROUTES } from '../../../src/relay-admin/read/routes.ts';
import { type RelayConfig, readRelayConfig } from '../../../src/relay-admin/settings.ts';
import { createDescribeTool } from '../../../src/relay-admin/tools/describe.ts';
import { describe } from '../../check.ts';
import { assertWellDescribed, bytesOf, callTool, problemOf } from './tool-calls.ts';

const KEY = `admin-${'c0ffee11'.repeat(8)}`;

const configOf = (variables: Readonly<Record<string, string>> = {}): RelayConfig =>
  readRelayConfig({
    RELAY_BASE_URL: 'http://relay.apps.svc.cluster.local:8080',
    RELAY_ALLOWED_HOST: 'relay.apps.svc.cluster.local',
    ...variables,
  });

const described = async (variables: Readonly<Record<string, string>> = {}) =>
  JSON.parse(JSON.stringify(await callTool(createDescribeTool({ config: configOf(variables), version: '1.2.3' }), {})));

describe('describe', (check) => {
  check('is described for a model', () =>
    assertWellDescribed(createDescribeTool({ config: configOf(), version: '1.2.3' })),
  );

  check('names the service, its version, its mode and the host of the relay', async () => {
    const { service, version, mode, relay_host } = await described();
    assert.equal(
      [service, version, mode, relay_host],
      ['gatehouse-relay-admin', '1.2.3', 'read_write', 'relay.apps.svc.cluster.local'],
    );
  });

  check('shows neither the key nor the address beyond its host', async () => {
    const text = JSON.stringify(await described({ RELAY_ADMIN_API_KEY: KEY, RELAY_JOURNAL: '/secret/place.jsonl' }));
    for (const hidden of [KEY, KEY.slice(0, 20), KEY.slice(-8), '8080', 'http', '/secret/place'])
      assert.not.match(text, hidden);
  });

  const keys: readonly (readonly [string, string, object])[] = [
    ['a well-formed key', KEY, { present: true, well_formed: true }],
    ['a key of another form', 'admin-canary', { present: true, well_formed: false }],
    ['no key', '', { present: false, well_formed: false }],
  ];
  for (const [name, key, reported] of keys) {
    check(`reports ${name} by two words`, async () => {
      const result = await described({ RELAY_ADMIN_API_KEY: key });
      assert.equal(result.admin_key, reported);
      assert.not.match(JSON.stringify(result), 'canary');
    });
  }

  check('lists the very routes that read allows', async () => {
    assert.equal((await described()).read_routes, [...ALLOWED_ROUTES]);
  });

  check('reports the limits that hold', async () => {
    const { limits } = await described({ RELAY_TIMEOUT_MS: '12000', RELAY_MAX_RECHARGE: '99.5' });
    assert.equal(limits, {
      call_timeout_ms: 12_000,
      largest_recharge: '99.5',
      amount_decimals: 8,
      idempotency_key: { min_chars: 16, max_chars: 128, alphabet: 'A-Z a-z 0-9 - . _ ~' },
      preview_token_lifetime_s: 300,
      largest_page_size: 100,
      relay_answer_bytes: 4_194_304,
    });
  });

  check('reports which tools change something, and that none is there in read-only mode', async () => {
    const { writers } = await described();
    assert.equal(
      writers.map(({ tool, available }: { tool: string; available: boolean }) => [tool, available]),
      [
        ['recharge', true],
        ['update_user_limits', true],
        ['set_account_schedulable', true],
      ],
    );
    const readOnly = await described({ RELAY_READ_ONLY: 'true' });
    assert.is(readOnly.mode, 'read_only');
    assert.ok(readOnly.writers.every(({ available }: { available: boolean }) => !available));
  });

  check('reports the rules that keep money safe', async () => {
    const { rules, not_exposed } = await described();
    const text = rules.join('\n');
    for (const outputText of [
      /preview_recharge.*a person.*recharge with that preview_token and one idempotency_key/,
      /accepted_unverified is not success and is never to be reported as success/,
      /outcome is unknown, never recharge again.*balance history.*marker/,
      /0 is unlimited/,
      /schedulable is for the whole account/,
    ])
      assert.match(text, outputText);
    for (const outputText of [/generic/, /rotating/, /OAuth/, /backups/, /lifecycle/, /terms/])
      assert.match(not_exposed.join('\n'), outputText);
  });

  check('stays within 6 KB and takes no arguments', async () => {
    assert.ok(bytesOf(await described({ RELAY_MAX_RECHARGE: '999999.99999999' })) <= 6 * 1024);
    const tool = createDescribeTool({ config: configOf(), version: '1.2.3' });
    assert.is((await problemOf(callTool(tool, { verbose: true }))).kind, 'invalid-argument');
  });
});

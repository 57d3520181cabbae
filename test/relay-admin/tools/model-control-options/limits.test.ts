import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { RelayError, type RelayErrorDetail } from '../../../../src/relay-admin/errors/errors.ts';
import { CONTROL_OPTIONS } from '../../../../src/relay-admin/models/options.ts';
import { createModelControlOptionsTool } from '../../../../src/relay-admin/tools/model-control-options.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { createScriptedRelay, SILENCE } from '../../harness/scripted-relay.ts';
import { assertWellDescribed, bytesOf, callTool, HOSTILE, problemOf, UNSEEN } from '../tool-calls.ts';
import { account, answerIn, channel, group, MODEL, over, type Row } from './world.ts';

const times = (count: number, row: (id: number) => Row): readonly Row[] =>
  Array.from({ length: count }, (_, index) => row(index + 1));

const failing = (detail: RelayErrorDetail) => new RelayError(detail);

const LIMIT_BYTES = 12 * 1024;

describe('model_control_options over a relay that does not answer', (check) => {
  const failures: readonly (readonly [unknown, string])[] = [
    [failing({ kind: 'upstream-auth' }), 'upstream_auth'],
    [failing({ kind: 'terms-not-accepted' }), 'terms_not_accepted'],
    [failing({ kind: 'upstream-unavailable', why: 'ECONNREFUSED' }), 'upstream_unavailable'],
    [failing({ kind: 'not-found', what: 'resource' }), 'not_found'],
    [{ rows: [] }, 'upstream_contract'],
    [{ items: [{ id: 'x' }], total: 1 }, 'upstream_contract'],
    [{ items: times(1001, account), total: 1001 }, 'upstream_contract'],
    [{ items: [null], total: 1 }, 'upstream_contract'],
  ];

  for (const [failure, reason] of failures) {
    check(`names the list that it could not read: ${reason}`, async () => {
      const { call } = over({ accounts: failure, groups: [group(1)], channels: [channel(1)] });
      const { source, unread, accounts, groups, options } = await call();
      assert.is(source, 'partly_live');
      assert.equal(unread, [{ list: 'accounts', reason }]);
      assert.is(accounts, null);
      assert.is(groups.total, 1);
      assert.equal(options, CONTROL_OPTIONS);
    });
  }

  check('is static when nothing could be read', async () => {
    const failure = failing({ kind: 'upstream-auth' });
    const { source, unread } = await over({ accounts: failure, groups: failure, channels: failure }).call();
    assert.is(source, 'static');
    assert.is(unread.length, 3);
  });

  check('keeps the pages that came before a failure', async () => {
    const rows = times(250, account);
    const { relay } = createScriptedRelay((asked) =>
      asked.path === 'accounts' && asked.query.page === 3
        ? failing({ kind: 'upstream-rate-limit', retryAfterMs: 60_000 })
        : answerIn({ accounts: rows })(asked),
    );
    const { accounts, unread, source } = JSON.parse(
      JSON.stringify(await callTool(createModelControlOptionsTool({ relay, hasKey: true }), {})),
    );
    assert.equal([source, unread], ['partly_live', [{ list: 'accounts', reason: 'upstream_rate_limit' }]]);
    assert.equal([accounts.total, accounts.examined], [250, 200]);
  });

  check('falls back to what it has when the time is over', async () => {
    const clock = createFakeClock();
    const { relay } = createScriptedRelay((asked) => (asked.path === 'accounts' ? SILENCE : answerIn({})(asked)));
    const call = callTool(createModelControlOptionsTool({ relay, hasKey: true }), {}, { clock });
    await clock.advance(30_000);
    const { source, unread, groups } = await call;
    assert.is(source, 'partly_live');
    assert.equal(unread, [{ list: 'accounts', reason: 'deadline' }]);
    assert.ok(groups);
    assert.is(clock.pending(), 0);
  });

  check('rejects for a caller that left', async () => {
    const client = new AbortController();
    const { relay } = createScriptedRelay(() => SILENCE);
    const call = rejection(callTool(createModelControlOptionsTool({ relay, hasKey: true }), {}, { client }));
    client.abort();
    const thrown = await call;
    assert.ok(thrown instanceof Fault && thrown.detail.kind === 'client-left');
  });

  check('does not take a bug for a relay that is down', async () => {
    const { tool } = over({ channels: new TypeError('a bug') });
    assert.instance(await rejection(callTool(tool, {})), TypeError);
  });
});

describe('what model_control_options takes and gives', (check) => {
  check('is described for a model', () => assertWellDescribed(over({}).tool));

  check('reads at most five pages of a list and says that there is more', async () => {
    const { call, asked } = over({ accounts: times(1000, account) });
    const { source, unread, accounts } = await call();
    assert.is(asked.filter(({ path }) => path === 'accounts').length, 5);
    assert.equal([source, unread], ['partly_live', [{ list: 'accounts', reason: 'list_too_long' }]]);
    assert.equal([accounts.total, accounts.examined, accounts.matching], [1000, 500, 500]);
    assert.ok(accounts.shown.length > 0 && accounts.shown.length <= 50);
  });

  check('reads exactly five full pages without an error', async () => {
    assert.is((await over({ accounts: times(500, account) }).call()).source, 'live');
  });

  check('ends at an empty page, and says that the list moved', async () => {
    const { call, asked } = over({ accounts: { items: [], total: 7 } });
    assert.equal((await call()).unread, [{ list: 'accounts', reason: 'list_moved' }]);
    assert.is(asked.filter(({ path }) => path === 'accounts').length, 1);
  });

  check('shows up to fifty of a list when there is space', async () => {
    const tiny = (id: number) => account(id, { name: '', platform: '', status: '' });
    const { accounts } = await over({ accounts: times(80, tiny) }).call();
    assert.ok(accounts.shown.length >= 40 && accounts.shown.length <= 50);
  });

  check('stays within 12 KB whatever the relay holds', async () => {
    const wide = '"\u{1f980}\\'.repeat(60);
    const full = {
      accounts: times(500, (id) =>
        account(id, {
          name: wide,
          platform: wide,
          status: wide,
          extra: { model_rate_limits: { [MODEL]: { rate_limit_reset_at: wide } } },
        }),
      ),
      groups: times(1001, (id) => group(id, { name: wide, platform: wide, status: wide, default_mapped_model: MODEL })),
      channels: times(500, (id) =>
        channel(id, {
          name: wide,
          status: wide,
          restrict_models: true,
          group_ids: times(100, (n) => ({ n })).map((_, n) => 2 ** 40 + n),
        }),
      ),
    };
    for (const given of [{}, { model: MODEL }]) {
      const result = await over(full).call(given);
      assert.ok(bytesOf(result) <= LIMIT_BYTES, `${bytesOf(result)}`);
      for (const list of ['accounts', 'groups', 'channels']) assert.ok(result[list].shown.length > 0);
      assert.equal(result.groups.examined, 1000);
      assert.ok(result.channels.shown.every((row: { group_ids: number[] }) => row.group_ids.length <= 20));
    }
    const plain = { accounts: times(500, account), groups: times(200, group), channels: times(200, channel) };
    const result = await over(plain).call();
    assert.ok(bytesOf(result) <= LIMIT_BYTES && bytesOf(result) > 9000, `${bytesOf(result)}`);
  });

  check('shows texts of the relay without anything invisible, bounded, and in fields only', async () => {
    const { call } = over({
      accounts: [
        account(1, {
          name: HOSTILE.repeat(9),
          platform: HOSTILE,
          status: HOSTILE,
          credentials: { model_mapping: { [MODEL]: HOSTILE } },
          extra: { model_rate_limits: { [HOSTILE]: { rate_limit_reset_at: HOSTILE } } },
        }),
      ],
      groups: [group(1, { name: HOSTILE, default_mapped_model: MODEL })],
      channels: [channel(1, { name: HOSTILE, restrict_models: true })],
    });
    const { accounts, groups, channels, summary, options } = await call({ model: MODEL });
    const [shown] = accounts.shown;
    for (const list of [accounts, groups, channels]) assert.not.match(JSON.stringify(list), UNSEEN);
    assert.ok([...shown.name].length <= 60 && [...shown.status].length <= 20);
    assert.is(shown.model_limits.length, 1);
    assert.not.match(JSON.stringify([summary, options]), 'SYSTEM');
    assert.not.match(JSON.stringify([accounts, groups, channels]), /canary/);
  });

  const refused: readonly unknown[] = [
    '',
    '-x',
    'a b',
    'a'.repeat(101),
    'claude\n',
    'cla\u200bude',
    '../users',
    7,
    null,
  ];

  for (const model of refused) {
    check(`refuses ${JSON.stringify(model)} as a model and asks for nothing`, async () => {
      const { tool, asked } = over({});
      assert.is((await problemOf(callTool(tool, { model }))).kind, 'invalid-argument');
      assert.equal(asked, []);
    });
  }

  check('takes model names as vendors write them', async () => {
    for (const model of ['gpt-5.1', 'openai/gpt-oss:20b', 'claude-opus-4@20250514', 'o3', 'a'.repeat(100)])
      assert.is((await over({}).call({ model })).model, model);
  });

  check('does not stumble over names that objects have of themselves', async () => {
    const { accounts } = await over({ accounts: [account(1, { extra: { model_rate_limits: {} } })] }).call({
      model: 'constructor',
    });
    assert.equal(accounts.shown[0].model_limits, []);
  });
});

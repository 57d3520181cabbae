import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { FAILED_READS, LIMIT_MS, never, problemOf } from '../../change/world.ts';
import { account, OFF, ON, TURN_OFF, TURN_ON, worldWith } from './world.ts';

describe('what else keeps an account from being scheduled', (check) => {
  const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
  const later = (code: string, ms = 60_000) => [{ code, until: at(ms) }];
  const timeless = (code: string) => [{ code, until: null }];
  const states: readonly (readonly [string, Readonly<Record<string, unknown>>, unknown])[] = [
    ['a status of error', { status: 'error' }, timeless('status_not_active')],
    ['a status of disabled', { status: 'disabled' }, timeless('status_not_active')],
    ['a rate limit that goes on', { rate_limit_reset_at: at(60_000) }, later('rate_limited')],
    ['a rate limit in another time zone', { rate_limit_reset_at: '2026-01-01T08:01:00+08:00' }, later('rate_limited')],
    ['a rate limit that ended', { rate_limit_reset_at: at(-1) }, []],
    ['a rate limit that ends now', { rate_limit_reset_at: at(0) }, []],
    ['an overload', { overload_until: at(60_000) }, later('overloaded')],
    ['a temporary pause', { temp_unschedulable_until: at(60_000) }, later('temporarily_unschedulable')],
    ['a time that is none', { overload_until: 'soon, ignore the rest' }, timeless('overloaded')],
    ['no times at all', { overload_until: null, rate_limit_reset_at: '', expires_at: null }, []],
    ['an expiry that pauses', { auto_pause_on_expired: true, expires_at: 1_700_000_000 }, timeless('expired')],
    ['an expiry that pauses nothing', { auto_pause_on_expired: false, expires_at: 1_700_000_000 }, []],
    ['an expiry to come', { auto_pause_on_expired: true, expires_at: 1_900_000_000 }, []],
    ['a quota that is used up', { quota_limit: 10, quota_used: 10 }, timeless('quota_used_up')],
    ['a quota with something left', { quota_limit: 10, quota_used: 9.99 }, []],
    ['a quota of nothing, which is none', { quota_limit: 0, quota_used: 3 }, []],
    ['a quota in another shape', { quota_limit: '10', quota_used: 11 }, []],
    ['a quota that this type does not have', { type: 'oauth', quota_limit: 10, quota_used: 11 }, []],
    [
      'a quota of the day',
      { quota_daily_limit: 1, quota_daily_used: 2, quota_daily_reset_at: at(60_000) },
      later('quota_used_up'),
    ],
    [
      'a quota of the week that was reset',
      { quota_weekly_limit: 1, quota_weekly_used: 2, quota_weekly_reset_at: at(-1) },
      [],
    ],
    [
      'several at once',
      { status: 'error', rate_limit_reset_at: at(5), overload_until: at(6) },
      [...timeless('status_not_active'), ...later('rate_limited', 5), ...later('overloaded', 6)],
    ],
  ];
  for (const [name, more, expected] of states) {
    check(`${name}, as read after switching on`, async () => {
      const { ask } = worldWith({ reads: [OFF, account(more)] });
      const { outcome, blocked_by } = await ask(TURN_ON);
      assert.equal([outcome, blocked_by], ['verified', expected]);
    });
  }

  check('is informed of an account that was on already, too', async () => {
    const { ask } = worldWith({ reads: [account({ status: 'error' })] });
    assert.equal((await ask(TURN_ON)).blocked_by, [{ code: 'status_not_active', until: null }]);
  });
});

describe('the groups of an account that is switched off', (check) => {
  const page = (items: readonly unknown[], total = items.length) => ({
    items,
    total,
    page: 1,
    page_size: 100,
    pages: 1,
  });
  const other = (more: Readonly<Record<string, unknown>> = {}) => account({ id: 13, ...more });
  const inGroups = (...group_ids: readonly number[]) => [account({ group_ids }), OFF];
  const last = (...group_ids: readonly number[]) => ({ code: 'last_schedulable_in_group', group_ids });
  const unchecked = (...group_ids: readonly number[]) => ({ code: 'groups_not_checked', group_ids });

  const findings: readonly (readonly [string, unknown, readonly unknown[]])[] = [
    ['another account that serves it', page([ON, other()]), []],
    ['another one that says that it is in the group', page([ON, other({ group_ids: [9, 3] })]), []],
    ['nobody else', page([ON]), [last(3)]],
    ['nobody at all', page([]), [last(3)]],
    ['nobody at all, which came as null', { ...page([]), items: null }, [last(3)]],
    ['another one that is switched off', page([ON, other({ schedulable: false })]), [last(3)]],
    ['another one that is in error', page([ON, other({ status: 'error' })]), [last(3)]],
    [
      'another one that is limited for a while',
      page([ON, other({ rate_limit_reset_at: '2030-01-01T00:00:00Z' })]),
      [last(3)],
    ],
    ['another one whose quota is used up', page([ON, other({ quota_limit: 5, quota_used: 5.1 })]), [last(3)]],
    ['another one with a part of its quota', page([ON, other({ quota_limit: 5, quota_used: 4.9 })]), []],
    ['another one whose limit is over', page([ON, other({ rate_limit_reset_at: '2020-01-01T00:00:00Z' })]), []],
    ['another one of another group', page([ON, other({ group_ids: [4] })]), [last(3)]],
    ['a first page of many without another one', page([ON], 101), [unchecked(3)]],
    ['a first page of many with another one', page([ON, other()], 101), []],
    ['a page with something that is no account', page([ON, { id: 13 }]), [unchecked(3)]],
    ['no page', { accounts: [] }, [unchecked(3)]],
    ['a failure', FAILED_READS[0]?.[1], [unchecked(3)]],
  ];
  for (const [name, list, warnings] of findings) {
    check(`${name}: ${warnings.length === 0 ? 'no warning' : 'a warning'}, and the switch is made`, async () => {
      const { ask, queries, happened } = worldWith({ reads: inGroups(3), lists: { 3: list } });
      const result = await ask(TURN_OFF);
      assert.equal([result.outcome, result.warnings], ['verified', warnings]);
      assert.equal(happened.slice(0, 3), ['read accounts/12', 'read accounts of 3', 'note sent']);
      assert.equal(queries[1], { group: 3, page: 1, page_size: 100 });
    });
  }

  check('are found in both places where the relay reports them, once each', async () => {
    const reads = [
      account({ group_ids: [3, 4], account_groups: [{ group_id: 4, priority: 1 }, { group_id: 5 }] }),
      OFF,
    ];
    const { ask } = worldWith({ reads, lists: { 3: page([ON, other()]), 4: page([ON]), 5: page([ON]) } });
    assert.equal((await ask(TURN_OFF)).warnings, [last(4, 5)]);
  });

  check('are not there when the relay says null', async () => {
    const { ask } = worldWith({ reads: [account({ group_ids: null, account_groups: null }), OFF] });
    assert.equal((await ask(TURN_OFF)).warnings, []);
  });

  check('that cannot be read are a warning and no obstacle', async () => {
    for (const more of [{ group_ids: 'all' }, { account_groups: [{ id: 3 }] }, { group_ids: [0] }]) {
      const { ask } = worldWith({ reads: [account(more), OFF] });
      const { outcome, warnings } = await ask(TURN_OFF);
      assert.equal([outcome, warnings], ['verified', [unchecked()]]);
    }
  });

  check('are looked at up to five, and the rest is named', async () => {
    const lists = Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((group) => [group, page([ON, other()])]));
    const { ask, happened } = worldWith({ reads: inGroups(1, 2, 3, 4, 5, 6, 7), lists });
    assert.equal((await ask(TURN_OFF)).warnings, [unchecked(6, 7)]);
    assert.is(happened.filter((step) => step.includes(' of ')).length, 5);
  });

  check('are named up to fifty', async () => {
    const { ask } = worldWith({ reads: inGroups(...Array.from({ length: 80 }, (_, index) => index + 1)) });
    const { warnings } = await ask(TURN_OFF);
    assert.is((warnings as { group_ids: number[] }[])[0]?.group_ids.length, 50);
  });

  check('take no time that the switch itself needs', async () => {
    const { ask, clock, happened } = worldWith({ reads: inGroups(3, 4), lists: { 3: never, 4: page([ON]) } });
    const answer = ask(TURN_OFF);
    await clock.advance(LIMIT_MS / 2);
    const { outcome, warnings } = await answer;
    assert.equal([outcome, warnings], ['verified', [unchecked(3, 4)]]);
    assert.not.ok(happened.includes('read accounts of 4'));
    assert.is(clock.pending(), 0);
  });

  check('are left alone when the first read took long', async () => {
    const world = worldWith({
      reads: [
        () => new Promise((resolve) => void world.clock.after(14_000, () => resolve(account({ group_ids: [3] })))),
        OFF,
      ],
      lists: { 3: page([ON]) },
    });
    const answer = world.ask(TURN_OFF);
    await world.clock.advance(14_000);
    assert.equal((await answer).warnings, [unchecked(3)]);
    assert.not.ok(world.happened.includes('read accounts of 3'));
  });

  check('a caller who leaves while they are looked at stops the switch', async () => {
    const { ask, clock, sent, notes } = worldWith({ reads: inGroups(3), lists: { 3: never } });
    const leaving = new AbortController();
    const detail = problemOf(ask(TURN_OFF, leaving.signal));
    await clock.advance(10);
    leaving.abort();
    assert.is(await detail, 'client-left');
    assert.equal([sent, notes], [[], []]);
    assert.is(clock.pending(), 0);
  });
});

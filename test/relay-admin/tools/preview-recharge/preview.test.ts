import * as assert from 'uvu/assert';
import type { HttpClient } from '../../../../src/core/http/client.ts';
import { parseFormatted } from '../../../../src/relay-admin/money.ts';
import { describe } from '../../../check.ts';
import { createWorld, previewed, refusalOf, resultOf } from '../../harness/world.ts';
import { bentFile, changesAt, codeOf, inTime, paid } from '../../recharge/steps.ts';
import { ALICE, BOB, codesOf, ERIN, OWNER, preview } from './world.ts';

/** A relay that says so much about the requests of this minute. */
const rpmStatus =
  (data: unknown) =>
  (direct: HttpClient): HttpClient =>
  async (sent) => {
    const received = await direct(sent);
    return sent.url.endsWith('rpm-status') ? { ...received, text: JSON.stringify({ code: 0, data }) } : received;
  };

describe('a preview of a recharge', (check) => {
  check('shows the user, the balance now and after, and when it ends, and changes nothing', async () => {
    const world = createWorld();
    const { preview_token, user, ...shown } = await preview(world, ALICE, '10.50000000');
    assert.equal(shown, {
      summary: 'Add 10.5 to the balance of user 2: 12.5 becomes 23. Valid until 2026-01-01T00:05:00.000Z.',
      amount: '10.5',
      balance_now: '12.5',
      balance_after: '23',
      warnings: [],
      earlier_recharges: [],
      acknowledge_doubt: null,
      expires_at: '2026-01-01T00:05:00.000Z',
    });
    assert.is((user as { email: string }).email, 'alice@example.com');
    assert.match(String(preview_token), /^rp1\./);
    assert.equal(changesAt(world), []);
    assert.equal(world.control.credits(), []);
  });

  check('says that a balance is rounded which a double does not hold to the last decimal', async () => {
    for (const [balance, expected] of [
      ['90071991.5', []],
      ['90071992', ['balance_rounded']],
      ['123456789.12', ['balance_rounded']],
    ] as const) {
      const world = createWorld();
      world.control.user(ALICE).balance = parseFormatted(balance) ?? 0n;
      assert.equal(codesOf(await preview(world, ALICE, '1')), expected, balance);
    }
  });

  check('gives a token of its own each time', async () => {
    const world = createWorld();
    const admin = world.start();
    assert.is.not(await previewed(admin, ALICE, '1'), await previewed(admin, ALICE, '1'));
  });

  const cases: readonly (readonly [number, string, readonly string[]])[] = [
    [ALICE, '125', []],
    [ALICE, '125.00000001', ['much_more_than_balance']],
    [OWNER, '1', ['user_is_admin']],
    [BOB, '3', ['user_not_active']],
    [BOB, '3.00000001', ['user_not_active', 'much_more_than_balance']],
    [4, '4999.99999999', []],
    [4, '5000', ['large_amount']],
    [4, '10000', ['large_amount']],
    [ERIN, '0.00000005', []],
    [ERIN, '100', []],
  ];
  for (const [userId, amount, expected] of cases) {
    check(`of ${amount} for user ${userId} warns of ${expected.join(' and ') || 'nothing'}`, async () => {
      assert.equal(codesOf(await preview(createWorld(), userId, amount)), expected);
    });
  }

  check('warns of usage at this moment, and does without knowing', async () => {
    for (const [data, expected] of [
      [{ user_rpm_used: 3 }, ['running_usage']],
      [{ user_rpm_used: 0 }, []],
      [{ user_rpm_used: '3' }, []],
      [{ user_rpm_used: 0, per_group: [{ used: 0 }, { used: 2 }] }, ['running_usage']],
      [{ user_rpm_used: 0, per_group: [{ used: 'x' }] }, []],
      [null, []],
    ] as const) {
      assert.equal(codesOf(await preview(createWorld(), ALICE, '1', rpmStatus(data))), expected);
    }
    for (const fault of ['not-found', 'unavailable', 'html', 'drop', 'unauthorized'] as const) {
      const world = createWorld();
      world.control.useRouteFault(fault, 2, /rpm-status/);
      assert.equal(codesOf(await inTime(world, preview(world, ALICE, '1'))), [], fault);
    }
  });

  check('warns of usage of a user without a limit, whose requests the relay does not count', async () => {
    const world = createWorld();
    const CAROL = 4;
    world.control.setRunningDebit(CAROL, '0.01');
    assert.equal(codesOf(await preview(world, CAROL, '1')), ['running_usage']);
    world.control.setRunningDebit(CAROL, '0');
    await world.clock.advance(120_000);
    assert.equal(codesOf(await preview(world, CAROL, '1')), []);
  });

  check('is refused where the balance would stay below zero, with the smallest amount that works', async () => {
    const world = createWorld();
    const admin = world.start();
    world.control.user(ERIN).balance = -2_900_000n;
    const text = await refusalOf(admin, 'preview_recharge', { user_id: ERIN, amount: '0.02899999' });
    assert.match(text, /^BALANCE_STAYS_NEGATIVE: .*-0\.029 .*at least 0\.029 and call preview_recharge\.$/);
    const exact = await resultOf(admin, 'preview_recharge', { user_id: ERIN, amount: '0.029' });
    assert.equal([exact.balance_after, codesOf(exact)], ['0', []]);
    assert.is((await paid(admin, { token: String(exact.preview_token) })).outcome, 'verified');
    world.control.user(ERIN).balance = -2_000_000_000_000n;
    const deep = await refusalOf(admin, 'preview_recharge', { user_id: ERIN, amount: '1' });
    assert.match(deep, 'it takes 20000, over the limit of 10000');
  });

  check('in read-only mode has no token, says so and writes to no journal', async () => {
    const world = createWorld();
    const journalFile = bentFile(world.file.open(), { append: () => Promise.reject(new Error('EROFS')) });
    const admin = world.start({ variables: { RELAY_READ_ONLY: 'true' }, journalFile });
    const result = await resultOf(admin, 'preview_recharge', { user_id: ALICE, amount: '1' });
    assert.is(result.preview_token, null);
    assert.is(
      result.summary,
      'Add 1 to the balance of user 2: 12.5 becomes 13.5. This server is in read-only mode: it made no preview_token, and nothing can be credited with this.',
    );
    assert.is(result.balance_after, '13.5');
    assert.equal(world.file.lines, []);
  });

  for (const amount of [
    1,
    12.5,
    '',
    '0',
    '0.0',
    '-1',
    '+1',
    '1e3',
    ' 1',
    '1 ',
    '1,5',
    '01',
    '.5',
    '5.',
    '1.000000001',
  ]) {
    check(`is refused for an amount such as ${JSON.stringify(amount)}`, async () => {
      const world = createWorld();
      const text = await refusalOf(world.start(), 'preview_recharge', { user_id: ALICE, amount });
      assert.match(text, /^INVALID_ARGUMENT: amount: expected .* outcome=not_applied/);
      assert.equal(world.control.requests(), []);
    });
  }

  check('is refused with an argument too many, and for anything that is no user id', async () => {
    const world = createWorld();
    const admin = world.start();
    for (const given of [
      { user_id: ALICE, amount: '1', notes: 'x' },
      { user_id: '2', amount: '1' },
      { user_id: 0, amount: '1' },
      { user_id: 2.5, amount: '1' },
      { amount: '1' },
    ]) {
      assert.is(codeOf(await refusalOf(admin, 'preview_recharge', given)), 'INVALID_ARGUMENT');
    }
    const tooLarge = await refusalOf(admin, 'preview_recharge', { user_id: 2 ** 53, amount: '1' });
    assert.match(tooLarge, 'user_id: expected a whole number from 1 to 9007199254740991.');
    assert.equal(world.control.requests(), []);
  });

  check('is refused over the limit, which itself is allowed', async () => {
    const world = createWorld();
    const admin = world.start({ variables: { RELAY_MAX_RECHARGE: '20.5' } });
    const text = await refusalOf(admin, 'preview_recharge', { user_id: ALICE, amount: '20.50000001' });
    assert.match(text, /^AMOUNT_OVER_LIMIT: 20\.50000001 is above the limit of 20\.5 .* outcome=not_applied/);
    assert.equal(world.control.requests(), []);
    assert.is((await resultOf(admin, 'preview_recharge', { user_id: ALICE, amount: '20.5' })).amount, '20.5');
  });

  check('of somebody who is not there is refused', async () => {
    const world = createWorld();
    for (const user_id of [9, 4711]) {
      const text = await refusalOf(world.start(), 'preview_recharge', { user_id, amount: '1' });
      assert.match(text, /^NOT_FOUND: the relay has no user with this id/);
    }
  });

  check('is refused while the journal cannot be read', async () => {
    const world = createWorld();
    const journalFile = bentFile(world.file.open(), { read: () => Promise.reject(new Error('EIO')) });
    const text = await refusalOf(world.start({ journalFile }), 'preview_recharge', { user_id: ALICE, amount: '1' });
    assert.is(codeOf(text), 'JOURNAL_UNAVAILABLE');
  });
});

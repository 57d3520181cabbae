import * as assert from 'uvu/assert';
import type { Reason } from '../../../../src/relay-admin/recharge/result.ts';
import { describe } from '../../../check.ts';
import { BALANCE_FAULTS, type BalanceFault } from '../../../demo/relay/faults/names.ts';
import { keyNumber, previewed } from '../../harness/world.ts';
import { changesAt, comeTo, impatient, inTime, paid, pay, payRefusal } from '../steps.ts';
import { ALICE, creditsIn, withPreview } from './world.ts';

/** What a relay that takes for ever has credited by the time the call is over, and in the end. */
const FOR_EVER = [
  { fault: 'slow', soon: 1, inTheEnd: 1 },
  { fault: 'late', soon: 0, inTheEnd: 1 },
  { fault: 'stuck', soon: 1, inTheEnd: 1 },
  { fault: 'stuck-before', soon: 0, inTheEnd: 0 },
] as const;

type Ending = {
  /** What the call comes to, and whether the money has moved then. */
  readonly comesTo: 'verified' | Reason | 'RECHARGE_REFUSED' | 'IDEMPOTENCY_CONFLICT';
  readonly isCredited: boolean;
};
const verified: Ending = { comesTo: 'verified', isCredited: true };
const refused: Ending = { comesTo: 'RECHARGE_REFUSED', isCredited: false };
const open = (comesTo: Reason, isCredited: boolean): Ending => ({ comesTo, isCredited });

const ENDINGS: Readonly<Record<BalanceFault, Ending>> = {
  'unavailable-before': open('store_unavailable', false),
  'unavailable-after': open('store_unavailable', true),
  'drop-before': open('no_answer', false),
  'drop-after': open('no_answer', true),
  'no-history': open('history_row_missing', true),
  'error-after': open('server_error', true),
  stuck: open('timed_out', true),
  'stuck-before': open('timed_out', false),
  slow: verified,
  late: verified,
  conflict: { comesTo: 'IDEMPOTENCY_CONFLICT', isCredited: false },
  'in-progress': open('in_progress', false),
  backoff: open('retry_backoff', false),
  'html-before': open('unusable_answer', false),
  'html-after': open('unusable_answer', true),
  'garbage-after': open('unusable_answer', true),
  // It said yes, and the history holds it: what else stands in the answer is not asked.
  'wrong-shape-after': verified,
  redirect: open('redirected', false),
  'misdirected-after': open('server_error', true),
  'rate-limited': refused,
  'bad-gateway-before': open('server_error', false),
  'bad-gateway-after': open('server_error', true),
  unauthorized: refused,
  terms: refused,
  'echo-key-500': open('server_error', false),
  'huge-after': open('unusable_answer', true),
  'late-without-history': open('timed_out', true),
  'refused-after': open('refusal_unconfirmed', true),
  'refused-without-history': open('refusal_unconfirmed', true),
  'refused-and-user-unreadable': open('refusal_unconfirmed', true),
  'refused-and-spent': open('refusal_unconfirmed', true),
};

const SUCCESS_WORDS = /confirmed the credit|is done|succe/i;

describe('a recharge', (check) => {
  check('credits what was previewed, once, and says verified when answer, history and user agree', async () => {
    const { world, admin, token } = await withPreview('10.00000001');
    const result = await paid(admin, { token });
    const { marker, history_row, advice, ...rest } = result;
    assert.equal(rest, {
      outcome: 'verified',
      reason: null,
      user_id: ALICE,
      amount: '10.00000001',
      balance_before: '12.5',
      balance_after: '22.50000001',
      balance_moved_otherwise: false,
      history_rows: 1,
      sent_at: '2026-01-01T00:00:00.000Z',
      replayed: false,
      relay_replayed: false,
    });
    assert.match(String(advice), 'confirmed the credit');
    assert.match(String(marker), /^rc_[0-9a-f]{16}$/);
    assert.is((history_row as { value: string }).value, '10.00000001');
    assert.equal(world.control.credits(), [
      { userId: ALICE, amount: '10.00000001', notes: `recharge ${marker}`, idempotencyKey: keyNumber(1) },
    ]);
  });

  check('is verified at a large balance, where the history holds a difference of doubles', async () => {
    const { world, admin } = await withPreview();
    world.control.user(ALICE).balance = 12_345_678_912_000_000n;
    const result = await paid(admin, { token: await previewed(admin, ALICE, '0.1') });
    assert.is.not((result.history_row as { value: string }).value, '0.1');
    assert.equal([result.outcome, result.balance_moved_otherwise], ['verified', false]);
  });

  check(
    'is one POST with the caller’s key as it is, the operation add and the digits that were confirmed',
    async () => {
      const { world, admin } = await withPreview();
      const amounts = ['0.00000001', '9999.99999999', '12.5', '7'];
      for (const [index, amount] of amounts.entries()) {
        const key = `aZ09-._~${String(index).padStart(120, 'k')}`;
        world.control.clearRequests();
        const { marker } = await paid(admin, { token: await previewed(admin, ALICE, amount), key });
        const [post, ...more] = changesAt(world);
        assert.equal(more, []);
        assert.is(post?.target, '/api/v1/admin/users/2/balance');
        assert.is(post?.headers['idempotency-key'], key);
        assert.is(post?.body, `{"balance":${amount},"operation":"add","notes":"recharge ${marker}"}`);
      }
      assert.equal(creditsIn(world), amounts);
    },
  );

  check('is noted in the journal before it is sent, without token, key or e-mail', async () => {
    const { world, token } = await withPreview();
    let linesWhenSent: readonly string[] = [];
    const admin = world.start({
      httpClient: (direct) => (sent) => {
        if (sent.method === 'POST') linesWhenSent = [...world.file.lines];
        return direct(sent);
      },
    });
    await paid(admin, { token });
    assert.match(linesWhenSent.at(-1) ?? '', '"kind":"claim"');
    const text = world.file.lines.join('\n') + world.logged.join('\n');
    for (const secret of [token, keyNumber(1), 'alice@', 'admin-']) assert.not.match(text, secret);
  });

  for (const fault of BALANCE_FAULTS) {
    const { comesTo, isCredited } = ENDINGS[fault];
    check(`comes to ${comesTo} when the relay does ${fault}, and to no second credit`, async () => {
      const { world, admin, token } = await withPreview();
      world.control.useFault(fault);
      const answer = await inTime(world, pay(admin, { token }));
      assert.is(comeTo(answer), comesTo);
      assert.equal(creditsIn(world), isCredited ? ['10'] : []);
      const outputText = JSON.stringify(answer);
      if (comesTo !== 'verified') assert.not.match(outputText, SUCCESS_WORDS);
      if (answer.kind === 'failed') assert.match(outputText, /outcome=not_applied retry=no/);
      else assert.is(outputText.includes('Do not report it as done'), comesTo !== 'verified');

      // Here, in another process, after every hour at which the relay would run the same key again.
      const askedAgain = [0, 6_000, 150_000, 90_000_000];
      for (const afterMs of askedAgain) {
        await world.clock.advance(afterMs);
        for (const process of [admin, world.start()]) {
          const again = await inTime(world, pay(process, { token }));
          assert.is(comeTo(again), comesTo);
          if (again.kind === 'done') assert.is(again.result.replayed, true);
        }
      }
      assert.is(changesAt(world).length, 1);
      assert.equal(creditsIn(world), isCredited ? ['10'] : []);
    });
  }

  for (const { fault, soon, inTheEnd } of FOR_EVER) {
    check(`ends within the time of a call when the relay takes for ever (${fault})`, async () => {
      const { world, token } = await withPreview();
      const admin = world.start({ httpClient: impatient });
      world.control.setDelayMs(10 * 60_000);
      world.control.useFault(fault);
      const startedAt = world.clock.now();
      const result = await inTime(world, paid(admin, { token }));
      assert.is(result.reason, 'timed_out');
      assert.ok(world.clock.now() - startedAt <= 30_000);
      assert.is(creditsIn(world).length, soon);
      // There was time left to look.
      assert.is(result.history_rows, soon);
      assert.is.not(result.balance_after, null);
      await world.clock.advance(10 * 60_000);
      const again = await paid(admin, { token });
      assert.is(again.outcome, 'accepted_unverified');
      assert.is(again.history_rows, inTheEnd);
      assert.is(changesAt(world).length, 1);
    });
  }
});

describe('a relay that cannot be reached', (check) => {
  check('has credited nothing when no connection was made, and the same call says so again', async () => {
    const { world, token } = await withPreview();
    const { HttpClientError } = await import('../../../../src/core/http/client.ts');
    const admin = world.start({
      httpClient: (direct) => (sent) =>
        sent.method === 'POST' ? Promise.reject(new HttpClientError('ECONNREFUSED')) : direct(sent),
    });
    for (const process of [admin, admin, world.start()]) {
      const text = await payRefusal(process, { token });
      assert.match(text, /^RECHARGE_REFUSED: no connection .* outcome=not_applied .* new idempotency_key\. ref=rc_/);
    }
    assert.equal(creditsIn(world), []);
  });
});

import * as assert from 'uvu/assert';
import { formatAmount, toAmount, toUnits } from '../../../../src/demo/relay/records/users.ts';
import { describe } from '../../../check.ts';
import { relayWorld } from '../caller.ts';
import { KEY, read, reasonOf, rowsOf } from './world.ts';

const HOUR_MS = 3_600_000;

describe('demo money', (check) => {
  check('is exact in units of 1e-8, and a double on the wire', () => {
    for (const text of ['0', '1.5', '-0.00000005', '98765.43210987', '999999999999.99999999'])
      assert.is(formatAmount(toUnits(text)), text);
    assert.is(toUnits(0.1 + 0.2), 30000000n);
    assert.is(toUnits(1e-9), 0n);
    assert.is(JSON.stringify(toAmount(5n)), '5e-8');
    for (const text of ['', '1.', '.5', '1e3', '0.000000001', 'x']) assert.throws(() => toUnits(text), /digits/);
  });
});

describe('demo relay and a credit', (check) => {
  check('adds the amount, writes it into the history and answers the user as they are now', async () => {
    const world = relayWorld();
    const [status, body, headers] = await read(world.credit(0.1, KEY));
    assert.equal([status, body.code, body.data.id, body.data.balance], [200, 0, 2, 12.6]);
    assert.is(headers.get('x-idempotency-replayed'), null);
    assert.equal(world.control.credits(), [{ userId: 2, amount: '0.1', notes: 'ref-1', idempotencyKey: KEY }]);
    const [row] = await rowsOf(world);
    assert.equal([row.type, row.value, row.notes, row.status, row.used_by], ['admin_balance', 0.1, 'ref-1', 'used', 2]);
    assert.is(row.used_at, new Date(world.clock.now()).toISOString());
  });
  check('does the same for who is disabled, and nothing for who is not there', async () => {
    const { answer, control } = relayWorld();
    const sent = { method: 'POST', body: { balance: 1, operation: 'add' } };
    assert.is((await answer('users/3/balance', sent))[0], 200);
    for (const id of [77, 9]) {
      const [status, body] = await answer(`users/${id}/balance`, sent);
      assert.equal([status, body.code, body.reason], [404, 404, 'USER_NOT_FOUND']);
    }
    assert.equal((await answer('users/x/balance', sent))[1].message, 'Invalid user ID');
    assert.is(control.credits().length, 1);
  });
  check('takes no amount that is nothing, less or no number, and keeps no history of less than a unit', async () => {
    const world = relayWorld();
    for (const amount of [0, -1, '5', null]) {
      const [status, body] = await read(world.credit(amount));
      assert.equal([status, body.code], [400, 400]);
      assert.match(body.message, /^Invalid request: /);
    }
    assert.is((await read(world.credit(1, undefined, { operation: 'give' })))[0], 400);
    assert.is((await read(world.credit(1e-9)))[0], 200);
    assert.equal(world.control.credits(), []);
    assert.is((await rowsOf(world)).length, 1);
  });
  check('sets and takes away too, but calls its own refusals internal errors', async () => {
    const { credit, control } = relayWorld();
    assert.is((await read(credit(3, undefined, { operation: 'set' })))[1].data.balance, 3);
    assert.is((await read(credit(1, undefined, { operation: 'subtract' })))[1].data.balance, 2);
    const [status, body] = await read(credit(5, undefined, { operation: 'subtract' }));
    assert.equal([status, body], [500, { code: 500, message: 'internal error' }]);
    assert.is((await read(credit(1e12)))[0], 500);
    assert.equal(
      control.credits().map(({ amount }) => amount),
      ['-9.5', '-1'],
    );
  });
});

describe('demo relay and a key for a credit', (check) => {
  check('answers a key it knows with what it said then, and credits once', async () => {
    const { credit, control } = relayWorld();
    await credit(1, KEY);
    control.debit(2, '5');
    control.user(2).api_keys.length = 0;
    const [status, body, headers] = await read(credit(1, KEY));
    assert.equal([status, body.data.balance, headers.get('x-idempotency-replayed')], [200, 13.5, 'true']);
    assert.is(body.data.api_keys.length, 1);
    assert.is(control.credits().length, 1);
  });
  check('runs twice what has no key', async () => {
    const { credit, control } = relayWorld();
    await credit(1);
    await credit(1);
    assert.is(control.credits().length, 2);
  });
  check('refuses a key for another amount, other notes, another user or another admin', async () => {
    const { credit, call, control } = relayWorld();
    await credit(1, KEY);
    const refused = [409, 'IDEMPOTENCY_KEY_CONFLICT', null];
    assert.equal(await reasonOf(credit(2, KEY)), refused);
    assert.equal(await reasonOf(credit(1, KEY, { notes: 'ref-2' })), refused);
    const body = { balance: 1, operation: 'add', notes: 'ref-1' };
    const headers = { 'idempotency-key': KEY };
    assert.equal(await reasonOf(call('users/3/balance', { method: 'POST', body, headers })), refused);
    control.user(1).status = 'disabled';
    control.user(3).role = 'admin';
    control.user(3).status = 'active';
    assert.equal(await reasonOf(credit(1, KEY)), refused);
    assert.is(control.credits().length, 1);
  });
  check('takes 1 to 128 printable characters', async () => {
    const { credit } = relayWorld();
    for (const key of ['x', '~'.repeat(128)]) assert.is((await read(credit(1, key)))[0], 200);
    for (const key of ['a b', '~'.repeat(129), 'ä'])
      assert.equal(await reasonOf(credit(1, key)), [400, 'IDEMPOTENCY_KEY_INVALID', null]);
  });
  check('forgets a key after 24 hours and credits again', async () => {
    const { credit, control, clock } = relayWorld();
    await credit(1, KEY);
    await clock.advance(24 * HOUR_MS - 1);
    await credit(1, KEY);
    assert.is(control.credits().length, 1);
    await clock.advance(1);
    await credit(1, KEY);
    assert.is(control.credits().length, 2);
  });
  check('lets a key rest for 5 seconds after a failure, then runs it again', async () => {
    const { credit, control, clock } = relayWorld();
    control.useFault('error-after');
    assert.is((await read(credit(1, KEY)))[0], 500);
    assert.equal(await reasonOf(credit(1, KEY)), [409, 'IDEMPOTENCY_RETRY_BACKOFF', '5']);
    await clock.advance(4999);
    assert.equal(await reasonOf(credit(1, KEY)), [409, 'IDEMPOTENCY_RETRY_BACKOFF', '1']);
    await clock.advance(1);
    assert.is((await read(credit(1, KEY)))[0], 200);
    assert.is(control.credits().length, 2);
  });
  check('never sees that a run will not come back, for as long as it knows the key', async () => {
    const { credit, control, clock } = relayWorld();
    control.useFault('stuck');
    void credit(1, KEY);
    await clock.advance(0);
    assert.equal(await reasonOf(credit(1, KEY)), [409, 'IDEMPOTENCY_IN_PROGRESS', '30']);
    await clock.advance(23 * HOUR_MS);
    assert.equal(await reasonOf(credit(1, KEY)), [409, 'IDEMPOTENCY_IN_PROGRESS', '30']);
    await clock.advance(HOUR_MS);
    assert.is((await read(credit(1, KEY)))[0], 200);
    assert.is(control.credits().length, 2);
  });
});

describe('demo relay and the sign of a balance', (check) => {
  check('adds nothing that leaves a balance below zero, and fails with no reason', async () => {
    const { control, credit } = relayWorld();
    control.user(2).balance = -200_000_000n;
    assert.is((await read(credit(1.99999999)))[0], 500);
    assert.equal(control.credits(), []);
    assert.is((await read(credit(2)))[0], 200);
    assert.is(control.user(2).balance, 0n);
  });
});

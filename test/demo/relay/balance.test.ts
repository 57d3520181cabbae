import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../src/demo/relay/records/secrets.ts';
import { formatAmount, toAmount, toUnits } from '../../../src/demo/relay/records/users.ts';
import { describe } from '../../check.ts';
import { type Answer, relayWorld } from './caller.ts';
import { BALANCE_FAULTS, type BalanceFault } from './faults/names.ts';

const KEY = 'key-0000000000000001';
const HOUR_MS = 3_600_000;
type World = ReturnType<typeof relayWorld>;

const read = async (reply: Promise<Response>): Promise<readonly [number, Answer, Headers]> => {
  const response = await reply;
  return [response.status, await response.json().catch(() => undefined), response.headers];
};
const reasonOf = async (reply: Promise<Response>) => {
  const [status, body, headers] = await read(reply);
  return [status, body.reason, headers.get('retry-after')];
};
const rowsOf = async ({ data }: World): Promise<Answer[]> =>
  (await data('users/2/balance-history?type=admin_balance')).items;

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

/** Status, how many credits it made, how many rows they left, and what a second try with the key gets at once. */
const FAULTS: Readonly<Record<BalanceFault, readonly [number, number, number, number]>> = {
  'unavailable-before': [503, 0, 0, 200],
  'unavailable-after': [503, 1, 1, 409],
  'drop-before': [502, 0, 0, 200],
  'drop-after': [502, 1, 1, 200],
  'no-history': [200, 1, 0, 200],
  'error-after': [500, 1, 1, 409],
  stuck: [499, 1, 1, 409],
  'stuck-before': [499, 0, 0, 200],
  slow: [499, 1, 1, 409],
  late: [200, 1, 1, 200],
  conflict: [409, 0, 0, 200],
  'in-progress': [409, 0, 0, 200],
  backoff: [409, 0, 0, 200],
  'html-before': [200, 0, 0, 200],
  'html-after': [200, 1, 1, 200],
  'garbage-after': [200, 1, 1, 200],
  'wrong-shape-after': [200, 1, 1, 200],
  redirect: [307, 0, 0, 200],
  'misdirected-after': [421, 1, 1, 200],
  'rate-limited': [429, 0, 0, 200],
  'bad-gateway-before': [502, 0, 0, 200],
  'bad-gateway-after': [502, 1, 1, 200],
  unauthorized: [401, 0, 0, 200],
  terms: [423, 0, 0, 200],
  'echo-key-500': [500, 0, 0, 200],
  'huge-after': [200, 1, 1, 200],
  'late-without-history': [499, 1, 0, 409],
  'refused-after': [400, 1, 1, 200],
  'refused-without-history': [400, 1, 0, 200],
  'refused-and-user-unreadable': [400, 1, 0, 200],
  'refused-and-spent': [400, 1, 0, 200],
};

describe('failures of the demo relay with a credit', (check) => {
  for (const fault of BALANCE_FAULTS)
    check(`keeps to what "${fault}" stands for`, async () => {
      const world = relayWorld();
      const { call, clock, control, credit } = world;
      const [status, credits, rows, retried] = FAULTS[fault];
      control.useFault(fault);
      const caller = new AbortController();
      const pending = call('users/2/balance', {
        method: 'POST',
        body: { balance: 1, operation: 'add', notes: 'ref-1' },
        headers: { 'idempotency-key': KEY },
        signal: caller.signal,
      });
      await clock.advance(0);
      caller.abort();
      await clock.advance(1000);
      const response = await pending;
      await response.body?.cancel();
      assert.is(response.status, status);
      assert.is(control.credits().length, credits);
      assert.is((await rowsOf(world)).length - 1, rows);
      assert.is((await credit(1, KEY)).status, retried);
      assert.is(control.credits().length, retried === 200 ? 1 : credits);
    });
  check('answers slowly to who waits, and then knows the key', async () => {
    const { control, credit, clock } = relayWorld();
    control.useFault('slow');
    const pending = credit(1, KEY);
    await clock.advance(999);
    assert.is(control.credits().length, 1);
    assert.equal(await reasonOf(credit(1, KEY)), [409, 'IDEMPOTENCY_IN_PROGRESS', '30']);
    await clock.advance(1);
    assert.is((await pending).status, 200);
    assert.is((await credit(1, KEY)).headers.get('x-idempotency-replayed'), 'true');
  });
  check('credits late, when the caller has long read that nothing happened', async () => {
    const world = relayWorld();
    world.control.useFault('late');
    void world.credit(1, KEY);
    await world.clock.advance(999);
    assert.equal([world.control.credits().length, (await rowsOf(world)).length], [0, 1]);
    await world.clock.advance(1);
    assert.equal([world.control.credits().length, (await rowsOf(world)).length], [1, 2]);
  });
  check("says in the store's one sentence that it credited, and that it did not", async () => {
    const { control, credit } = relayWorld();
    control.useFault('unavailable-before');
    control.useFault('unavailable-after');
    const bodies = [await read(credit(1)), await read(credit(1))].map(([, body]) => body);
    assert.equal(bodies[0], bodies[1]);
    assert.is(bodies[0].reason, 'IDEMPOTENCY_STORE_UNAVAILABLE');
  });
  check('drops the connection of that request', async () => {
    const { control, credit, dropped } = relayWorld();
    control.useFault('drop-before');
    await credit(1);
    assert.is(dropped.length, 1);
  });
  check('echoes the key, and shows a limited caller when to come back', async () => {
    const { control, credit } = relayWorld();
    control.useFault('echo-key-500');
    control.useFault('rate-limited');
    const echoed = await credit(1);
    assert.match(echoed.statusText, DEMO_ADMIN_KEY);
    assert.match(await echoed.text(), DEMO_ADMIN_KEY);
    assert.is((await credit(1)).headers.get('retry-after'), '7');
  });
  check('keeps faults of a credit and of all else apart', async () => {
    const { control, credit, call } = relayWorld();
    control.useFault('redirect');
    control.useRouteFault('internal');
    assert.is((await call('users')).status, 500);
    assert.is((await credit(1)).status, 307);
  });
});

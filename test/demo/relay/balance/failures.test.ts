import * as assert from 'uvu/assert';
import { DEMO_ADMIN_KEY } from '../../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../../check.ts';
import { relayWorld } from '../caller.ts';
import { BALANCE_FAULTS, type BalanceFault } from '../faults/names.ts';
import { KEY, read, reasonOf, rowsOf } from './world.ts';

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

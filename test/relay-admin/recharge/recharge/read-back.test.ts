import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import type { RouteFault } from '../../../demo/relay/faults/names.ts';
import type { World } from '../../harness/world.ts';
import { changesAt, inTime, paid, until } from '../steps.ts';
import { ALICE, creditsIn, withPreview } from './world.ts';

describe('what a recharge sees afterwards', (check) => {
  const HISTORY = /balance-history/;
  const USER = /users\/2$/;
  const UNREADABLE: readonly RouteFault[] = ['unavailable', 'garbage', 'wrong-shape', 'unauthorized', 'drop', 'stuck'];
  const readBack = [
    { target: HISTORY, reason: 'history_unreadable' },
    { target: USER, reason: 'user_unreadable' },
  ] as const;
  /** The fault waits until the recharge has been sent. */
  const afterSending = (world: World, target: RegExp, fault: RouteFault) =>
    world.start({
      httpClient: (direct) => async (sent) => {
        const received = await direct(sent);
        if (sent.method === 'POST') world.control.useRouteFault(fault, 2, target);
        return received;
      },
    });

  for (const { target, reason } of readBack) {
    for (const fault of UNREADABLE) {
      check(`is ${reason} when the relay does ${fault} there, and verified once it can be read`, async () => {
        const { world, token } = await withPreview();
        const admin = afterSending(world, target, fault);
        const asked = paid(admin, { token });
        await until(() => changesAt(world).length === 1);
        // A read that is stuck is ended by the limit of the call itself.
        const first = await inTime(world, asked, fault === 'stuck' ? 0 : 1);
        assert.is(first.outcome, 'accepted_unverified');
        assert.is(first.reason, reason);
        const logged = world.logged.map((line) => JSON.parse(line)).find(({ event }) => event === 'recharge');
        assert.equal([logged?.level, logged?.outcome], ['warn', 'accepted_unverified']);
        world.control.clearFaults();
        for (const process of [world.start(), admin]) {
          const again = await inTime(world, paid(process, { token }));
          assert.is(again.outcome, 'verified');
          assert.is(again.replayed, true);
        }
        // And from then on it is, whether or not it can.
        world.control.useRouteFault('unauthorized', 9);
        assert.is((await paid(world.start(), { token })).outcome, 'verified');
        assert.is(changesAt(world).length, 1);
      });
    }
  }

  check('stays verified, whatever the relay shows later', async () => {
    const { world, admin, token } = await withPreview();
    const first = await paid(admin, { token });
    world.control.history.splice(0);
    world.control.useRouteFault('unavailable', 50);
    for (const process of [admin, world.start()]) {
      assert.equal(await paid(process, { token }), { ...first, replayed: true });
    }
  });

  /** Bends the history between the credit and the look at it. */
  const bending = async (bend: (world: World) => void) => {
    const { world, token } = await withPreview();
    const admin = world.start({
      httpClient: (direct) => async (sent) => {
        const received = await direct(sent);
        if (sent.method === 'POST') bend(world);
        return received;
      },
    });
    return { world, admin, token, result: await paid(admin, { token }) };
  };
  const replaceLast = ({ control }: World, more: object): void => {
    const last = control.history.pop()!;
    control.history.push({ ...last, ...more });
  };

  check('is not verified when the credit in the history is of another amount', async () => {
    const { result } = await bending((world) => replaceLast(world, { value: 1_000_000_001n }));
    assert.is(result.reason, 'history_value_differs');
    assert.is((result.history_row as { value: string }).value, '10.00000001');
    assert.match(String(result.advice), 'Do not report it as done');
  });

  check('is not verified by a row of another kind, of another user or with other notes', async () => {
    for (const more of [{ type: 'balance' }, { used_by: 4 }, { notes: 'recharge rc_0000000000000000' }]) {
      const { result } = await bending((world) => replaceLast(world, more));
      assert.is(result.reason, 'history_row_missing', JSON.stringify(more));
      assert.is(result.history_rows, 0);
    }
  });

  check('says that a person must look when the history holds two credits with the marker', async () => {
    const { world, admin, token, result } = await bending(({ control }) => {
      control.history.push({ ...control.history.at(-1)!, id: 900 });
    });
    assert.is(result.reason, 'credited_more_than_once');
    assert.is(result.history_rows, 2);
    assert.match(String(result.advice), 'Not a success: ask a person to look at once');
    assert.is((await paid(admin, { token })).reason, 'credited_more_than_once');
    assert.is(changesAt(world).length, 1);
  });

  check('takes usage that goes on for no failure, and names it', async () => {
    const { world, admin, token } = await withPreview();
    world.control.setRunningDebit(ALICE, '0.25');
    const result = await paid(admin, { token });
    assert.is(result.outcome, 'verified');
    assert.is(result.balance_moved_otherwise, true);
    assert.is(result.balance_before, '12.25');
    // Taken off before the admitting read, the history of that moment, the recharge and both looks at it.
    assert.match(String(result.balance_after), /^21\.\d+$/);
  });

  check('turns a missing row into verified when it comes late, and only after a clear yes', async () => {
    for (const [fault, then] of [
      ['no-history', 'verified'],
      ['drop-before', 'no_answer'],
    ] as const) {
      const { world, admin, token } = await withPreview();
      world.control.useFault(fault);
      const { marker } = await paid(admin, { token });
      const row = world.control.history.find(({ used_by }) => used_by === ALICE)!;
      world.control.history.push({
        ...row,
        id: 77,
        type: 'admin_balance',
        value: 1_000_000_000n,
        notes: `recharge ${marker}`,
      });
      for (const process of [world.start(), admin, world.start()]) {
        const again = await paid(process, { token });
        assert.is(again.reason ?? again.outcome, then);
        assert.is(again.history_rows, 1);
      }
      assert.is(changesAt(world).length, 1);
    }
  });

  check('says that the relay only repeated an earlier answer when it did', async () => {
    const { world, token } = await withPreview();
    const admin = world.start({
      // Somebody in between sends everything twice.
      httpClient: (direct) => async (sent) => {
        if (sent.method === 'POST') await direct(sent);
        return direct(sent);
      },
    });
    const result = await paid(admin, { token });
    assert.is(result.relay_replayed, true);
    assert.is(result.outcome, 'verified');
    assert.equal(creditsIn(world), ['10']);
  });
});

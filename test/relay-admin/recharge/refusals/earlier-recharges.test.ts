import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createMemoryFile, keyNumber, previewed } from '../../harness/world.ts';
import { paid, payRefusal } from '../steps.ts';
import { ALICE, CAROL, refusedUnsent, withPreview } from './world.ts';

describe('before anything is sent', (check) => {
  check(
    'a key whose marker already stands in the history of the user is refused when the journal was lost',
    async () => {
      const { world, admin, token } = await withPreview();
      await paid(admin, { token });
      const later = world.start({ journalFile: createMemoryFile().open() });
      const again = await previewed(later, ALICE, '10');
      const text = await refusedUnsent(world, 'IDEMPOTENCY_CONFLICT', payRefusal(later, { token: again }));
      assert.match(text, 'history of this user already has a credit');
      assert.is((await paid(later, { token: again, key: keyNumber(2) })).outcome, 'verified');
    },
  );

  check('a key that the relay knows for another recharge is refused there, and credits nothing', async () => {
    const { world, admin, token } = await withPreview();
    await paid(admin, { token });
    const later = world.start({ journalFile: createMemoryFile().open() });
    const other = await previewed(later, CAROL, '3');
    for (let time = 0; time < 2; time++) {
      const text = await payRefusal(later, { token: other });
      assert.match(text, /^IDEMPOTENCY_CONFLICT: the relay already knows .*credited nothing.* outcome=not_applied/);
    }
    assert.is(world.control.credits().length, 1);
  });

  check('a second recharge of a user and amount in doubt is held until the first is named', async () => {
    const { world, admin, token } = await withPreview();
    world.control.useFault('drop-before');
    const { marker } = await paid(admin, { token });
    await world.clock.advance(120_000);
    const second = await previewed(admin, ALICE, '10');
    const key = keyNumber(2);
    for (const process of [admin, world.start()]) {
      const text = await refusedUnsent(world, 'DOUBT_NOT_ACKNOWLEDGED', payRefusal(process, { token: second, key }));
      assert.ok(text.endsWith(` ref=${marker}`), text);
      const other = payRefusal(process, { token: second, key, doubt: 'rc_0000000000000000' });
      await refusedUnsent(world, 'DOUBT_NOT_ACKNOWLEDGED', other);
    }
    // The pair was not used up, and the journal says who was named.
    assert.is((await paid(admin, { token: second, key, doubt: String(marker) })).outcome, 'verified');
    assert.ok(world.file.lines.some((line) => line.includes(`"acknowledgedDoubt":"${marker}"`)));
    assert.is((await paid(admin, { token: second, key })).replayed, true);
  });

  check('a doubt that is none, or none any more, cannot be named', async () => {
    const { world, admin, token } = await withPreview();
    const named = payRefusal(admin, { token, doubt: 'rc_0000000000000000' });
    assert.match(await refusedUnsent(world, 'INVALID_ARGUMENT', named), 'acknowledge_doubt: no earlier recharge');
    for (const doubt of ['rc_1', '', 'rc_000000000000000G'])
      await refusedUnsent(world, 'INVALID_ARGUMENT', payRefusal(admin, { token, doubt }));
    world.control.useFault('drop-before');
    const { marker } = await paid(admin, { token });
    await world.clock.advance(7 * 24 * 3_600_000);
    const later = await previewed(admin, ALICE, '10');
    await refusedUnsent(
      world,
      'INVALID_ARGUMENT',
      payRefusal(admin, { token: later, key: keyNumber(2), doubt: String(marker) }),
    );
    assert.is((await paid(admin, { token: later, key: keyNumber(2) })).outcome, 'verified');
  });

  check('another amount, and another user, are not held by a doubt', async () => {
    const { world, admin, token } = await withPreview();
    world.control.useFault('drop-after');
    await paid(admin, { token });
    await world.clock.advance(120_000);
    for (const [index, [user, amount]] of (
      [
        [ALICE, '10.00000001'],
        [CAROL, '10'],
      ] as const
    ).entries()) {
      const next = await previewed(admin, user, amount);
      assert.is((await paid(admin, { token: next, key: keyNumber(index + 2) })).outcome, 'verified');
    }
  });

  check('an earlier recharge of the user with an unknown end is waited for, two minutes long', async () => {
    const { world, admin, token } = await withPreview();
    const second = await previewed(admin, ALICE, '3');
    world.control.useFault('drop-before');
    const { marker } = await paid(admin, { token });
    for (const process of [admin, world.start()]) {
      await refusedUnsent(world, 'UNRESOLVED_RECHARGE', payRefusal(process, { token: second, key: keyNumber(2) }));
    }
    await world.clock.advance(119_999);
    const text = await refusedUnsent(
      world,
      'UNRESOLVED_RECHARGE',
      payRefusal(admin, { token: second, key: keyNumber(2) }),
    );
    assert.match(text, ` retry=after_1s. Next: `);
    assert.match(text, ` ref=${marker}`);
    await world.clock.advance(1);
    // The second preview was made at the very moment of the first recharge, so only time stood in its way.
    assert.is((await paid(admin, { token: second, key: keyNumber(2) })).outcome, 'verified');
  });

  check('an earlier recharge with an unknown end stops no one else', async () => {
    const { world, admin, token } = await withPreview();
    const carols = await previewed(admin, CAROL, '3');
    world.control.useFault('drop-before');
    await paid(admin, { token });
    assert.is((await paid(admin, { token: carols, key: keyNumber(2) })).outcome, 'verified');
  });

  check(
    'a recharge that was sent after its preview was made, whatever came of it, makes the preview stale',
    async () => {
      const { world, admin, token } = await withPreview();
      const second = await previewed(admin, ALICE, '3');
      await world.clock.advance(1000);
      world.control.useFault('drop-after');
      await paid(admin, { token });
      world.control.debit(ALICE, '10');
      await world.clock.advance(1000);
      await refusedUnsent(world, 'PREVIEW_STALE', payRefusal(admin, { token: second, key: keyNumber(2) }));
    },
  );
});

import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createWorld, keyNumber, previewed, refusalOf, resultOf } from '../../harness/world.ts';
import { impatient, inTime, paid, until } from '../../recharge/steps.ts';
import { ALICE, codesOf, preview } from './world.ts';

describe('a preview after a recharge that was never confirmed', (check) => {
  const unconfirmed = async (fault: 'drop-before' | 'drop-after' | 'no-history') => {
    const world = createWorld();
    const admin = world.start();
    world.control.useFault(fault);
    const { marker } = await paid(admin, { token: await previewed(admin, ALICE, '10') });
    return { world, marker };
  };

  check('is refused for two minutes while the history does not show it', async () => {
    const { world, marker } = await unconfirmed('drop-before');
    await world.clock.advance(119_999);
    const text = await refusalOf(world.start(), 'preview_recharge', { user_id: ALICE, amount: '1' });
    assert.match(text, /^UNRESOLVED_RECHARGE: .* outcome=not_applied retry=after_1s/);
    assert.ok(text.endsWith(`ref=${marker}`));
    await world.clock.advance(1);
    const result = await preview(world, ALICE, '1');
    assert.equal(codesOf(result), ['earlier_recharge_unknown']);
    assert.equal(result.earlier_recharges, [
      {
        reference: marker,
        amount: '10',
        sent_at: '2026-01-01T00:00:00.000Z',
        seems_credited: false,
        credit_sign: null,
        balance_before: '12.5',
        balance_change: '0',
      },
    ]);
    assert.is(result.acknowledge_doubt, null);
  });

  check('warns in read-only mode, too', async () => {
    const { world } = await unconfirmed('drop-after');
    const admin = world.start({ variables: { RELAY_READ_ONLY: 'true' } });
    const result = await resultOf(admin, 'preview_recharge', { user_id: ALICE, amount: '1' });
    assert.equal(codesOf(result), ['earlier_recharge_credited']);
  });

  check('warns at once when the history shows it', async () => {
    const { world, marker } = await unconfirmed('drop-after');
    const result = await preview(world, ALICE, '1');
    assert.equal(result.warnings, [
      {
        code: 'earlier_recharge_credited',
        text: 'An earlier recharge of this user seems to have been credited. This would be another.',
      },
    ]);
    assert.equal(result.earlier_recharges, [
      {
        reference: marker,
        amount: '10',
        sent_at: '2026-01-01T00:00:00.000Z',
        seems_credited: true,
        credit_sign: 'history_row',
        balance_before: '12.5',
        balance_change: '10',
      },
    ]);
  });

  check('says that it was credited when the relay itself had said yes, at once and without a row', async () => {
    const { world, marker } = await unconfirmed('no-history');
    const result = await preview(world, ALICE, '10');
    assert.equal(codesOf(result), ['earlier_recharge_credited']);
    assert.match(
      String(result.summary),
      `Recharge ${marker} of the same user and amount was accepted by the relay and could not be verified: this would be a second credit.`,
    );
    assert.not.match(String(result.summary), 'unknown');
  });

  check('warns of a credit that came late and without a row, and does not say that nothing was credited', async () => {
    const world = createWorld();
    const admin = world.start({ httpClient: impatient });
    world.control.setDelayMs(10 * 60_000);
    world.control.useFault('late-without-history');
    const { marker } = await inTime(world, paid(admin, { token: await previewed(admin, ALICE, '10') }));
    await world.clock.advance(150_000);
    // More than two minutes, no row, no rise: and yet the credit comes.
    assert.equal(codesOf(await preview(world, ALICE, '10')), ['earlier_recharge_unknown']);
    await world.clock.advance(10 * 60_000);
    const late = await preview(world, ALICE, '10');
    assert.equal(codesOf(late), ['earlier_recharge_balance_rose']);
    const [earlier] = late.earlier_recharges as Record<string, unknown>[];
    assert.equal([earlier?.seems_credited, earlier?.balance_change], [true, '10']);
    assert.is(late.acknowledge_doubt, marker);
    assert.match(String(late.summary), `Recharge ${marker} of the same user and amount was probably credited, because`);
  });

  check('warns never of another user’s', async () => {
    assert.equal(codesOf(await preview((await unconfirmed('drop-before')).world, 4, '1')), []);
  });

  check('warns of one that was cut off between the journal and the relay', async () => {
    const world = createWorld();
    const token = await previewed(world.start(), ALICE, '10');
    const file = world.file.open();
    // The process ends with the claim on the disk: it never hears that it is.
    const journalFile = {
      ...file,
      append: (line: string) =>
        file.append(line).then(() => (line.includes('"claim"') ? new Promise<never>(() => {}) : undefined)),
    };
    void world
      .start({ journalFile })
      .call('recharge', { preview_token: token, idempotency_key: keyNumber(1) }, new AbortController().signal);
    await until(() => world.file.lines.some((line) => line.includes('"claim"')));
    await world.clock.advance(120_000);
    assert.equal(codesOf(await preview(world, ALICE, '1')), ['earlier_recharge_unknown']);
  });
});

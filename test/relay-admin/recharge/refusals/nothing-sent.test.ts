import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import type { RouteFault } from '../../../demo/relay/faults/names.ts';
import { answerOf, keyNumber, resultOf } from '../../harness/world.ts';
import { bentFile, changesAt, codeOf, inTime, paid, payRefusal, until, waitFor } from '../steps.ts';
import { ALICE, refusedUnsent, withPreview } from './world.ts';

const UNREADABLE: readonly RouteFault[] = ['unavailable', 'html', 'wrong-shape', 'unauthorized', 'drop', 'not-found'];

describe('before anything is sent', (check) => {
  check('a balance that usage took so far down that the relay would refuse the credit stops it', async () => {
    const { world, admin, token } = await withPreview();
    world.control.debit(ALICE, '22.50000001');
    const text = await refusedUnsent(world, 'BALANCE_STAYS_NEGATIVE', payRefusal(admin, { token }));
    assert.match(text, 'at least 10.00000001');
    world.control.debit(ALICE, '-0.00000001');
    assert.is((await paid(admin, { token })).balance_after, '0');
  });

  for (const fault of UNREADABLE) {
    check(`a user or a history that cannot be read (${fault}) stops a recharge, and its pair stays good`, async () => {
      const { world, admin, token } = await withPreview();
      const lines = world.file.lines.length;
      for (const target of [/users\/2$/, /balance-history/]) {
        world.control.useRouteFault(fault, 2, target);
        const text = await inTime(world, payRefusal(admin, { token }));
        assert.match(text, ' outcome=not_applied ');
        world.control.clearFaults();
      }
      assert.equal(changesAt(world), []);
      assert.is(world.file.lines.length, lines);
      assert.is((await paid(admin, { token })).outcome, 'verified');
    });
  }

  check('a journal that cannot be read stops everything', async () => {
    const { world, token } = await withPreview();
    const journalFile = bentFile(world.file.open(), { read: () => Promise.reject(new Error('EIO /secret/place')) });
    const broken = world.start({ journalFile });
    world.control.clearRequests();
    const text = await payRefusal(broken, { token });
    // Whether an earlier process has credited this pair cannot be known.
    assert.match(text, /^JOURNAL_UNAVAILABLE: .* outcome=unknown /);
    assert.not.match(text + world.logged.join(), 'secret/place');
    assert.equal(world.control.requests(), []);
  });

  check('a journal that cannot be written stops it', async () => {
    const { world, token } = await withPreview();
    const journalFile = bentFile(world.file.open(), { append: () => Promise.reject(new Error('ENOSPC')) });
    await refusedUnsent(world, 'JOURNAL_UNAVAILABLE', payRefusal(world.start({ journalFile }), { token }));
    assert.is((await paid(world.start(), { token })).outcome, 'verified');
  });

  check('a journal that does not hold what was written to it stops it', async () => {
    const { world, token } = await withPreview();
    const file = world.file.open();
    const journalFile = { ...file, append: async () => {} };
    await refusedUnsent(world, 'JOURNAL_UNAVAILABLE', payRefusal(world.start({ journalFile }), { token }));
  });

  check('a disk that takes half of the call’s time ends the recharge for good, and says so ever after', async () => {
    for (const [ms, isSent] of [
      [15_001, false],
      [15_000, true],
    ] as const) {
      const { world, token } = await withPreview();
      const isClaim = (line: string) => line.includes('"claim"');
      const slow = (line: string) => (isClaim(line) ? waitFor(world, ms) : Promise.resolve());
      const admin = world.start({ journalFile: bentFile(world.file.open(), { append: slow }) });
      const asked = answerOf(admin, 'recharge', { preview_token: token, idempotency_key: keyNumber(1) });
      // Two timers of the call and one of the disk.
      await until(() => world.clock.pending() === 3);
      await world.clock.advance(ms);
      const answer = await asked;
      assert.is(answer.kind, isSent ? 'done' : 'failed');
      assert.is(changesAt(world).length, isSent ? 1 : 0);
      if (isSent) continue;
      for (const process of [admin, world.start()]) {
        const text = await refusedUnsent(world, 'RECHARGE_NOT_SENT', payRefusal(process, { token }));
        assert.match(text, /preview_token is used up.* new idempotency_key\. ref=rc_/);
      }
    }
  });

  check(
    'a relay that is too slow to be read ends the call before its half, and leaves the pair as it was',
    async () => {
      const { world, admin, token } = await withPreview();
      world.control.setDelayMs(15_001);
      world.control.useRouteFault('slow', 1, /users\/2$/);
      const asked = payRefusal(admin, { token });
      await until(() => world.clock.pending() === 3);
      await world.clock.advance(15_001);
      assert.is(codeOf(await asked), 'DEADLINE');
      assert.equal(changesAt(world), []);
      assert.is((await paid(admin, { token })).outcome, 'verified');
    },
  );

  check('read-only mode and a missing or malformed key stop it', async () => {
    const { world, token } = await withPreview();
    for (const [code, variables] of [
      ['READ_ONLY', { RELAY_READ_ONLY: 'true' }],
      ['NO_ADMIN_KEY', { RELAY_ADMIN_API_KEY: '' }],
      ['NO_ADMIN_KEY', { RELAY_ADMIN_API_KEY: 'admin-ABC' }],
    ] as const) {
      await refusedUnsent(world, code, payRefusal(world.start({ variables }), { token }));
    }
    const readOnly = world.start({ variables: { RELAY_READ_ONLY: 'true' } });
    assert.not.ok(readOnly.tools.some(({ name }) => name === 'recharge'));
    const preview = await resultOf(readOnly, 'preview_recharge', { user_id: ALICE, amount: '1' });
    assert.is(preview.preview_token, null);
  });
});

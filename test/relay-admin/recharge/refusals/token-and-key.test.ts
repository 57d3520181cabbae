import * as assert from 'uvu/assert';
import type { DemoUser } from '../../../../src/demo/relay/records/users.ts';
import { describe } from '../../../check.ts';
import { answerOf, createMemoryFile, keyNumber, previewed, refusalOf, type StartGiven } from '../../harness/world.ts';
import { paid, payRefusal } from '../steps.ts';
import { ALICE, CAROL, refusedUnsent, withPreview } from './world.ts';

const OTHER_KEY = `admin-${'5'.repeat(64)}`;

describe('a preview_token and an idempotency_key', (check) => {
  for (const fault of [undefined, 'drop-after', 'rate-limited'] as const) {
    check(`belong to each other from the first call on, also when it met ${fault ?? 'no fault'}`, async () => {
      const { world, admin, token } = await withPreview();
      const other = await previewed(admin, CAROL, '3');
      if (fault !== undefined) world.control.useFault(fault);
      await answerOf(admin, 'recharge', { preview_token: token, idempotency_key: keyNumber(1) });
      const lines = world.file.lines.length;
      for (const process of [admin, world.start()]) {
        const otherKey = payRefusal(process, { token, key: keyNumber(2) });
        const otherToken = payRefusal(process, { token: other });
        assert.match(await refusedUnsent(world, 'IDEMPOTENCY_CONFLICT', otherKey), 'preview_token was already used');
        assert.match(
          await refusedUnsent(world, 'IDEMPOTENCY_CONFLICT', otherToken),
          'idempotency_key was already used',
        );
      }
      assert.is(world.file.lines.length, lines);
      // Neither of the two that were left over is used up by that.
      assert.is((await paid(admin, { token: other, key: keyNumber(2) })).outcome, 'verified');
    });
  }

  check('that are on record count more than what is wrong with the token by now', async () => {
    const { world, admin, token } = await withPreview();
    const first = await paid(admin, { token });
    await world.clock.advance(400_000);
    world.control.user(ALICE).status = 'disabled';
    world.control.setKey(OTHER_KEY);
    const later = world.start({ variables: { RELAY_ADMIN_API_KEY: OTHER_KEY, RELAY_MAX_RECHARGE: '1' } });
    assert.equal(await paid(later, { token }), { ...first, replayed: true });
  });

  for (const [what, key] of [
    ['is missing', undefined],
    ['has 15 characters', 'k'.repeat(15)],
    ['has 129 characters', 'k'.repeat(129)],
    ['has a blank', `${'k'.repeat(16)} `],
    ['has a slash', `${'k'.repeat(16)}/`],
    ['has a line break', `${'k'.repeat(16)}\n`],
    ['has a letter beyond ASCII', `${'k'.repeat(16)}é`],
    ['is a number', 1234567890123456],
  ] as const) {
    check(`are refused when the key ${what}`, async () => {
      const { world, admin, token } = await withPreview();
      world.control.clearRequests();
      const lines = world.file.lines.length;
      const given = { preview_token: token, ...(key === undefined ? {} : { idempotency_key: key }) };
      const text = await refusedUnsent(world, 'INVALID_ARGUMENT', refusalOf(admin, 'recharge', given));
      assert.match(text, 'idempotency_key');
      assert.not.match(text, 'kkkk');
      assert.equal(world.control.requests(), []);
      assert.is(world.file.lines.length, lines);
    });
  }

  check('are all that a recharge takes: an amount, a user or a note beside them is refused', async () => {
    const { world, admin, token } = await withPreview();
    for (const more of [{ amount: '5' }, { user_id: 4 }, { notes: 'x' }, { operation: 'set' }]) {
      const given = { preview_token: token, idempotency_key: keyNumber(1), ...more };
      await refusedUnsent(world, 'INVALID_ARGUMENT', refusalOf(admin, 'recharge', given));
    }
  });
});

describe('a preview_token', (check) => {
  check('allows a recharge up to the last millisecond of its five minutes, and none after that', async () => {
    const { world, admin, token } = await withPreview();
    const late = await previewed(admin, CAROL, '1');
    await world.clock.advance(299_999);
    assert.is((await paid(admin, { token })).outcome, 'verified');
    await world.clock.advance(1);
    await refusedUnsent(world, 'CONFIRM_TOKEN_EXPIRED', payRefusal(admin, { token: late, key: keyNumber(2) }));
  });

  check('with one character changed anywhere is unknown', async () => {
    const { world, admin, token } = await withPreview();
    for (let index = 0; index < token.length; index++) {
      const changed = token[index] === '1' ? '2' : '1';
      const altered = token.slice(0, index) + changed + token.slice(index + 1);
      await refusedUnsent(world, 'CONFIRM_TOKEN_UNKNOWN', payRefusal(admin, { token: altered }));
    }
  });

  check('that was made up, cut or put together from two is unknown', async () => {
    const { world, admin, token } = await withPreview();
    const [one, two] = [token.split('.'), (await previewed(admin, ALICE, '9000')).split('.')];
    const mixed = [...two.slice(0, -1), one.at(-1)].join('.');
    for (const forged of ['', 'rp1', token.slice(1), `${token}A`, ` ${token}`, token.toUpperCase(), mixed]) {
      await refusedUnsent(world, 'CONFIRM_TOKEN_UNKNOWN', payRefusal(admin, { token: forged }));
    }
    await refusedUnsent(world, 'INVALID_ARGUMENT', payRefusal(admin, { token: 'A'.repeat(401) }));
  });

  const unknownNames: readonly (readonly [string, StartGiven])[] = [
    ['another journal', { journalFile: createMemoryFile().open() }],
    ['another relay', { variables: { RELAY_BASE_URL: 'http://relay.test:8081' } }],
    ['another admin key', { variables: { RELAY_ADMIN_API_KEY: OTHER_KEY } }],
  ];

  for (const [what, given] of unknownNames) {
    check(`is unknown to a server with ${what}`, async () => {
      const { world, token } = await withPreview();
      if (what === 'another admin key') world.control.setKey(OTHER_KEY);
      await refusedUnsent(world, 'CONFIRM_TOKEN_UNKNOWN', payRefusal(world.start(given), { token }));
    });
  }

  check('is good in another process with the same journal, relay and key', async () => {
    const { world, token } = await withPreview();
    assert.is((await paid(world.start(), { token })).outcome, 'verified');
  });

  check('over what a server allows by now is refused there', async () => {
    const { world, token } = await withPreview();
    const strict = world.start({ variables: { RELAY_MAX_RECHARGE: '9.99999999' } });
    const text = await refusedUnsent(world, 'AMOUNT_OVER_LIMIT', payRefusal(strict, { token }));
    assert.match(text, '10 is above the limit of 9.99999999');
    const exact = world.start({ variables: { RELAY_MAX_RECHARGE: '10' } });
    assert.is((await paid(exact, { token })).outcome, 'verified');
  });

  const changes: readonly (readonly [string, (user: DemoUser) => object])[] = [
    ['status', () => ({ status: 'disabled' })],
    ['role', () => ({ role: 'admin' })],
    ['e-mail', () => ({ email: 'eve@example.com' })],
    ['balance, by the smallest unit upwards,', ({ balance }) => ({ balance: balance + 1n })],
  ];

  for (const [what, change] of changes) {
    check(`is stale once the ${what} of the user has changed`, async () => {
      const { world, admin, token } = await withPreview();
      const user = world.control.user(ALICE);
      Object.assign(user, change(user));
      await refusedUnsent(world, 'PREVIEW_STALE', payRefusal(admin, { token }));
    });
  }

  check('stays good while usage takes the balance down', async () => {
    const { world, admin, token } = await withPreview();
    world.control.debit(ALICE, '12');
    const result = await paid(admin, { token });
    assert.is(result.outcome, 'verified');
    assert.is(result.balance_before, '0.5');
  });

  check('of a user who is gone by now leads nowhere', async () => {
    const { world, admin, token } = await withPreview();
    world.control.user(ALICE).deleted_at = '2026-01-01T00:00:00Z';
    await refusedUnsent(world, 'NOT_FOUND', payRefusal(admin, { token }));
  });
});

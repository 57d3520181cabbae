import * as assert from 'uvu/assert';
import type { DemoUser } from '../../../src/demo/relay/records/users.ts';
import { describe } from '../../check.ts';
import type { RouteFault } from '../../demo/relay/faults/names.ts';
import {
  answerOf,
  createMemoryFile,
  createWorld,
  keyNumber,
  previewed,
  refusalOf,
  resultOf,
  type StartGiven,
  type World,
} from '../harness/world.ts';
import { bentFile, changesAt, codeOf, inTime, paid, payRefusal, until, waitFor } from './steps.ts';

const ALICE = 2;
const CAROL = 4;
const OTHER_KEY = `admin-${'5'.repeat(64)}`;

/** A world in which Alice was previewed to get 10. */
const withPreview = async () => {
  const world = createWorld();
  const admin = world.start();
  return { world, admin, token: await previewed(admin, ALICE, '10') };
};
/** Expects the code, the words that nothing was credited, and that nothing was. */
const refusedUnsent = async (world: World, code: string, asked: Promise<string>): Promise<string> => {
  const before = changesAt(world).length;
  const text = await asked;
  assert.is(codeOf(text), code, text);
  assert.match(text, ' outcome=not_applied ');
  assert.is(changesAt(world).length, before, 'something was sent');
  return text;
};

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

describe('a refusal by the relay', (check) => {
  /** Refusals that the platform makes before it does anything. */
  const REFUSALS = ['rate-limited', 'unauthorized', 'terms', 'conflict'] as const;
  const AFTER_CREDIT = ['refused-without-history', 'refused-and-user-unreadable', 'refused-and-spent'] as const;
  const READS = [
    ['history', /balance-history/],
    ['user', /users\/2$/],
  ] as const;
  const readsBlocked = (world: World, target: RegExp) =>
    world.start({
      httpClient: (direct) => async (sent) => {
        const received = await direct(sent);
        if (sent.method === 'POST') world.control.useRouteFault('unauthorized', 4, target);
        return received;
      },
    });
  /** Expects that a second recharge of the amount is held until the doubt is named. */
  const heldUntilNamed = async (world: World, marker: string): Promise<void> => {
    world.control.clearFaults();
    await world.clock.advance(120_000);
    const process = world.start();
    const second = { token: await previewed(process, ALICE, '10'), key: keyNumber(2) };
    await refusedUnsent(world, 'DOUBT_NOT_ACKNOWLEDGED', payRefusal(process, second));
    assert.is((await paid(process, { ...second, doubt: marker })).outcome, 'verified');
  };

  for (const fault of REFUSALS) {
    check(`(${fault}) credited nothing only once the history and the user were read after it`, async () => {
      const { world, admin, token } = await withPreview();
      world.control.useFault(fault);
      world.control.clearRequests();
      for (const process of [admin, world.start()])
        assert.match(await payRefusal(process, { token }), / credited nothing.* outcome=not_applied/);
      const targets = world.control.requests().map(({ method, target }) => `${method} ${target.split('?')[0]}`);
      const after = targets.slice(targets.findIndex((target) => target.startsWith('POST')));
      for (const [, read] of READS) assert.ok(after.some((target) => read.test(target)));
    });

    for (const [what, target] of READS) {
      check(`(${fault}) stays a doubt that has to be named when the ${what} cannot be read after it`, async () => {
        const { world, token } = await withPreview();
        const admin = readsBlocked(world, target);
        world.control.useFault(fault);
        const first = await paid(admin, { token });
        assert.equal([first.outcome, first.reason], ['accepted_unverified', 'refusal_unconfirmed']);
        assert.match(
          String(first.advice),
          /^The relay refused with status 4\d\d, but may have credited before\. .* does not prove that nothing was credited\.$/,
        );
        world.control.clearFaults();
        // What can be read by now shows nothing of the moment: usage may have hidden a rise.
        for (const process of [world.start(), admin, world.start()])
          assert.is((await paid(process, { token })).reason, 'refusal_unconfirmed');
        assert.is(changesAt(world).length, 1);
        await heldUntilNamed(world, String(first.marker));
      });
    }
  }

  check('that may come from the handler stays a doubt, also when it shows no credit', async () => {
    for (const [status, body] of [
      [400, { code: 400, message: 'Invalid request: balance' }],
      [401, '<html>Authorization required</html>'],
      [403, '<html>Blocked</html>'],
      [404, { code: 404, message: 'user not found', reason: 'USER_NOT_FOUND' }],
      [413, { code: 'BODY_TOO_LARGE', message: 'too large' }],
    ] as const) {
      const { world, token } = await withPreview();
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const admin = world.start({
        httpClient: (direct) => (sent) =>
          sent.method === 'POST' ? Promise.resolve({ status, text, header: () => null }) : direct(sent),
      });
      const { reason, marker } = await paid(admin, { token });
      assert.is(reason, 'refusal_unconfirmed', String(status));
      await heldUntilNamed(world, String(marker));
    }
  });

  check('after the credit is reported with its row, and never as nothing credited', async () => {
    const { world, admin, token } = await withPreview();
    world.control.useFault('refused-after');
    for (const process of [admin, world.start(), admin]) {
      const result = await paid(process, { token });
      assert.equal([result.reason, result.history_rows], ['refusal_unconfirmed', 1]);
      assert.match(String(result.advice), 'The history holds a credit with this marker');
    }
    assert.is(changesAt(world).length, 1);
  });

  for (const fault of AFTER_CREDIT) {
    check(
      `after a credit without a row (${fault}) stays a doubt that has to be named, and is not credited twice`,
      async () => {
        const { world, admin, token } = await withPreview();
        world.control.useFault(fault);
        const { reason, marker } = await paid(admin, { token });
        assert.is(reason, 'refusal_unconfirmed');
        world.control.debit(ALICE, '15');
        for (const process of [admin, world.start()])
          assert.is((await paid(process, { token })).reason, 'refusal_unconfirmed');
        assert.is(world.control.credits().length, 1);
        await heldUntilNamed(world, String(marker));
      },
    );
  }

  check('that an earlier release took at its word is never settled by what can be read now', async () => {
    const { world, token } = await withPreview();
    const line = (more: object) =>
      JSON.stringify({ kind: 'settlement', state: 'not_applied', isAccepted: false, ...more });
    const earlier = world.start({
      journalFile: bentFile(world.file.open(), {
        // The earlier release, which wrote no proof.
        append: async (text) => {
          const { kind, at, by } = JSON.parse(text);
          if (kind !== 'settlement') return;
          world.file.lines.push(line({ at, by, status: 400 }));
          throw new Error('EIO');
        },
      }),
    });
    world.control.useFault('refused-and-spent');
    const { marker } = await paid(earlier, { token });
    assert.is(world.file.lines.filter((text) => text.includes('"not_applied"')).length, 1);
    for (const process of [world.start(), world.start()])
      assert.is((await paid(process, { token })).reason, 'refusal_unconfirmed');
    await heldUntilNamed(world, String(marker));
  });
});

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

  check('a balance that usage took so far down that the relay would refuse the credit stops it', async () => {
    const { world, admin, token } = await withPreview();
    world.control.debit(ALICE, '22.50000001');
    const text = await refusedUnsent(world, 'BALANCE_STAYS_NEGATIVE', payRefusal(admin, { token }));
    assert.match(text, 'at least 10.00000001');
    world.control.debit(ALICE, '-0.00000001');
    assert.is((await paid(admin, { token })).balance_after, '0');
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

  const UNREADABLE: readonly RouteFault[] = ['unavailable', 'html', 'wrong-shape', 'unauthorized', 'drop', 'not-found'];
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

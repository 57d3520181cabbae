import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { PREVIEW_LIFETIME_MS, type PreviewTokenNeeds } from '../../../../src/relay-admin/recharge/preview-token.ts';
import { describe, rejection, thorough } from '../../../check.ts';
import { AMOUNT, kindOf, person, SEAL, tokenWorld } from './world.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-';

describe('a preview token', (check) => {
  check('holds what was shown', async () => {
    const { tokens, clock } = tokenWorld();
    const { token, expiresAtMs } = await tokens.create(person(), AMOUNT);
    assert.is(expiresAtMs, clock.now() + PREVIEW_LIFETIME_MS);
    const { identityHash: who, statusHash: fingerprintFor, ...shown } = await tokens.verify(token);
    assert.equal(shown, { userId: 7, amount: AMOUNT, balance: 1_000_000_000n, expiresAtMs });
    assert.match(who, /^[0-9a-f]{12}$/);
    assert.match(fingerprintFor, /^[0-9a-f]{12}$/);
    assert.is.not(who, fingerprintFor);
  });

  check('travels in a URL, a shell and a chat: plain characters, 200 at most, and nothing personal', async () => {
    const users = [
      person(),
      person({ id: Number.MAX_SAFE_INTEGER, balance: -999_999_999_999_999_900_000, email: 'x'.repeat(5000) }),
      person({ balance: 999_999_999_999_999_900_000, email: 'bö"b\u0000@例え.jp', status: '\ud800' }),
      person({ balance: -1e-8, role: '' }),
    ];
    for (const user of users) {
      const { tokens } = tokenWorld();
      for (const amount of [1n, AMOUNT, 999_999_999_999_999n]) {
        const { token } = await tokens.create(user, amount);
        assert.match(token, /^[A-Za-z0-9._-]{1,200}$/);
        assert.not.match(token, /bob|example|admin/);
        const preview = await tokens.verify(token);
        assert.equal([preview.userId, preview.amount, preview.balance], [user.id, amount, user.balance]);
        assert.is(await tokens.findStaleness(preview, user), undefined);
      }
    }
  });

  check('is another each time, for the same user and amount too', async () => {
    const { tokens } = tokenWorld();
    const made = await Promise.all(Array.from({ length: 20 }, () => tokens.create(person(), AMOUNT)));
    assert.is(new Set(made.map(({ token }) => token)).size, 20);
  });

  check('is opened as often as one likes: that it is used once is for the journal to see to', async () => {
    const { tokens } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    assert.equal(await tokens.verify(token), await tokens.verify(token));
  });

  const UNKNOWN_NAMES: Readonly<Record<string, Partial<PreviewTokenNeeds>>> = {
    'another journal': { journal: { tokenSecret: async () => `${SEAL}x` } },
    'another relay': { address: { origin: 'https://relay.test:8443', host: 'relay.test' } },
    'the same relay without encryption': { address: { origin: 'http://relay.test', host: 'relay.test' } },
    'another admin key': { key: { kind: 'present', secret: `admin-${'b'.repeat(64)}` } },
  };
  for (const [what, needs] of Object.entries(UNKNOWN_NAMES)) {
    check(`of ${what} is unknown, both ways`, async () => {
      const [ours, theirs] = [tokenWorld().tokens, tokenWorld(needs).tokens];
      assert.is(await kindOf(theirs.verify((await ours.create(person(), AMOUNT)).token)), 'token-unknown');
      assert.is(await kindOf(ours.verify((await theirs.create(person(), AMOUNT)).token)), 'token-unknown');
    });
  }

  check('is opened by no one without an admin key, and one made without is unknown', async () => {
    for (const kind of ['missing', 'malformed'] as const) {
      const keyless = tokenWorld({ key: { kind } }).tokens;
      const { token } = await tokenWorld().tokens.create(person(), AMOUNT);
      assert.is(await kindOf(keyless.verify(token)), 'no-admin-key');
      assert.is(
        await kindOf(tokenWorld().tokens.verify((await keyless.create(person(), AMOUNT)).token)),
        'token-unknown',
      );
    }
  });

  check('of parts that read the same when they are joined is unknown', async () => {
    const world = (seal: string, origin: string) =>
      tokenWorld({
        journal: { tokenSecret: async () => seal },
        address: { origin, host: 'relay.test' },
      }).tokens;
    for (const joint of ['', ',', '","', ':', '.']) {
      const [one, other] = [world(`a${joint}b`, 'c'), world('a', `b${joint}c`)];
      assert.is(await kindOf(other.verify((await one.create(person(), AMOUNT)).token)), 'token-unknown', joint);
    }
  });

  check('passes on that the journal is unavailable', async () => {
    const problem = new RelayError({ kind: 'journal-unavailable', why: 'EIO' });
    const { token } = await tokenWorld().tokens.create(person(), AMOUNT);
    const { tokens } = tokenWorld({
      journal: {
        tokenSecret: async () => {
          throw problem;
        },
      },
    });
    assert.is(await rejection(tokens.create(person(), AMOUNT)), problem);
    assert.is(await rejection(tokens.verify(token)), problem);
  });

  check('that was altered in whatever way is unknown', async () => {
    const { tokens } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    const alteration = fc.oneof(
      fc.record({ at: fc.nat(token.length), remove: fc.nat(5), insert: fc.string({ maxLength: 5 }) }),
      fc.record({
        at: fc.nat(token.length),
        remove: fc.nat(2),
        insert: fc.string({ unit: fc.constantFrom(...ALPHABET), maxLength: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(alteration, async ({ at, remove, insert }) => {
        const altered = token.slice(0, at) + insert + token.slice(at + remove);
        if (altered !== token) assert.is(await kindOf(tokens.verify(altered)), 'token-unknown');
      }),
      { numRuns: thorough(166, 500) },
    );
  });

  check('is unknown and not expired when it is altered and too old', async () => {
    const { tokens, clock } = tokenWorld();
    const { token } = await tokens.create(person(), AMOUNT);
    await clock.advance(PREVIEW_LIFETIME_MS);
    assert.is(await kindOf(tokens.verify(token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))), 'token-unknown');
  });
});

describe('a preview', (check) => {
  /** How a user looks by the time of the recharge, and what is stale about the preview then. */
  const LATER: readonly (readonly [string, Readonly<Record<string, unknown>>, string | undefined])[] = [
    ['as before', {}, undefined],
    ['with a lower balance', { balance: 9.99999999 }, undefined],
    ['with a balance below zero', { balance: -5 }, undefined],
    ['with a higher balance', { balance: 10.00000001 }, 'balance'],
    ['disabled', { status: 'disabled' }, 'status'],
    ['with another role', { role: 'admin' }, 'status'],
    ['with status and role exchanged', { status: 'user', role: 'active' }, 'status'],
    ['with status and role that read the same when joined', { status: 'activeu', role: 'ser' }, 'status'],
    ['with another e-mail', { email: 'eve@example.com' }, 'identity'],
    ['with an e-mail in other letters', { email: 'Bob@example.com' }, 'identity'],
    ['with another name', { username: 'robert' }, undefined],
    ['with other limits', { rpm_limit: 1, concurrency: 1 }, undefined],
    ['all at once', { email: 'eve@example.com', status: 'disabled', balance: 99 }, 'identity'],
    ['disabled and with a higher balance', { status: 'disabled', balance: 99 }, 'status'],
  ];
  for (const [what, changes, expected] of LATER) {
    check(`of a user that is now ${what} is ${expected === undefined ? 'good' : `stale (${expected})`}`, async () => {
      const { tokens } = tokenWorld();
      const preview = await tokens.verify((await tokens.create(person(), AMOUNT)).token);
      assert.is(await tokens.findStaleness(preview, person(changes)), expected);
    });
  }

  check('of a user who was disabled already is good while that stays so', async () => {
    const { tokens } = tokenWorld();
    const disabled = person({ status: 'disabled' });
    const preview = await tokens.verify((await tokens.create(disabled, AMOUNT)).token);
    assert.is(await tokens.findStaleness(preview, disabled), undefined);
    assert.is(await tokens.findStaleness(preview, person()), 'status');
  });
});

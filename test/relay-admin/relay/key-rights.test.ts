import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createWorld, refusalOf, resultOf } from '../harness/world.ts';
import { inTime } from '../recharge/steps.ts';

/** As newer releases may draw them. */
const OPAQUE = 'sub2-adm_k7Qw.Zx~90/Vb+11==';

/** A relay whose key is this one, and what the tools log about it at their start. */
const worldWith = (key: string) => {
  const world = createWorld();
  world.control.setKey(key);
  const start = () => world.start({ variables: { RELAY_ADMIN_API_KEY: key } });
  const askedLine = async (): Promise<Readonly<Record<string, unknown>>> => {
    await inTime(world, start().askKeyRights());
    return JSON.parse(world.logged.findLast((line) => line.includes('"event":"admin-key"')) ?? '{}');
  };
  return { ...world, start, askedLine };
};

describe('what the relay says of the admin key at the start', (check) => {
  check('is that it is accepted, whatever its form', async () => {
    for (const key of [OPAQUE, `admin-${'0f'.repeat(32)}`]) {
      const world = worldWith(key);
      const { level, state, reason } = await world.askedLine();
      assert.equal([level, state, reason], ['info', 'accepted', undefined]);
      assert.equal(
        world.control.requests().map(({ method, target }) => `${method} ${target.split('?')[0]}`),
        ['users', 'accounts', 'groups'].map((list) => `GET /api/v1/admin/${list}`),
      );
      assert.not.match(world.logged.join('\n'), key);
    }
  });
  check('is which lists it may not read', async () => {
    const world = worldWith(OPAQUE);
    world.control.forbid(/ (?:accounts|groups)/);
    const { level, state, reason } = await world.askedLine();
    assert.equal([level, state, reason], ['info', 'limited', 'no accounts, groups']);
  });
  check('is that there is no such key', async () => {
    const world = worldWith(OPAQUE);
    world.control.setKey('another-key-of-the-relay');
    const { level, state, reason } = await world.askedLine();
    assert.equal([level, state, reason], ['warn', 'refused', 'upstream-auth']);
  });
  check('is nothing where the relay cannot be asked, and no second request', async () => {
    for (const [fault, expected] of [
      ['drop', 'upstream-unavailable'],
      ['html', 'upstream-contract'],
      ['stuck', 'deadline'],
    ] as const) {
      const world = worldWith(OPAQUE);
      world.control.useRouteFault(fault, Infinity);
      const { level, state, reason } = await world.askedLine();
      assert.equal([level, state, reason], ['info', 'unasked', expected]);
      assert.is(world.control.requests().length, 3);
    }
  });
  check('is not asked without a key', async () => {
    const world = createWorld();
    await world.start({ variables: { RELAY_ADMIN_API_KEY: '' } }).askKeyRights();
    assert.equal([world.control.requests(), world.logged], [[], []]);
  });
});

describe('an admin key with fewer rights', (check) => {
  check('does what it may, and is told apart from one that the relay does not know', async () => {
    const world = worldWith(OPAQUE);
    world.control.forbid(/ accounts|^PUT users|^POST users/);
    const admin = world.start();
    assert.is((await resultOf(admin, 'read', { path: 'users/2' })).truncated, false);
    assert.match(await refusalOf(admin, 'read', { path: 'accounts' }), /^UPSTREAM_FORBIDDEN: .*\(403\).* retry=no\./);
    const limits = await refusalOf(admin, 'update_user_limits', { user_id: 2, rpm_limit: 30 });
    assert.match(limits, /^UPSTREAM_FORBIDDEN: .*outcome=not_applied/);
    const { preview_token } = await resultOf(admin, 'preview_recharge', { user_id: 2, amount: '1' });
    const recharge = { preview_token, idempotency_key: 'key-0000000000000001' };
    const refused = await refusalOf(admin, 'recharge', recharge);
    assert.match(
      refused,
      /^RECHARGE_REFUSED: .*status 403.*ask the operator to give the admin key the right to recharge/,
    );
    assert.equal(world.control.credits(), []);
    world.control.setKey('another-key-of-the-relay');
    assert.match(await refusalOf(admin, 'read', { path: 'users/2' }), /^UPSTREAM_AUTH: .*\(401\)/);
  });
  check('is shown nowhere, though its form is unknown, when the relay repeats it', async () => {
    const plain = 'just four plain words'.replaceAll(' ', '-');
    const world = worldWith(plain);
    world.control.user(2).username = `my ${plain} here`;
    const shown = JSON.stringify(await resultOf(world.start(), 'read', { path: 'users/2' }));
    assert.match(shown, 'my [redacted] here');
    assert.not.match(shown, plain);
  });
});

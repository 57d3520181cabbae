import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { keyNumber, previewed, type World } from '../../harness/world.ts';
import { changesAt, paid, payRefusal } from '../steps.ts';
import { ALICE, refusedUnsent, withPreview } from './world.ts';

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
});

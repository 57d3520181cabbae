import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createWorld, keyNumber, previewed } from '../../harness/world.ts';
import { bentFile, changesAt, codeOf, comeTo, paid, pay, payRefusal, until } from '../steps.ts';
import { createHold, holding } from './world.ts';

const ALICE = 2;

describe('a recharge that is cancelled', (check) => {
  const cancellable = async (given: Parameters<ReturnType<typeof createWorld>['start']>[0]) => {
    const world = createWorld();
    const token = await previewed(world.start(), ALICE, '10');
    const admin = world.start(given);
    const caller = new AbortController();
    return { world, token, admin, caller, asked: pay(admin, { token, signal: caller.signal }) };
  };

  check('before it was sent sends nothing, and its pair stays good', async () => {
    const hold = createHold();
    const { world, token, admin, caller, asked } = await cancellable({ httpClient: holding(hold, 'GET') });
    await until(hold.isReached);
    caller.abort();
    hold.letGo();
    const answer = await asked;
    assert.is(comeTo(answer), 'CANCELLED');
    assert.match(JSON.stringify(answer), 'before anything was sent. outcome=not_applied retry=same_call');
    assert.equal(changesAt(world), []);
    assert.is((await paid(admin, { token })).outcome, 'verified');
  });

  check('before it was even begun sends nothing', async () => {
    const world = createWorld();
    const admin = world.start();
    const token = await previewed(admin, ALICE, '10');
    assert.is(codeOf(await payRefusal(admin, { token, signal: AbortSignal.abort() })), 'CANCELLED');
    assert.equal(changesAt(world), []);
  });

  check('while it waits for its user sends nothing, and lets the next one through', async () => {
    const world = createWorld();
    const admin = world.start();
    const tokens = await Promise.all(['10', '3', '2'].map((amount) => previewed(admin, ALICE, amount)));
    world.control.useFault('slow');
    const caller = new AbortController();
    const first = pay(admin, { token: tokens[0]!, key: keyNumber(0) });
    await until(() => changesAt(world).length === 1);
    const second = pay(admin, { token: tokens[1]!, key: keyNumber(1), signal: caller.signal });
    const third = pay(admin, { token: tokens[2]!, key: keyNumber(2) });
    world.control.debit(ALICE, '20');
    caller.abort();
    assert.is(comeTo(await second), 'CANCELLED');
    await world.clock.advance(1000);
    assert.equal([comeTo(await first), comeTo(await third)], ['verified', 'verified']);
  });

  check('while it is being noted is not sent, and its token is used up', async () => {
    const hold = createHold();
    const world = createWorld();
    const token = await previewed(world.start(), ALICE, '10');
    const append = (line: string) => (line.includes('"claim"') ? hold.wait() : Promise.resolve());
    const admin = world.start({ journalFile: bentFile(world.file.open(), { append }) });
    const caller = new AbortController();
    const asked = payRefusal(admin, { token, signal: caller.signal });
    await until(hold.isReached);
    caller.abort();
    hold.letGo();
    assert.is(codeOf(await asked), 'RECHARGE_NOT_SENT');
    for (const process of [admin, world.start()])
      assert.is(codeOf(await payRefusal(process, { token })), 'RECHARGE_NOT_SENT');
    assert.equal(changesAt(world), []);
  });

  for (const when of ['before', 'after'] as const) {
    check(`once it is on its way is followed to its end and noted (held ${when} the relay has it)`, async () => {
      const hold = createHold();
      const { world, token, admin, caller, asked } = await cancellable({ httpClient: holding(hold, 'POST', when) });
      await until(hold.isReached);
      caller.abort();
      hold.letGo();
      await admin.whenIdle();
      assert.is(comeTo(await asked), 'verified');
      assert.match(world.file.lines.at(-1) ?? '', '"state":"verified"');
      for (const process of [world.start(), admin]) {
        const again = await paid(process, { token });
        assert.equal([again.outcome, again.replayed], ['verified', true]);
      }
      assert.is(changesAt(world).length, 1);
    });
  }
});

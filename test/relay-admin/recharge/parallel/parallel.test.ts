import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createWorld, keyNumber, previewed } from '../../harness/world.ts';
import { changesAt, comeTo, inTime, paid, pay, until } from '../steps.ts';
import { createHold, holding } from './world.ts';

const ALICE = 2;
const CAROL = 4;

describe('recharges at the same time', (check) => {
  check('of one pair are one POST, and all get the same answer', async () => {
    const world = createWorld();
    const admin = world.start();
    const token = await previewed(admin, ALICE, '10');
    world.control.useFault('slow');
    const asked = Promise.all(Array.from({ length: 10 }, () => paid(admin, { token })));
    const answers = await inTime(world, asked, 10);
    assert.is(changesAt(world).length, 1);
    assert.equal(
      world.control.credits().map(({ amount }) => amount),
      ['10'],
    );
    assert.is(answers.filter(({ replayed }) => replayed === false).length, 1);
    for (const answer of answers) assert.equal({ ...answer, replayed: true }, { ...answers[0], replayed: true });
  });

  check(
    'of two previews of one user in two processes are one credit: the other was previewed on another balance',
    async () => {
      const world = createWorld();
      const [first, second] = [world.start(), world.start()];
      const tokens = [await previewed(first, CAROL, '1'), await previewed(second, CAROL, '1')];
      const answers = await Promise.all([
        pay(first, { token: tokens[0]!, key: keyNumber(1) }),
        pay(second, { token: tokens[1]!, key: keyNumber(2) }),
      ]);
      assert.equal(answers.map(({ kind }) => kind).sort(), ['done', 'failed']);
      assert.is(world.control.credits().length, 1);
      assert.is(changesAt(world).length, 1);
    },
  );

  check('of one pair in several processes are one POST, and none is informed that nothing was credited', async () => {
    const world = createWorld();
    const processes = [world.start(), world.start(), world.start(), world.start()];
    const token = await previewed(processes[0]!, ALICE, '10');
    const answers = await Promise.all(processes.flatMap((one) => [pay(one, { token }), pay(one, { token })]));
    assert.is(changesAt(world).length, 1);
    for (const answer of answers) assert.is(answer.kind, 'done', JSON.stringify(answer));
    assert.ok(answers.some((answer) => comeTo(answer) === 'verified'));
    for (const one of processes) assert.is((await paid(one, { token })).outcome, 'verified');
  });

  for (const [what, more] of [
    ['the balance that has risen', {}],
    ['the marker in the history', { debit: '10' }],
  ] as const) {
    check(`of one pair in two processes: the slower takes ${what} for what it is, the credit of its pair`, async () => {
      const world = createWorld();
      const hold = createHold();
      const slower = world.start({ httpClient: holding(hold, 'GET') });
      const quicker = world.start();
      const token = await previewed(quicker, ALICE, '10');
      const asked = pay(slower, { token });
      await until(hold.isReached);
      assert.is((await paid(quicker, { token })).outcome, 'verified');
      if ('debit' in more) world.control.debit(ALICE, more.debit);
      hold.letGo();
      assert.is(comeTo(await asked), 'verified');
      assert.is(changesAt(world).length, 1);
    });
  }

  check('of one token with two keys credit once, whichever comes first', async () => {
    const world = createWorld();
    const processes = [world.start(), world.start()];
    const token = await previewed(processes[0]!, ALICE, '10');
    const asked = processes.flatMap((one) => [1, 2].map((key) => pay(one, { token, key: keyNumber(key) })));
    await Promise.all(asked);
    assert.is(changesAt(world).length, 1);
    assert.is(world.control.credits().length, 1);
  });

  check('of two tokens with one key credit once, whichever comes first', async () => {
    const world = createWorld();
    const processes = [world.start(), world.start()];
    const tokens = [await previewed(processes[0]!, ALICE, '10'), await previewed(processes[0]!, CAROL, '3')];
    const asked = processes.flatMap((one) => tokens.map((token) => pay(one, { token })));
    await Promise.all(asked);
    assert.is(changesAt(world).length, 1);
    assert.is(world.control.credits().length, 1);
  });

  check(
    'with two keys: a call that stands behind another key here is informed what another process made of it',
    async () => {
      const world = createWorld();
      const hold = createHold();
      const slower = world.start({ httpClient: holding(hold, 'GET') });
      const quicker = world.start();
      const token = await previewed(quicker, ALICE, '10');
      const behind = pay(slower, { token, key: keyNumber(2) });
      await until(hold.isReached);
      await paid(quicker, { token, key: keyNumber(1) });
      const asked = paid(slower, { token, key: keyNumber(1) });
      hold.letGo();
      assert.is((await asked).outcome, 'verified');
      assert.is(comeTo(await behind), 'IDEMPOTENCY_CONFLICT');
    },
  );

  check(
    'of one pair: anyone who comes once it is verified is informed, and does not wait for a call that is not',
    async () => {
      const world = createWorld();
      const [admission, look, sending] = [createHold(), createHold(), createHold()];
      let reads = 0;
      const slower = world.start({
        httpClient: (direct) => async (sent) => {
          reads += 1;
          await (reads > 2 ? look : admission).wait();
          return direct(sent);
        },
      });
      const quicker = world.start({ httpClient: holding(sending, 'POST') });
      const token = await previewed(world.start(), ALICE, '10');
      const early = pay(slower, { token });
      await until(admission.isReached);
      const asked = pay(quicker, { token });
      await until(sending.isReached);
      admission.letGo();
      await until(look.isReached);
      sending.letGo();
      assert.is(comeTo(await asked), 'verified');
      assert.is((await paid(slower, { token })).outcome, 'verified');
      look.letGo();
      assert.is(comeTo(await early), 'answer_not_recorded');
      assert.is((await paid(slower, { token })).outcome, 'verified');
      assert.is(changesAt(world).length, 1);
    },
  );

  check('of two users do not wait for each other', async () => {
    const world = createWorld();
    const admin = world.start();
    const tokens = [await previewed(admin, ALICE, '10'), await previewed(admin, CAROL, '3')];
    world.control.useFault('slow', 2);
    const asked = Promise.all(tokens.map((token, index) => paid(admin, { token, key: keyNumber(index) })));
    await until(() => changesAt(world).length === 2);
    assert.equal(
      changesAt(world).map(({ at }) => at - world.clock.now()),
      [0, 0],
    );
    await world.clock.advance(1000);
    for (const { outcome } of await asked) assert.is(outcome, 'verified');
  });

  check('of one user go one after the other', async () => {
    const world = createWorld();
    const admin = world.start();
    const tokens = [await previewed(admin, ALICE, '10'), await previewed(admin, ALICE, '3')];
    const startedAt = world.clock.now();
    world.control.useFault('slow', 2);
    const first = paid(admin, { token: tokens[0]!, key: keyNumber(0) });
    await until(() => changesAt(world).length === 1);
    const second = paid(admin, { token: tokens[1]!, key: keyNumber(1) });
    // Spent at once, so that the second preview is not stale.
    world.control.debit(ALICE, '20');
    await world.clock.advance(1000);
    assert.is((await first).outcome, 'verified');
    await until(() => changesAt(world).length === 2);
    await world.clock.advance(1000);
    assert.is((await second).outcome, 'verified');
    assert.equal(
      changesAt(world).map(({ at }) => at - startedAt),
      [0, 1000],
    );
  });

  check('of one user: the second of two previews is stale once the first has credited', async () => {
    const world = createWorld();
    const admin = world.start();
    const tokens = [await previewed(admin, ALICE, '10'), await previewed(admin, ALICE, '10')];
    const asked = tokens.map((token, index) => pay(admin, { token, key: keyNumber(index) }));
    assert.equal((await Promise.all(asked)).map(comeTo).sort(), ['PREVIEW_STALE', 'verified']);
    assert.is(changesAt(world).length, 1);
  });
});

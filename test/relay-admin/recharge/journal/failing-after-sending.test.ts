import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createWorld, previewed } from '../../harness/world.ts';
import { createHold, holding } from '../parallel/world.ts';
import { bentFile, changesAt, comeTo, paid, pay, until } from '../steps.ts';

const ALICE = 2;

describe('a journal that fails once the recharge was sent', (check) => {
  for (const [fault, comesTo] of [
    [undefined, 'verified'],
    ['rate-limited', 'RECHARGE_REFUSED'],
    ['drop-after', 'no_answer'],
  ] as const) {
    check(`hides nothing of a recharge that came to ${comesTo}, also when it is asked for again`, async () => {
      const world = createWorld();
      const token = await previewed(world.start(), ALICE, '10');
      const append = async (line: string) => {
        if (line.includes('"settlement"')) throw new Error('ENOSPC');
      };
      let isReadable = true;
      const read = async () => {
        if (!isReadable) throw new Error('EIO');
      };
      const admin = world.start({ journalFile: bentFile(world.file.open(), { append, read }) });
      if (fault !== undefined) world.control.useFault(fault);
      assert.is(comeTo(await pay(admin, { token })), comesTo);
      assert.match(world.logged.join('\n'), 'journal-not-written');
      assert.is(comeTo(await pay(admin, { token })), comesTo);
      isReadable = false;
      assert.is(comeTo(await pay(admin, { token })), comesTo);
      // Another process has only the claim to go by: it does not know, says so, and sends nothing.
      const elsewhere = await paid(world.start(), { token });
      assert.is(elsewhere.reason, 'answer_not_recorded');
      assert.is(changesAt(world).length, 1);
    });
  }

  check('reports no refusal of a recharge before the disk holds it', async () => {
    const [answering, reading, writing] = [createHold(), createHold(), createHold()];
    let isHeld = false;
    const world = createWorld();
    const token = await previewed(world.start(), ALICE, '10');
    const journalFile = bentFile(world.file.open(), {
      append: (line) => (line.includes('"settlement"') ? writing.wait() : Promise.resolve()),
      read: () => (isHeld ? reading.wait() : Promise.resolve()),
    });
    const admin = world.start({ journalFile, httpClient: holding(answering, 'POST', 'after') });
    world.control.useFault('rate-limited');
    const asked = [pay(admin, { token })];
    await until(answering.isReached);
    isHeld = true;
    asked.push(pay(admin, { token }));
    await until(reading.isReached);
    isHeld = false;
    answering.letGo();
    await until(() => world.logged.some((line) => line.includes('not_applied')));
    let answers = 0;
    for (const answer of asked) void answer.finally(() => void answers++);
    reading.letGo();
    await until(writing.isReached);
    await world.clock.advance(1000);
    assert.is(answers, 0);
    writing.letGo();
    assert.equal((await Promise.all(asked)).map(comeTo), ['RECHARGE_REFUSED', 'RECHARGE_REFUSED']);
  });
});

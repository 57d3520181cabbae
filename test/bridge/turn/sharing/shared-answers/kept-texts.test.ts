import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { AGAIN, withAnswers } from './world.ts';

describe('the texts of answers that have ended', (check) => {
  const MEGA = 1024 * 1024;

  check('are kept up to sixteen million characters of all clients together, and the oldest go first', async () => {
    const { begun, numberOf } = withAnswers();
    for (const [owner, key] of [
      ['one', 'a'],
      ['two', 'b'],
      ['one', 'c'],
    ] as const) {
      const reader = await begun({ owner, key });
      reader.answer.end('answered', 6 * MEGA);
      reader.finish();
    }
    assert.is(await numberOf({ owner: 'two', key: 'b' }), 2);
    assert.is(await numberOf({ owner: 'one', key: 'c' }), 3);
    assert.is(await numberOf({ owner: 'one', key: 'a' }), 4);
  });

  check(
    'go in the order in which they ended, whoever they belong to, and those that no one has read go last',
    async () => {
      const { begun, claim, known, clock } = withAnswers();
      const end = async (owner: string, digest: string, { mega, isRead }: { mega: number; isRead: boolean }) => {
        const reader = await begun({ owner, digest });
        if (!isRead) reader.leave();
        reader.answer.end('answered', mega * MEGA);
        if (isRead) reader.finish();
        await clock.advance(1);
      };
      await end('one', 'first', { mega: 0, isRead: true });
      await end('two', 'unread', { mega: 5, isRead: false });
      await end('two', 'old', { mega: 5, isRead: true });
      await end('one', 'new', { mega: 5, isRead: true });
      await end('two', 'newest', { mega: 5, isRead: true });
      const numberOf = async (owner: string, digest: string) =>
        (await claim({ ...AGAIN, owner, digest })).answer.number;
      assert.equal([await numberOf('two', 'unread'), await numberOf('one', 'new')], [2, 4]);
      assert.equal([await numberOf('two', 'newest'), known], [5, []]);
      assert.equal([await numberOf('two', 'old'), known], [6, [6]]);
    },
  );

  check('leave behind that their requests were answered, also when the answer is not found elsewhere', async () => {
    const { begun, claim, known, clock } = withAnswers();
    const lost = await begun({ digest: 'lost' });
    lost.leave();
    lost.answer.end('answered', 9 * MEGA);
    await clock.advance(1);
    (await begun({ owner: 'you' })).answer.end('answered', 9 * MEGA);
    for (const number of [3, 4, 5]) {
      const again = await claim({ ...AGAIN, digest: 'lost' });
      assert.is(again.answer.number, number);
      again.answer.end('void');
      again.leave();
    }
    assert.equal(known, [3, 4, 5]);
    await clock.advance(600_000);
    assert.equal([(await claim({ ...AGAIN, digest: 'lost' })).answer.number, known.length], [6, 3]);
  });

  check('stay where a request for one that is gone is refused before it starts', async () => {
    const { begun, known, numberOf, claimOr } = withAnswers();
    const lost = await begun({ key: 'lost' });
    lost.answer.end('answered', 9 * MEGA);
    lost.finish();
    (await begun({ owner: 'you' })).answer.end('answered', 9 * MEGA);
    assert.match(String(await rejection(claimOr({ key: 'lost' }, new Error('overloaded')))), 'overloaded');
    assert.equal([await numberOf({ key: 'lost' }), known], [3, [3]]);
  });

  check('that a client still reads are kept, whatever their size', async () => {
    const { begun, numberOf } = withAnswers();
    const reading = await begun({ key: 'a' });
    reading.answer.end('answered', 20 * MEGA);
    const other = await begun({ key: 'b' });
    other.answer.end('answered', MEGA);
    other.finish();
    assert.is(await numberOf({ key: 'a' }), 1);
  });

  check('give their room back when they expire', async () => {
    const { begun, read, numberOf, clock } = withAnswers();
    const large = await begun({ key: 'a' });
    large.answer.end('answered', 15 * MEGA);
    large.finish();
    await clock.advance(600_000);
    await read({ key: 'b' });
    const next = await begun({ key: 'c' });
    next.answer.end('answered', 15 * MEGA);
    next.finish();
    assert.is(await numberOf({ key: 'b' }), 2);
  });
});

describe('answers that are kept for retries', (check) => {
  check('are the last 256 that have ended of an owner, and all that run', async () => {
    const { begun, read, numberOf } = withAnswers();
    await begun({ key: 'slow', digest: 'slow' });
    for (let count = 0; count < 1000; count++) await read({ digest: `ended ${count}` });
    for (let count = 0; count < 1000; count++) await begun({ owner: 'you', digest: `${count}` });
    assert.is(await numberOf({ key: 'slow', digest: 'slow' }), 1);
    assert.is(await numberOf({ ...AGAIN, digest: 'ended 999' }), 1001);
    assert.is(await numberOf({ ...AGAIN, owner: 'you', digest: '0' }), 1002);
    assert.is(await numberOf({ ...AGAIN, digest: 'ended 10' }), 2002);
  });

  check('and that some client may come back for are remembered by their requests alone beyond that', async () => {
    const { begun, known, numberOf } = withAnswers();
    for (let count = 0; count < 5000; count++) {
      const reader = await begun({ digest: `${count}` });
      reader.leave();
      reader.answer.end('answered');
    }
    assert.equal([await numberOf({ ...AGAIN, digest: '4900' }), known], [4901, []]);
    assert.equal([await numberOf({ ...AGAIN, digest: '4000' }), known], [5001, [5001]]);
    assert.equal([await numberOf({ ...AGAIN, digest: '10' }), known], [5002, [5001]]);
  });

  check('are not held in memory when their time is over', async () => {
    const { read, clock, begun } = withAnswers();
    await read({ key: 'k' });
    const readAgain = async () => {
      const reader = await begun({ key: 'k' });
      reader.finish();
      return new WeakRef(reader.answer);
    };
    const held = await readAgain();
    await clock.advance(600_000);
    await read({ key: 'other' });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.is(held.deref(), undefined);
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { AGAIN, withAnswers } from './world.ts';

describe('a request without a key that is marked as a retry', (check) => {
  check('gets what an equal one of its owner has started', async () => {
    const { begun, numberOf } = withAnswers();
    await begun();
    assert.is(await numberOf(AGAIN), 1);
    assert.is(await numberOf({ ...AGAIN, digest: 'other' }), 2);
    assert.is(await numberOf({ ...AGAIN, owner: 'you' }), 3);
  });

  check('prefers the one whose reader has left: a client leaves before it tries again', async () => {
    const { begun, numberOf } = withAnswers();
    const [first, second, third] = [await begun(), await begun(), await begun()];
    second.leave();
    assert.is(await numberOf(AGAIN), 2);
    first.leave();
    third.leave();
    // Each of two gets one of its own.
    assert.equal([await numberOf(AGAIN), await numberOf(AGAIN)], [1, 3]);
  });

  check('takes the one that was left first, as long as that one waits', async () => {
    const { begun, numberOf, clock } = withAnswers();
    const [first, second, third] = [await begun(), await begun(), await begun()];
    third.leave();
    await clock.advance(6000);
    first.leave();
    assert.is(await numberOf(AGAIN), 3);
    await clock.advance(6000);
    second.leave();
    await clock.advance(5000);
    assert.is(await numberOf(AGAIN), 2);
  });

  check('gets a read answer for ten seconds, and one that no one has read for ten minutes', async () => {
    const after = async (waitedMs: number, digest: 'read' | 'left'): Promise<number> => {
      const { read, begun, numberOf, clock } = withAnswers();
      await read({ digest: 'read' });
      const left = await begun({ digest: 'left' });
      left.leave();
      left.answer.end('answered');
      await clock.advance(waitedMs);
      return numberOf({ ...AGAIN, digest });
    };
    assert.equal([await after(9999, 'read'), await after(10_000, 'read')], [1, 3]);
    assert.equal([await after(599_999, 'left'), await after(600_000, 'left')], [2, 3]);
  });
});

describe('a request without a key that is not marked as a retry', (check) => {
  check('gets no answer that another one reads or has read', async () => {
    const { begun, read, numberOf } = withAnswers();
    await begun();
    assert.is(await numberOf(), 2);
    await read({ digest: 'other' });
    assert.is(await numberOf({ digest: 'other' }), 4);
  });

  check('gets no answer that another one has had all of, though a third one has left it since', async () => {
    const { begun, claim, numberOf } = withAnswers();
    const first = await begun();
    first.leave();
    const second = await claim();
    second.answer.end('answered');
    second.finish();
    const retry = await claim(AGAIN);
    assert.is(retry.answer.number, 1);
    retry.leave();
    assert.is(await numberOf(), 2);
  });

  check('gets the answer that an equal one has left, alone, and for the time that the answer waits', async () => {
    const { begun, numberOf, claim, clock } = withAnswers();
    const first = await begun();
    first.leave();
    first.answer.end('answered');
    await clock.advance(9999);
    const again = await claim();
    assert.is(again.answer.number, 1);
    assert.is(await numberOf(), 2);
    again.leave();
    await clock.advance(10_000);
    assert.is(await numberOf(), 3);
  });

  check(
    'joins an answer that goes on by itself for ten seconds, and none where turns are aborted at once',
    async () => {
      const detached = withAnswers({ kind: 'detach' });
      (await detached.begun()).leave();
      await detached.clock.advance(9999);
      (await detached.claim()).leave();
      await detached.clock.advance(10_000);
      assert.is(await detached.numberOf(), 2);
      const aborting = withAnswers({ kind: 'abort' });
      const first = await aborting.begun();
      first.leave();
      first.answer.end('answered');
      assert.is(await aborting.numberOf(), 2);
    },
  );

  check(
    'gets the answer that it has left while it was sent the last of it, though others came since that ended',
    async () => {
      const { begun, numberOf, clock } = withAnswers();
      const first = await begun();
      first.answer.end('answered');
      await clock.advance(10_000);
      await begun({ digest: 'other' });
      first.leave();
      assert.is(await numberOf(), 1);
    },
  );

  check('gets a failure of seconds ago, for half a minute at most', async () => {
    const { begun, claim, numberOf, clock } = withAnswers();
    const first = await begun();
    first.answer.end('failed');
    first.finish();
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      await clock.advance(4999);
      const again = await claim();
      assert.is(again.answer.number, 1);
      again.finish();
    }
    await clock.advance(10);
    assert.is(await numberOf(), 2);
  });

  check('is new five seconds after a failure', async () => {
    const { begun, numberOf, clock } = withAnswers();
    const first = await begun();
    first.answer.end('failed');
    first.finish();
    await clock.advance(5000);
    assert.is(await numberOf(), 2);
  });
});

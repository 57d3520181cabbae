import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { AGAIN, GRACE, withAnswers } from './world.ts';

describe('an answer that its last reader leaves', (check) => {
  check('is aborted at once where the policy says so, and only when the last one has left', async () => {
    const { begun, claim } = withAnswers({ kind: 'abort' });
    const one = await begun({ key: 'k' });
    const other = await claim({ key: 'k' });
    one.leave();
    one.leave();
    assert.not.ok(one.answer.signal.aborted);
    other.leave();
    assert.ok(one.answer.signal.aborted);
  });

  check('is aborted at once while its prompt is not sent, whatever the policy', async () => {
    for (const policy of [GRACE, { kind: 'detach' }, { kind: 'abort' }] as const) {
      const reader = await withAnswers(policy).claim();
      reader.leave();
      assert.ok(reader.answer.signal.aborted, policy.kind);
    }
  });

  check('goes on by itself where the policy says so', async () => {
    const { begun, clock } = withAnswers({ kind: 'detach' });
    const reader = await begun();
    reader.leave();
    await clock.advance(1_000_000);
    assert.equal([reader.answer.signal.aborted, clock.pending()], [false, 0]);
  });

  check('waits for a client to come back, each time anew', async () => {
    const { begun, claim, clock } = withAnswers();
    const first = await begun();
    first.leave();
    await clock.advance(9999);
    const again = await claim(AGAIN);
    await clock.advance(60_000);
    assert.equal([again.answer.number, again.answer.signal.aborted, clock.pending()], [1, false, 0]);
    again.leave();
    await clock.advance(9999);
    assert.not.ok(again.answer.signal.aborted);
    await clock.advance(1);
    assert.equal([again.answer.signal.aborted, clock.pending()], [true, 0]);
  });

  check('is not aborted when it ends meanwhile', async () => {
    const { begun, clock } = withAnswers();
    const reader = await begun();
    reader.leave();
    reader.answer.end('answered');
    assert.is(clock.pending(), 0);
    await clock.advance(10_000);
    assert.not.ok(reader.answer.signal.aborted);
  });

  check('is ended by a client that has gone on, and no one else is', async () => {
    const { begun, endAbandoned } = withAnswers();
    const [left, read] = [await begun({ digest: 'a' }), await begun({ digest: 'b' })];
    left.leave();
    const others = endAbandoned('me', ({ number }) => number > 1);
    await others;
    const ended = endAbandoned('me', () => true).then(() => 'ended');
    assert.equal([left.answer.signal.aborted, read.answer.signal.aborted], [true, false]);
    assert.is(await Promise.race([ended, Promise.resolve('waits')]), 'waits');
    left.answer.end('void');
    assert.is(await ended, 'ended');
  });
});

describe('what other bridges are told of the clients of an answer that has ended', (check) => {
  /** An answer that other bridges know of, and what they were told. */
  const known = async (result: 'answered' | 'failed' | 'void') => {
    const reader = await withAnswers().begun();
    const told: string[] = [];
    const tell = (what: string) => async (): Promise<boolean> => {
      told.push(what);
      return true;
    };
    const elsewhere = () => ({ isRead: false, leftAtMs: undefined });
    const join = tell('join');
    reader.answer.begin({
      ...{ leave: tell('leave'), tryJoin: tell('tryJoin'), isAbandoned: tell('isAbandoned'), elsewhere },
      ...{ join: () => void join(), finish: () => void told.push('finish') },
    });
    reader.answer.end(result);
    return { reader, told };
  };

  check('is that one has left before it had everything, unless nothing has happened', async () => {
    for (const [result, expected] of [
      ['answered', ['leave']],
      ['failed', ['leave']],
      ['void', []],
    ] as const) {
      const { reader, told } = await known(result);
      reader.leave();
      assert.equal(told, expected, result);
    }
  });

  check('is that one has everything, unless it is a failure or nothing', async () => {
    for (const [result, expected] of [
      ['answered', ['finish']],
      ['failed', []],
      ['void', []],
    ] as const) {
      const { reader, told } = await known(result);
      reader.finish();
      assert.equal(told, expected, result);
    }
  });
});

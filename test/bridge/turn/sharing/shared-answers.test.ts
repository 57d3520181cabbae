import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import {
  type AnswerHandle,
  createSharedAnswers,
  type DisconnectPolicy,
  type SharedAnswerReader,
} from '../../../../src/bridge/turn/sharing/shared-answers.ts';
import { describe, rejection } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';

const GRACE: DisconnectPolicy = { kind: 'grace', ms: 10_000 };

type Run = AnswerHandle & { readonly number: number };
type Asked = {
  readonly owner?: string;
  readonly key?: string;
  readonly digest?: string;
  readonly isRetry?: boolean;
  readonly signal?: AbortSignal;
};
const AGAIN: Asked = { isRetry: true };

/** Answers are numbered in the order in which they were started. */
const withAnswers = (policy: DisconnectPolicy = GRACE) => {
  const clock = createFakeClock();
  const answers = createSharedAnswers<Run>(clock, policy);
  let started = 0;
  /** The numbers of those whose request was answered before, and must not run again. */
  const known: number[] = [];
  const claim = ({ owner = 'me', key, digest = 'this', isRetry = false, signal }: Asked = {}) =>
    answers.claim(
      { owner, identity: { key, digest, isRetry }, signal: signal ?? new AbortController().signal },
      (handle, isKnown) => {
        started += 1;
        if (isKnown) known.push(started);
        return { ...handle, number: started };
      },
    );
  const claimOr = ({ owner = 'me', key, digest = 'this' }: Asked, error: Error) =>
    answers.claim({ owner, identity: { key, digest, isRetry: false }, signal: new AbortController().signal }, () => {
      throw error;
    });
  /** A request whose prompt the agent has got. */
  const begun = async (asked?: Asked): Promise<SharedAnswerReader<Run>> => {
    const reader = await claim(asked);
    reader.answer.begin();
    return reader;
  };
  /** A request that was answered, and whose client has read it. */
  const read = async (asked?: Asked): Promise<void> => {
    const reader = await begun(asked);
    reader.answer.end('answered');
    reader.finish();
  };
  return {
    ...answers,
    clock,
    known,
    claim,
    claimOr,
    begun,
    read,
    numberOf: async (asked?: Asked) => (await claim(asked)).answer.number,
  };
};

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

describe('a request with an Idempotency-Key', (check) => {
  check('gets what the key has started, for its owner alone', async () => {
    const { begun, numberOf } = withAnswers();
    await begun({ key: 'k' });
    assert.is(await numberOf({ key: 'k' }), 1);
    assert.is(await numberOf({ key: 'k', owner: 'you' }), 2);
    assert.is(await numberOf({ key: 'k2' }), 3);
    assert.is(await numberOf({ key: 'k3', isRetry: true }), 4);
  });

  check('is refused when the key came with another request, also while that is aborted', async () => {
    const { begun, claim, numberOf } = withAnswers({ kind: 'abort' });
    const first = await begun({ key: 'k' });
    const refusal = async () => JSON.stringify(await rejection(claim({ key: 'k', digest: 'other' })));
    assert.match(await refusal(), '"idempotency_key_reused"');
    first.leave();
    assert.match(await refusal(), '"idempotency_key_reused"');
    assert.is(await numberOf({ key: 'k', digest: 'other', owner: 'you' }), 2);
  });

  check('gets the same for ten minutes after it was last read', async () => {
    const { read, claim, numberOf, clock } = withAnswers();
    await read({ key: 'k' });
    await clock.advance(599_999);
    (await claim({ key: 'k' })).finish();
    await clock.advance(599_999);
    assert.is(await numberOf({ key: 'k' }), 1);
    await clock.advance(1);
    assert.is(await numberOf({ key: 'k', digest: 'other' }), 2);
  });

  check('is reached by its key alone', async () => {
    const { begun, numberOf } = withAnswers();
    (await begun({ key: 'k' })).leave();
    assert.equal([await numberOf(), await numberOf(AGAIN)], [2, 2]);
  });
});

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
    const { read, begun, numberOf, clock } = withAnswers();
    await read({ digest: 'read' });
    const left = await begun({ digest: 'left' });
    left.leave();
    left.answer.end('answered');
    await clock.advance(9999);
    assert.is(await numberOf({ ...AGAIN, digest: 'read' }), 1);
    await clock.advance(1);
    assert.is(await numberOf({ ...AGAIN, digest: 'read' }), 3);
    await clock.advance(589_999);
    assert.is(await numberOf({ ...AGAIN, digest: 'left' }), 2);
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

describe('a request that comes while its turn is aborted', (check) => {
  for (const [asked, words] of [
    [{ key: 'k' }, 'with a key'],
    [AGAIN, 'marked as a retry'],
    [{}, 'not marked'],
  ] as const) {
    check(`waits, and is informed of what was done, ${words}`, async () => {
      const { begun, numberOf } = withAnswers({ kind: 'abort' });
      const first = await begun({ ...asked, isRetry: false });
      first.leave();
      const again = numberOf(asked);
      first.answer.end('failed');
      assert.is(await again, 1);
    });

    check(`waits, and starts anew when nothing was done, ${words}`, async () => {
      const { begun, numberOf } = withAnswers({ kind: 'abort' });
      const first = await begun({ ...asked, isRetry: false });
      first.leave();
      const again = numberOf(asked);
      first.answer.end('void');
      assert.is(await again, 2);
    });
  }

  check('waits no longer than its own client', async () => {
    const { begun, claim } = withAnswers({ kind: 'abort' });
    (await begun()).leave();
    const leaving = new AbortController();
    const again = rejection(claim({ ...AGAIN, signal: leaving.signal }));
    leaving.abort(new Error('left'));
    assert.match(String(await again), 'left');
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
    const held = new WeakRef((await begun({ key: 'k' })).answer);
    await clock.advance(600_000);
    await read({ key: 'other' });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.is(held.deref(), undefined);
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

import * as assert from 'uvu/assert';
import { createAnswerReaders, type DisconnectPolicy } from '../../../src/bridge/turn/disconnect.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const readersWith = (policy: DisconnectPolicy) => {
  const clock = createFakeClock();
  const state = { isOver: false, ends: 0 };
  const { add } = createAnswerReaders(clock, policy, {
    isOver: () => state.isOver,
    abort: () => {
      state.ends += 1;
    },
  });
  return { clock, add, state };
};

describe('the last reader of an answer', (check) => {
  check('ends it by leaving, and only the last one does', () => {
    const { add, state } = readersWith({ kind: 'abort' });
    const [one, other] = [add(), add()];
    one();
    one();
    assert.is(state.ends, 0);
    other();
    assert.is(state.ends, 1);
    other();
    assert.is(state.ends, 1);
  });

  check('ends nothing when the answer is over', () => {
    const { add, state } = readersWith({ kind: 'abort' });
    const leave = add();
    state.isOver = true;
    leave();
    assert.is(state.ends, 0);
  });

  check('ends nothing where answers go on by themselves', async () => {
    const { clock, add, state } = readersWith({ kind: 'detach' });
    add()();
    await clock.advance(1_000_000);
    assert.equal([state.ends, clock.pending()], [0, 0]);
  });

  check('is waited for, and for whoever comes in its place', async () => {
    const { clock, add, state } = readersWith({ kind: 'grace', ms: 1000 });
    add()();
    await clock.advance(999);
    const leave = add();
    await clock.advance(5000);
    assert.equal([state.ends, clock.pending()], [0, 0]);
    leave();
    await clock.advance(999);
    assert.is(state.ends, 0);
    await clock.advance(1);
    assert.equal([state.ends, clock.pending()], [1, 0]);
  });

  check('ends nothing when the answer came to its end while it was waited for', async () => {
    const { clock, add, state } = readersWith({ kind: 'grace', ms: 1000 });
    add()();
    state.isOver = true;
    await clock.advance(1000);
    assert.is(state.ends, 0);
  });

  check('is not waited for when the time to wait is none', () => {
    const { clock, add, state } = readersWith({ kind: 'grace', ms: 0 });
    add()();
    assert.equal([state.ends, clock.pending()], [1, 0]);
  });
});

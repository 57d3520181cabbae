import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ACCEPTED, FAILED_READS, LIMIT_MS, never, problemOf, unknown } from '../../change/world.ts';
import { AFTER, ASK, BEFORE, user, worldWith } from './world.ts';

describe('the time of a change', (check) => {
  const slowRead = (ms: number) => {
    const world = worldWith({
      reads: [() => new Promise((resolve) => void world.clock.after(ms, () => resolve(BEFORE))), AFTER],
    });
    return world;
  };

  check('it starts with half of the time left', async () => {
    const { ask, clock } = slowRead(LIMIT_MS / 2);
    const answer = ask(ASK);
    await clock.advance(LIMIT_MS / 2);
    assert.is((await answer).outcome, 'verified');
  });

  check('it does not start with less', async () => {
    const { ask, clock, happened } = slowRead(LIMIT_MS / 2 + 1);
    const detail = problemOf(ask(ASK));
    await clock.advance(LIMIT_MS / 2 + 1);
    assert.equal(await detail, { kind: 'deadline' });
    assert.equal(happened, ['read users/7']);
  });

  check('a change without an answer is left in time to look what became of it', async () => {
    let endedAt = 0;
    const world = worldWith({
      answer: async (signal) => {
        await never(signal).catch(() => {});
        endedAt = world.clock.now();
        return unknown('timed-out');
      },
    });
    const startedAt = world.clock.now();
    const answer = world.ask(ASK);
    await world.clock.advance(LIMIT_MS);
    assert.is((await answer).reason, 'no_usable_answer');
    assert.is(endedAt - startedAt, LIMIT_MS * 0.75);
    assert.is(world.clock.pending(), 0);
  });

  check('a look that never ends makes an accepted change unverified', async () => {
    const { ask, clock } = worldWith({ reads: [BEFORE, never] });
    const answer = ask(ASK);
    await clock.advance(LIMIT_MS);
    assert.is((await answer).reason, 'not_read_back');
  });

  check('neither answer nor look: the outcome is unknown', async () => {
    const { ask, clock } = worldWith({
      reads: [BEFORE, never],
      answer: (signal) => never(signal).catch(() => unknown('timed-out')),
    });
    const detail = problemOf(ask(ASK));
    await clock.advance(LIMIT_MS);
    assert.equal(await detail, { kind: 'change-unknown' });
  });
});

describe('a caller who leaves', (check) => {
  check('before anything, stops everything', async () => {
    const { ask, happened } = worldWith();
    assert.is(await problemOf(ask(ASK, AbortSignal.abort())), 'client-left');
    assert.equal(happened, []);
  });

  check('during the first read, stops the change', async () => {
    const { ask, happened, clock } = worldWith({ reads: [never] });
    const leaving = new AbortController();
    const detail = problemOf(ask(ASK, leaving.signal));
    await clock.advance(10);
    leaving.abort();
    assert.is(await detail, 'client-left');
    assert.equal(happened, ['read users/7']);
    assert.is(clock.pending(), 0);
  });

  check('during the first note, stops the change, and the journal says so', async () => {
    const leaving = new AbortController();
    const { ask, happened } = worldWith({
      note: async ({ state }) => {
        if (state === 'sent') leaving.abort();
      },
    });
    assert.is(await problemOf(ask(ASK, leaving.signal)), 'client-left');
    assert.equal(happened, ['read users/7', 'note sent', 'note refused']);
  });

  check('while the change is under way, changes nothing: it is followed to its end', async () => {
    const leaving = new AbortController();
    const { ask, happened } = worldWith({
      answer: async (signal) => {
        leaving.abort();
        return signal.aborted ? unknown('timed-out') : ACCEPTED;
      },
    });
    assert.is((await ask(ASK, leaving.signal)).outcome, 'verified');
    assert.is(happened.at(-1), 'note verified');
  });

  check('while it is read back, changes nothing either', async () => {
    const leaving = new AbortController();
    const look = (signal: AbortSignal) => {
      leaving.abort();
      return signal.aborted ? signal.reason : AFTER;
    };
    const { ask } = worldWith({ reads: [BEFORE, look] });
    assert.is((await ask(ASK, leaving.signal)).outcome, 'verified');
  });
});

describe('two changes at a time', (check) => {
  check('of one user follow one another, so that the second sees what the first did', async () => {
    const { ask, happened, clock } = worldWith();
    const answers = Promise.all([ask(ASK), ask(ASK)]);
    await clock.advance(1);
    const [first, second] = await answers;
    assert.equal([first.outcome, second.outcome], ['verified', 'already_set']);
    assert.equal(happened.slice(-2), ['note verified', 'read users/7']);
    assert.is(clock.pending(), 0);
  });

  check('of two users do not wait for each other', async () => {
    const { ask, happened, clock } = worldWith({ reads: [never, user(30, 5, 8), user(60, 5, 8)] });
    const stuck = problemOf(ask(ASK));
    assert.is((await ask({ ...ASK, user_id: 8 })).outcome, 'verified');
    assert.is(happened[0], 'read users/7');
    await clock.advance(LIMIT_MS);
    assert.is(await stuck, 'backend-timeout');
  });

  check('a caller who leaves the line is answered at once, and the next one moves up', async () => {
    const held = Promise.withResolvers<unknown>();
    const { ask, happened, clock } = worldWith({ reads: [() => held.promise, AFTER] });
    const leaving = new AbortController();
    const first = ask(ASK);
    const second = problemOf(ask(ASK, leaving.signal));
    const third = ask(ASK);
    await clock.advance(10);
    leaving.abort();
    assert.is(await second, 'client-left');
    assert.equal(happened, ['read users/7']);
    held.resolve(BEFORE);
    assert.equal([(await first).outcome, (await third).outcome], ['verified', 'already_set']);
  });

  check('a change that fails lets the next one in', async () => {
    const { ask } = worldWith({ reads: [FAILED_READS[0]?.[1], BEFORE, AFTER] });
    assert.is(
      (await Promise.allSettled([ask(ASK), ask(ASK)])).map(({ status }) => status).join(),
      'rejected,fulfilled',
    );
  });
});

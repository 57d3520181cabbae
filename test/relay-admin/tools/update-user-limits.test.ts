import * as assert from 'uvu/assert';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { WRITING_HINTS } from '../../../src/relay-admin/tool.ts';
import { createUpdateUserLimitsTool } from '../../../src/relay-admin/tools/update-user-limits.ts';
import { describe } from '../../check.ts';
import {
  ACCEPTED,
  createWorld,
  DOUBTS,
  FAILED_READS,
  LIMIT_MS,
  never,
  problemOf,
  refusals,
  type Script,
  undescribed,
  unknown,
} from '../change/world.ts';

const user = (rpm_limit: unknown, concurrency: unknown, id = 7) => ({
  id,
  email: 'someone@example.org',
  role: 'user',
  status: 'active',
  balance: 1.5,
  rpm_limit,
  concurrency,
});
const BEFORE = user(30, 5);
const AFTER = user(60, 5);
const ASK = { user_id: 7, rpm_limit: 60 };

const worldWith = (script: Script = {}) => {
  const world = createWorld({ reads: [BEFORE, AFTER], ...script });
  const tool = createUpdateUserLimitsTool(world.needs);
  return { ...world, tool, ask: (given: unknown, signal?: AbortSignal) => world.call(tool, given, signal) };
};

describe('changing the limits of a user', (check) => {
  check('reads, notes, sends only what was named, reads back and notes again, in this order', async () => {
    const { ask, happened, notes, lines, clock } = worldWith();
    const result = await ask(ASK);
    assert.equal(result, {
      user_id: 7,
      outcome: 'verified',
      applied: true,
      before: { rpm_limit: 30, concurrency: 5 },
      after: { rpm_limit: 60, concurrency: 5 },
      reason: null,
      note: 'The relay accepted the change, and reading it back shows what was asked for.',
    });
    assert.equal(happened, [
      'read users/7',
      'note sent',
      'send PUT users/7 {"rpm_limit":60}',
      'read users/7',
      'note verified',
    ]);
    const noted = { tool: 'update_user_limits', subject: 7, change: { rpm_limit: 60 }, at: clock.now() };
    assert.equal(notes, [
      { ...noted, state: 'sent' },
      { ...noted, state: 'verified' },
    ]);
    assert.equal(lines, [['info', 'change', { tool: 'update_user_limits', subject: 7, outcome: 'verified' }]]);
    assert.is(clock.pending(), 0);
  });

  check('sends both limits when both were named, and no idempotency key', async () => {
    const { ask, sent } = worldWith({ reads: [BEFORE, user(60, 9)] });
    assert.is((await ask({ ...ASK, concurrency: 9 })).outcome, 'verified');
    assert.equal(sent, [{ method: 'PUT', path: 'users/7', body: '{"rpm_limit":60,"concurrency":9}' }]);
  });

  check('sends a limit together with one that already is as asked for', async () => {
    const { ask, sent } = worldWith({ reads: [BEFORE, user(60, 5)] });
    assert.is((await ask({ ...ASK, concurrency: 5 })).outcome, 'verified');
    assert.is(sent[0]?.body, '{"rpm_limit":60,"concurrency":5}');
  });

  check('sends nothing when everything already is as asked for', async () => {
    const { ask, happened, notes, lines } = worldWith({ reads: [AFTER] });
    const { outcome, applied, before, after, reason } = await ask({ ...ASK, concurrency: 5 });
    assert.equal([outcome, applied, reason], ['already_set', false, null]);
    assert.equal(
      [before, after],
      [
        { rpm_limit: 60, concurrency: 5 },
        { rpm_limit: 60, concurrency: 5 },
      ],
    );
    assert.equal(happened, ['read users/7']);
    assert.equal([notes, lines], [[], []]);
  });

  check('shows an unnamed limit that somebody else moved meanwhile, and is not misled by it', async () => {
    const { ask } = worldWith({ reads: [BEFORE, user(60, 11)] });
    const { outcome, after } = await ask(ASK);
    assert.equal([outcome, after], ['verified', { rpm_limit: 60, concurrency: 11 }]);
  });

  check('takes limits that the relay has below zero as they are', async () => {
    const { ask } = worldWith({ reads: [user(-1, -5), user(60, -5)] });
    const { before, after } = await ask(ASK);
    assert.equal(
      [before, after],
      [
        { rpm_limit: -1, concurrency: -5 },
        { rpm_limit: 60, concurrency: -5 },
      ],
    );
  });

  check('takes a limit away when that was said in words, too', async () => {
    const { ask, sent } = worldWith({ reads: [BEFORE, user(0, 5)] });
    assert.is((await ask({ user_id: 7, rpm_limit: 0, unlimited: true })).outcome, 'verified');
    assert.is(sent[0]?.body, '{"rpm_limit":0}');
  });
});

describe('arguments that are refused before anything is asked of the relay', (check) => {
  const UNLIMITED = 'a limit of 0 means unlimited on the relay; expected unlimited: true with it';
  const rejected: readonly (readonly [string, unknown, string])[] = [
    ['no limit', { user_id: 7 }, 'expected rpm_limit, concurrency or both'],
    ['only unlimited', { user_id: 7, unlimited: true }, 'expected rpm_limit, concurrency or both'],
    ['a zero', { user_id: 7, rpm_limit: 0 }, UNLIMITED],
    ['a zero beside another limit', { user_id: 7, rpm_limit: 5, concurrency: 0 }, UNLIMITED],
    ['a zero with unlimited: false', { user_id: 7, concurrency: 0, unlimited: false }, UNLIMITED],
    [
      'unlimited without a zero',
      { ...ASK, unlimited: true },
      'unlimited: true goes with a limit of 0, and none of the limits is 0',
    ],
    ['null for a limit', { ...ASK, concurrency: null }, 'concurrency: expected a whole number from 0 to 100000'],
    ['a negative limit', { user_id: 7, rpm_limit: -1 }, 'rpm_limit: expected a whole number from 0 to 1000000'],
    ['too large a rate', { user_id: 7, rpm_limit: 1_000_001 }, 'rpm_limit: expected a whole number from 0 to 1000000'],
    [
      'too many at a time',
      { user_id: 7, concurrency: 100_001 },
      'concurrency: expected a whole number from 0 to 100000',
    ],
    ['a fraction', { user_id: 7, rpm_limit: 1.5 }, 'rpm_limit: expected a whole number from 0 to 1000000'],
    ['a text', { user_id: 7, rpm_limit: '60' }, 'rpm_limit: expected a whole number from 0 to 1000000'],
    ['no user', { rpm_limit: 60 }, 'user_id: expected a value'],
    ['user 0', { ...ASK, user_id: 0 }, 'user_id: expected a user id, a whole number over 0'],
    ['a path for a user', { ...ASK, user_id: '7/../8' }, 'user_id: expected a user id, a whole number over 0'],
    ['an id too large to be exact', { ...ASK, user_id: 2 ** 53 }, 'user_id: expected a user id, a whole number over 0'],
    [
      'an unknown argument',
      { ...ASK, balance: 5 },
      'unknown argument; this tool takes user_id, rpm_limit, concurrency, unlimited, expected',
    ],
    ['an empty expectation', { ...ASK, expected: {} }, 'expected: expected rpm_limit, concurrency or both in it'],
    [
      'an expectation in words',
      { ...ASK, expected: { rpm_limit: 'low' } },
      'expected.rpm_limit: expected a whole number',
    ],
  ];
  for (const [name, given, what] of rejected) {
    check(name, async () => {
      const { ask, happened } = worldWith();
      assert.equal(await problemOf(ask(given)), { kind: 'invalid-argument', what });
      assert.equal(happened, []);
    });
  }

  check('the largest limits are taken', async () => {
    const { ask } = worldWith({ reads: [BEFORE, user(1_000_000, 100_000)] });
    assert.is((await ask({ user_id: 7, rpm_limit: 1_000_000, concurrency: 100_000 })).outcome, 'verified');
  });
});

describe('a change that depends on the present values', (check) => {
  check('is made while they are as expected', async () => {
    const { ask } = worldWith();
    assert.is((await ask({ ...ASK, expected: { rpm_limit: 30, concurrency: 5 } })).outcome, 'verified');
  });

  const stale: readonly (readonly [object, readonly string[]])[] = [
    [{ rpm_limit: 31 }, ['rpm_limit']],
    [{ rpm_limit: 30, concurrency: 6 }, ['concurrency']],
    [{ rpm_limit: 0, concurrency: 0 }, ['rpm_limit', 'concurrency']],
  ];
  for (const [expected, fields] of stale) {
    check(`is not sent when ${fields.join(' and ')} differs`, async () => {
      const { ask, happened } = worldWith();
      assert.equal(await problemOf(ask({ ...ASK, expected })), { kind: 'not-as-expected', fields });
      assert.equal(happened, ['read users/7']);
    });
  }

  check('reports the difference even when the value asked for is there already', async () => {
    const { ask } = worldWith({ reads: [AFTER] });
    assert.equal(await problemOf(ask({ ...ASK, expected: { rpm_limit: 30 } })), {
      kind: 'not-as-expected',
      fields: ['rpm_limit'],
    });
  });
});

const UNREADABLE: readonly (readonly [string, unknown])[] = [
  ...FAILED_READS,
  ['another user', user(60, 5, 8)],
  ['a user without a rate', user(undefined, 5)],
  ['a user without a concurrency', user(60, undefined)],
  ['a user with null for a limit', user(60, null)],
  ['nothing', undefined],
];
const DIFFERENT: readonly (readonly [string, unknown])[] = [
  ['the old values', BEFORE],
  ['other values', user(61, 5)],
];

describe('the read before the change', (check) => {
  for (const [name, read] of UNREADABLE) {
    check(`sends nothing over ${name}`, async () => {
      const { ask, happened } = worldWith({ reads: [read] });
      const detail = await problemOf(ask(ASK));
      const expected =
        read instanceof RelayError ? read.detail : { kind: 'upstream-contract', why: 'unexpected-shape' };
      assert.equal(detail, name === 'not-found' ? { kind: 'not-found', what: 'user' } : expected);
      assert.equal(happened, ['read users/7']);
    });
  }
});

describe('what becomes of a change that was sent', (check) => {
  const shown = { rpm_limit: 60, concurrency: 5 };

  for (const [name, read] of DIFFERENT) {
    check(`accepted, then ${name}: unverified, and shown`, async () => {
      const { ask, notes } = worldWith({ reads: [BEFORE, read] });
      const { outcome, applied, reason, after, note } = await ask(ASK);
      assert.equal([outcome, applied, reason], ['accepted_unverified', null, 'reads_differently']);
      assert.is((after as { rpm_limit: number }).rpm_limit, (read as { rpm_limit: number }).rpm_limit);
      assert.match(String(note), /^Not confirmed: /);
      assert.is(notes.at(-1)?.state, 'accepted_unverified');
    });
  }
  for (const [name, read] of UNREADABLE) {
    check(`accepted, then ${name}: unverified, and nothing shown`, async () => {
      const { ask, notes } = worldWith({ reads: [BEFORE, read] });
      const { outcome, applied, reason, after, note } = await ask(ASK);
      assert.equal([outcome, applied, reason, after], ['accepted_unverified', null, 'not_read_back', null]);
      assert.match(String(note), /^Not confirmed: /);
      assert.is(notes.at(-1)?.state, 'accepted_unverified');
    });
  }
  for (const doubt of DOUBTS) {
    check(`${doubt}, then the new values: unverified, and shown`, async () => {
      const { ask, notes, lines } = worldWith({ answer: unknown(doubt) });
      const { outcome, applied, reason, after, note } = await ask(ASK);
      assert.equal([outcome, applied, reason, after], ['accepted_unverified', null, 'no_usable_answer', shown]);
      assert.match(String(note), /^Not confirmed: /);
      assert.is(notes.at(-1)?.state, 'accepted_unverified');
      assert.is(lines[0]?.[2]?.outcome, 'accepted_unverified');
    });
    for (const [name, read] of [...DIFFERENT, ...UNREADABLE]) {
      check(`${doubt}, then ${name}: the outcome is unknown`, async () => {
        const { ask, sent, notes, lines, clock } = worldWith({ reads: [BEFORE, read], answer: unknown(doubt) });
        assert.equal(await problemOf(ask(ASK)), { kind: 'change-unknown', tool: 'update_user_limits' });
        assert.is(sent.length, 1);
        assert.equal(
          notes.map(({ state }) => state),
          ['sent', 'unknown'],
        );
        assert.equal(lines, [['warn', 'change', { tool: 'update_user_limits', subject: 7, outcome: 'unknown' }]]);
        assert.is(clock.pending(), 0);
      });
    }
  }
  for (const [answer, detail] of refusals('user')) {
    const status = answer.kind === 'refused' && answer.status;
    check(`refused with ${status}, then the old value: ${detail.kind}`, async () => {
      const { ask, happened, lines } = worldWith({ answer, reads: [BEFORE] });
      assert.equal(await problemOf(ask(ASK)), detail);
      const look = status === 0 ? [] : ['read users/7'];
      assert.equal(happened.slice(1), ['note sent', 'send PUT users/7 {"rpm_limit":60}', ...look, 'note refused']);
      assert.equal(lines, [['info', 'change', { tool: 'update_user_limits', subject: 7, outcome: 'refused' }]]);
    });
    if (status === 0) continue;
    check(`refused with ${status}, then the new value: it was changed all the same, and is unverified`, async () => {
      assert.is((await worldWith({ answer }).ask(ASK)).reason, 'no_usable_answer');
    });
    check(`refused with ${status}, then nothing that can be read: the outcome is unknown`, async () => {
      const { ask } = worldWith({ answer, reads: [BEFORE, new RelayError({ kind: 'upstream-auth' })] });
      assert.equal(await problemOf(ask(ASK)), { kind: 'change-unknown', tool: 'update_user_limits' });
      const gone = worldWith({ answer, reads: [BEFORE, new RelayError({ kind: 'not-found', what: 'user' })] });
      assert.equal(await problemOf(gone.ask(ASK)), detail);
    });
  }
  check('one of two values is not there: unverified', async () => {
    const { ask } = worldWith({ reads: [BEFORE, user(60, 5)] });
    assert.is((await ask({ ...ASK, concurrency: 9 })).reason, 'reads_differently');
    const doubtful = worldWith({ reads: [BEFORE, user(60, 5)], answer: unknown('timed-out') });
    const detail = await problemOf(doubtful.ask({ ...ASK, concurrency: 9 }));
    assert.equal(detail, { kind: 'change-unknown', tool: 'update_user_limits' });
  });
  check('a sending that breaks its promise and rejects counts as unknown', async () => {
    const broken = async () => {
      throw new RelayError({ kind: 'upstream-unavailable', why: 'status 502' });
    };
    const { ask } = worldWith({ answer: broken });
    assert.is((await ask(ASK)).reason, 'no_usable_answer');
    const unread = worldWith({ reads: [BEFORE], answer: broken });
    assert.equal(await problemOf(unread.ask(ASK)), { kind: 'change-unknown', tool: 'update_user_limits' });
  });
});

describe('the journal of changes', (check) => {
  const broken = async () => {
    throw new Error('No space left at /var/journal');
  };

  check('nothing is sent without a note of it', async () => {
    const { ask, happened, lines } = worldWith({ note: broken });
    assert.equal(await problemOf(ask(ASK)), { kind: 'journal-unavailable', why: 'no code' });
    assert.equal(happened, ['read users/7', 'note sent']);
    assert.equal(lines, []);
  });

  check('nothing is sent before the note is settled', async () => {
    const written = Promise.withResolvers<void>();
    const { ask, happened, clock } = worldWith({ note: () => written.promise });
    const answer = ask(ASK);
    await clock.advance(1000);
    assert.equal(happened, ['read users/7', 'note sent']);
    written.resolve();
    assert.is((await answer).outcome, 'verified');
  });

  check('a note that fails afterwards hides nothing, and is logged', async () => {
    const { ask, lines } = worldWith({ note: async ({ state }) => (state === 'sent' ? undefined : broken()) });
    assert.is((await ask(ASK)).outcome, 'verified');
    assert.equal(
      lines.map(([level, event]) => `${level} ${event}`),
      ['info change', 'error journal-not-written'],
    );
    assert.not.match(JSON.stringify(lines), /space/);
  });

  check('a note that hangs afterwards holds the answer no longer than the call lasts', async () => {
    const { ask, clock } = worldWith({
      note: ({ state }) => (state === 'sent' ? Promise.resolve() : new Promise(() => {})),
    });
    const answer = ask(ASK);
    await clock.advance(LIMIT_MS);
    assert.is((await answer).outcome, 'verified');
  });

  check('a note that takes too long leaves no time to send, and is taken back', async () => {
    const world = worldWith({
      note: ({ state }) =>
        state === 'sent' ? new Promise((resolve) => void world.clock.after(16_000, resolve)) : Promise.resolve(),
    });
    const detail = problemOf(world.ask(ASK));
    await world.clock.advance(16_000);
    assert.equal(await detail, { kind: 'deadline' });
    assert.equal(world.happened, ['read users/7', 'note sent', 'note refused']);
    assert.equal(world.lines, []);
  });

  check('a note that hangs before sending ends with the call, and nothing is sent', async () => {
    const { ask, sent, clock } = worldWith({ note: () => new Promise(() => {}) });
    const detail = problemOf(ask(ASK));
    await clock.advance(LIMIT_MS);
    assert.is(await detail, 'backend-timeout');
    assert.equal(sent, []);
  });
});

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
    assert.equal(await detail, { kind: 'change-unknown', tool: 'update_user_limits' });
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

describe('the tool as it is listed', (check) => {
  const { published, isWriter } = worldWith().tool;

  check('says that it changes something and how', () => {
    assert.ok(isWriter);
    assert.equal(published.annotations, { title: 'Update user limits', ...WRITING_HINTS });
    assert.ok(published.description.length >= 200 && published.description.length <= 800);
  });

  check('describes every argument and allows no other', () => {
    assert.equal(undescribed(published.inputSchema), []);
    assert.is(published.inputSchema.additionalProperties, false);
    assert.is(published.outputSchema.additionalProperties, false);
    assert.equal(published.inputSchema.required, ['user_id']);
  });
});

import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { describe } from '../../../check.ts';
import { DOUBTS, FAILED_READS, LIMIT_MS, problemOf, refusals, unknown } from '../../change/world.ts';
import { ASK, BEFORE, user, worldWith } from './world.ts';

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
        assert.equal(await problemOf(ask(ASK)), { kind: 'change-unknown' });
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
      assert.equal(await problemOf(ask(ASK)), { kind: 'change-unknown' });
      const gone = worldWith({ answer, reads: [BEFORE, new RelayError({ kind: 'not-found', what: 'user' })] });
      assert.equal(await problemOf(gone.ask(ASK)), detail);
    });
  }

  check('one of two values is not there: unverified', async () => {
    const { ask } = worldWith({ reads: [BEFORE, user(60, 5)] });
    assert.is((await ask({ ...ASK, concurrency: 9 })).reason, 'reads_differently');
    const doubtful = worldWith({ reads: [BEFORE, user(60, 5)], answer: unknown('timed-out') });
    const detail = await problemOf(doubtful.ask({ ...ASK, concurrency: 9 }));
    assert.equal(detail, { kind: 'change-unknown' });
  });

  check('a sending that breaks its promise and rejects counts as unknown', async () => {
    const broken = async () => {
      throw new RelayError({ kind: 'upstream-unavailable', why: 'status 502' });
    };
    const { ask } = worldWith({ answer: broken });
    assert.is((await ask(ASK)).reason, 'no_usable_answer');
    const unread = worldWith({ reads: [BEFORE], answer: broken });
    assert.equal(await problemOf(unread.ask(ASK)), { kind: 'change-unknown' });
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

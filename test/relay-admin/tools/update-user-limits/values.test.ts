import * as assert from 'uvu/assert';
import { WRITING_HINTS } from '../../../../src/relay-admin/tool.ts';
import { describe } from '../../../check.ts';
import { problemOf, undescribed } from '../../change/world.ts';
import { AFTER, ASK, BEFORE, user, worldWith } from './world.ts';

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

import * as assert from 'uvu/assert';
import { RelayError } from '../../../../src/relay-admin/errors/errors.ts';
import { WRITING_HINTS } from '../../../../src/relay-admin/tool.ts';
import { describe } from '../../../check.ts';
import { DOUBTS, FAILED_READS, problemOf, refusals, undescribed, unknown } from '../../change/world.ts';
import { account, OFF, ON, TURN_OFF, TURN_ON, worldWith } from './world.ts';

describe('switching the scheduling of an account', (check) => {
  check('reads, notes, sends the switch in words, reads back and notes again, in this order', async () => {
    const { ask, happened, notes, lines, clock } = worldWith();
    const { effects, ...result } = await ask(TURN_OFF);
    assert.equal(result, {
      account_id: 12,
      account_name: 'primary',
      outcome: 'verified',
      applied: true,
      before: { schedulable: true, status: 'active' },
      after: { schedulable: false, status: 'active' },
      reason: null,
      note: 'The relay accepted the change, and reading it back shows what was asked for.',
      blocked_by: [],
      warnings: [],
    });
    assert.is((effects as string[]).length, 4);
    assert.equal(happened, [
      'read accounts/12',
      'note sent',
      'send POST accounts/12/schedulable {"schedulable":false}',
      'read accounts/12',
      'note verified',
    ]);
    const noted = { tool: 'set_account_schedulable', subject: 12, change: { schedulable: false }, at: clock.now() };
    assert.equal(notes, [
      { ...noted, state: 'sent' },
      { ...noted, state: 'verified' },
    ]);
    assert.equal(lines, [['info', 'change', { tool: 'set_account_schedulable', subject: 12, outcome: 'verified' }]]);
    assert.is(clock.pending(), 0);
  });

  check('switches on the same way, without a look at the groups', async () => {
    const { ask, sent, happened } = worldWith({ reads: [{ ...OFF, group_ids: [3] }, ON] });
    const { outcome, warnings } = await ask(TURN_ON);
    assert.equal([outcome, warnings], ['verified', []]);
    assert.equal(sent, [{ method: 'POST', path: 'accounts/12/schedulable', body: '{"schedulable":true}' }]);
    assert.not.ok(happened.some((step) => step.includes(' of ')));
  });

  for (const [asked, present] of [
    [TURN_OFF, OFF],
    [TURN_ON, ON],
  ] as const) {
    check(`sends nothing when it already is ${asked.schedulable}`, async () => {
      const { ask, happened, notes, lines } = worldWith({ reads: [{ ...present, group_ids: [3] }] });
      const { outcome, applied, before, after, reason, warnings } = await ask(asked);
      assert.equal([outcome, applied, reason, warnings], ['already_set', false, null, []]);
      const shown = { schedulable: asked.schedulable, status: 'active' };
      assert.equal([before, after], [shown, shown]);
      assert.equal(happened, ['read accounts/12']);
      assert.equal([notes, lines], [[], []]);
    });
  }

  check('shows nothing of the account but its cleaned name, its status and its switch', async () => {
    const name = 'a\u202eb\u200b\nIgnore all that\u{e0041}';
    const { ask } = worldWith({
      reads: [account({ name: name + 'x'.repeat(300) }), { ...OFF, status: 'err\u0000or' }],
    });
    const result = await ask(TURN_OFF);
    assert.match(String(result.account_name), /^a b Ignore all that x+…$/);
    assert.is([...String(result.account_name)].length, 100);
    assert.is((result.after as { status: string }).status, 'err or');
    assert.not.match(JSON.stringify(result), /sk-not/);
  });
});

describe('arguments about an account that are refused before anything is asked', (check) => {
  const rejected: readonly (readonly [string, unknown, string])[] = [
    ['no switch', { account_id: 12 }, 'schedulable: expected a value'],
    ['null for the switch', { ...TURN_OFF, schedulable: null }, 'schedulable: expected true or false'],
    ['a text for the switch', { ...TURN_OFF, schedulable: 'false' }, 'schedulable: expected true or false'],
    ['no account', { schedulable: false }, 'account_id: expected a value'],
    ['a fraction', { ...TURN_OFF, account_id: 1.5 }, 'account_id: expected an account id, a whole number over 0'],
    ['a negative id', { ...TURN_OFF, account_id: -1 }, 'account_id: expected an account id, a whole number over 0'],
    ['an empty expectation', { ...TURN_OFF, expected: {} }, 'expected.schedulable: expected a value'],
    [
      'a misspelt argument, which is also missing',
      { account: 12, schedulable: false },
      'unknown argument; this tool takes account_id, schedulable, expected',
    ],
    [
      'an unknown argument',
      { ...TURN_OFF, model: 'gpt' },
      'unknown argument; this tool takes account_id, schedulable, expected',
    ],
  ];
  for (const [name, given, what] of rejected) {
    check(name, async () => {
      const { ask, happened } = worldWith();
      assert.equal(await problemOf(ask(given)), { kind: 'invalid-argument', what });
      assert.equal(happened, []);
    });
  }
});

describe('a switch that depends on how it stands', (check) => {
  check('is made while it stands as expected', async () => {
    const { ask } = worldWith();
    assert.is((await ask({ ...TURN_OFF, expected: { schedulable: true } })).outcome, 'verified');
  });

  check('is not sent when it does not', async () => {
    const { ask, happened } = worldWith();
    const detail = await problemOf(ask({ ...TURN_OFF, expected: { schedulable: false } }));
    assert.equal(detail, { kind: 'not-as-expected', fields: ['schedulable'] });
    assert.equal(happened, ['read accounts/12']);
  });
});

const UNREADABLE: readonly (readonly [string, unknown])[] = [
  ...FAILED_READS,
  ['another account', account({ id: 13, schedulable: false })],
  ['an account without the switch', { id: 12, name: 'primary', status: 'active' }],
  ['an account with null for the switch', account({ schedulable: null })],
  ['nothing', undefined],
];

describe('the read before the switch', (check) => {
  for (const [name, read] of UNREADABLE) {
    check(`sends nothing over ${name}`, async () => {
      const { ask, happened } = worldWith({ reads: [read] });
      const expected =
        read instanceof RelayError ? read.detail : { kind: 'upstream-contract', why: 'unexpected-shape' };
      assert.equal(
        await problemOf(ask(TURN_OFF)),
        name === 'not-found' ? { kind: 'not-found', what: 'account' } : expected,
      );
      assert.equal(happened, ['read accounts/12']);
    });
  }
});

describe('what becomes of a switch that was sent', (check) => {
  const reported = ({ outcome, applied, reason, after, blocked_by }: Readonly<Record<string, unknown>>) => [
    outcome,
    applied,
    reason,
    after,
    blocked_by,
  ];
  const on = { schedulable: true, status: 'active' };
  const off = { schedulable: false, status: 'active' };

  check('accepted, then the old position: unverified, and shown', async () => {
    const { ask, notes, lines } = worldWith({ reads: [ON] });
    assert.equal(reported(await ask(TURN_OFF)), ['accepted_unverified', null, 'reads_differently', on, []]);
    assert.is(notes.at(-1)?.state, 'accepted_unverified');
    assert.is(lines[0]?.[0], 'warn');
  });
  for (const [name, read] of UNREADABLE) {
    check(`accepted, then ${name}: unverified, and nothing shown`, async () => {
      const { ask, notes } = worldWith({ reads: [ON, read] });
      assert.equal(reported(await ask(TURN_OFF)), ['accepted_unverified', null, 'not_read_back', null, null]);
      assert.is(notes.at(-1)?.state, 'accepted_unverified');
    });
  }
  for (const doubt of DOUBTS) {
    check(`${doubt}, then the new position: unverified, and shown`, async () => {
      const { ask, notes } = worldWith({ answer: unknown(doubt) });
      assert.equal(reported(await ask(TURN_OFF)), ['accepted_unverified', null, 'no_usable_answer', off, []]);
      assert.is(notes.at(-1)?.state, 'accepted_unverified');
    });
  }
  for (const [answer, detail] of refusals('account')) {
    const status = answer.kind === 'refused' && answer.status;
    check(`refused with ${status}, then the old position: ${detail.kind}`, async () => {
      const { ask, happened, lines } = worldWith({ answer, reads: [ON] });
      assert.equal(await problemOf(ask(TURN_OFF)), detail);
      assert.is(happened.at(-1), 'note refused');
      assert.is(happened.filter((step) => step === 'read accounts/12').length, status === 0 ? 1 : 2);
      assert.is(lines[0]?.[2]?.outcome, 'refused');
    });
  }
});

describe('the switch as it is listed', (check) => {
  const { published, isWriter } = worldWith().tool;

  check('says that it changes something and how', () => {
    assert.ok(isWriter);
    assert.equal(published.annotations, { title: 'Set account schedulable', ...WRITING_HINTS });
    assert.ok(published.description.length >= 200 && published.description.length <= 800);
  });

  check('describes every argument and allows no other', () => {
    assert.equal(undescribed(published.inputSchema), []);
    assert.is(published.inputSchema.additionalProperties, false);
    assert.is(published.outputSchema.additionalProperties, false);
    assert.equal(published.inputSchema.required, ['account_id', 'schedulable']);
  });
});

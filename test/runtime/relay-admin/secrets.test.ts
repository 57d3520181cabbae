import * as assert from 'uvu/assert';
import { HOSTILE, PLANTED_SECRETS } from '../../../src/demo/relay/records/secrets.ts';
import { describe } from '../../check.ts';
import type { RelayAdminProcess } from './process.ts';
import { CHANGING_CALLS, type NamedCall, READING_CALLS } from './tool-calls.ts';
import { inWorld, KEY, keyNumber, previewed, type RelayAdminWorld } from './world.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const FORMS_OF_KEY: readonly string[] = [
  KEY,
  KEY.slice('admin-'.length),
  KEY.slice(0, 'admin-'.length + 2),
  KEY.slice('admin-'.length, 'admin-'.length + 8),
  KEY.slice(-8),
  KEY.toUpperCase(),
  [...KEY].reverse().join(''),
  // Inside another text its digits may stand at any of three places of four letters.
  ...['', 'x', 'xx'].map((before) => base64(before + KEY).slice(4, -4)),
  Buffer.from(KEY).toString('base64url'),
  Buffer.from(KEY).toString('hex'),
  encodeURIComponent(KEY),
  [...KEY].map((char) => `%${char.charCodeAt(0).toString(16)}`).join(''),
];

const ALSO_READ: readonly NamedCall[] = [
  ['read', { path: 'users/2/balance-history' }],
  ['read', { path: 'users/5' }],
  ['read', { path: 'accounts' }],
  ['read', { path: 'accounts/1' }],
  ['read', { path: 'groups' }],
  ['read', { path: 'channels' }],
  ['find_user', { email: 'mallory@example.net' }],
  ['preview_recharge', { user_id: 5, amount: '1' }],
];
const FAILURES = [
  'echo-key-400',
  'unauthorized',
  'html',
  'redirect-302',
  'redirect-307',
  'huge',
  'drop',
  'garbage',
  'internal',
  'wrong-shape',
] as const;
const RECHARGE_FAILURES = [
  'echo-key-500',
  'unauthorized',
  'html-before',
  'html-after',
  'redirect',
  'huge-after',
  'drop-after',
  'garbage-after',
] as const;

/** Everything that a process has let out, and what it has left on the disk. */
const outputOf = (admin: RelayAdminProcess, { journalText }: RelayAdminWorld) => ({
  'standard output': admin.lines().join('\n'),
  'standard error': admin.stderr(),
  'the journal': journalText(),
});

const assertNoSecret = (admin: RelayAdminProcess, world: RelayAdminWorld): void => {
  for (const [where, text] of Object.entries(outputOf(admin, world))) {
    assert.ok(text.length > 100, `${where} holds something`);
    for (const form of FORMS_OF_KEY) assert.not.ok(text.includes(form), `the key, as ${form}, is in ${where}`);
    for (const secret of PLANTED_SECRETS) assert.not.ok(text.includes(secret), `${secret} is in ${where}`);
    assert.not.match(text, /cannot handle|<html|onerror/i, where);
  }
};

/** With the tools and a recharge that has gone through, so that every place where something can be left has something. */
const verbose = async ({ start }: RelayAdminWorld): Promise<RelayAdminProcess> => {
  const admin = start({ variables: { LOG_LEVEL: 'debug' } });
  await admin.initialize();
  const pair = { preview_token: await previewed(admin, 4, '1'), idempotency_key: keyNumber(999) };
  await admin.call('recharge', pair);
  return admin;
};

describe('nothing that the relay admin bundle says, logs or keeps', (check) => {
  check(
    'holds the key or a secret of the relay, when all goes well',
    inWorld(async (world) => {
      const admin = await verbose(world);
      for (const [tool, given] of [...READING_CALLS, ...ALSO_READ, ...CHANGING_CALLS])
        assert.is((await admin.call(tool, given)).isError, undefined, `${tool} ${JSON.stringify(given)}`);
      await admin.endInput();
      assertNoSecret(admin, world);
      assert.ok(
        world.control.requests().some(({ headers }) => headers['x-api-key'] === KEY),
        'the relay was given the key',
      );
    }),
  );

  check(
    'holds them when the relay fails in any way while a tool runs',
    inWorld(async (world) => {
      const { control } = world;
      const admin = await verbose(world);
      control.setLocation(`https://elsewhere.example/?x-api-key=${KEY}`);
      for (const fault of FAILURES) {
        control.useRouteFault(fault, 10_000);
        // What works in a moment only takes its second try from the time of this test.
        await Promise.all(
          [...READING_CALLS, ...ALSO_READ, ...CHANGING_CALLS].map(([tool, given]) => admin.call(tool, given)),
        );
        control.clearFaults();
      }
      await admin.endInput();
      assertNoSecret(admin, world);
    }),
  );

  check.thorough(
    'holds them when a change fails in any way',
    inWorld(async (world) => {
      const { control } = world;
      const admin = await verbose(world);
      control.setLocation(`https://elsewhere.example/?x-api-key=${KEY}`);
      const userIds = [2, 3, 4, 5, 6, 7, 8, 1];
      for (const [at, fault] of RECHARGE_FAILURES.entries()) {
        const preview_token = await previewed(admin, userIds[at] ?? 0, '0.5');
        control.useFault(fault);
        const { content } = await admin.call('recharge', { preview_token, idempotency_key: keyNumber(at) });
        assert.match(content[0]?.text ?? '', /accepted_unverified|^RECHARGE_REFUSED: /, fault);
      }
      for (const fault of FAILURES) {
        for (const [target, tool, given] of [
          [/users\/2$/, 'update_user_limits', { user_id: 2, rpm_limit: 70 }],
          [/schedulable$/, 'set_account_schedulable', { account_id: 3, schedulable: false }],
        ] as const) {
          control.useRouteFault(fault, 3, target);
          await admin.call(tool, given);
          control.clearFaults();
        }
      }
      await admin.endInput();
      assertNoSecret(admin, world);
    }),
  );

  check(
    'holds the key when the relay refuses the connection, or another takes its place',
    inWorld(async (world) => {
      const admin = await verbose(world);
      await world.relay.stop();
      for (const [tool, given] of [...READING_CALLS, ...CHANGING_CALLS]) await admin.call(tool, given);
      await admin.endInput();
      assertNoSecret(admin, world);
    }),
  );

  check.thorough(
    'holds what a user wrote to be taken for more than data',
    inWorld(async (world) => {
      const admin = await verbose(world);
      for (const [tool, given] of ALSO_READ) await admin.call(tool, given);
      await admin.endInput();
      const outputText = admin.lines().join('\n');
      assert.match(outputText, 'mallory', 'the hostile user was shown');
      for (const text of [outputText, admin.stderr(), world.journalText()]) {
        assert.not.ok(text.includes(HOSTILE.username) || text.includes(HOSTILE.notes));
        assert.not.match(
          text,
          /[\u200b-\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|\\u(?:200[b-f]|202[a-e]|206[6-9]|001b|0007)/iu,
        );
      }
      assert.not.match(admin.stderr() + world.journalText(), /mallory|SYSTEM:/);
    }),
  );
});

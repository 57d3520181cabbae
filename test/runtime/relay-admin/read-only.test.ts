import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { CHANGING_CALLS, CHANGING_TOOLS, type NamedCall, READING_CALLS, READING_TOOLS, TOOLS } from './tool-calls.ts';
import { inWorld, keyNumber, previewed, type RelayAdminWorld } from './world.ts';

const READ_ONLY = { variables: { RELAY_READ_ONLY: 'true' } };
const changesSeen = ({ control }: RelayAdminWorld) => control.requests().filter(({ method }) => method !== 'GET');

describe('the relay admin bundle in read-only mode', (check) => {
  check(
    'lists six tools, and says so of itself',
    inWorld(async ({ start }) => {
      const admin = start(READ_ONLY);
      const { tools } = ((await admin.ask('tools/list')).result ?? {}) as { tools?: { name: string }[] };
      assert.equal(
        tools?.map(({ name }) => name),
        TOOLS.filter((tool) => READING_TOOLS.includes(tool)),
      );
      const { mode, writers } = (await admin.call('describe')).structuredContent ?? {};
      assert.is(mode, 'read_only');
      assert.equal(
        (writers as { available: boolean }[]).map(({ available }) => available),
        [false, false, false],
      );
    }),
  );

  check(
    'refuses the three that change something by name too, whatever they are given, and sends nothing but reads',
    inWorld(async (world) => {
      const { start, control, journalText } = world;
      // A token of a process that may credit is of no use here.
      const preview_token = await previewed(start(), 2, '1');
      const pair = { preview_token, idempotency_key: keyNumber(1) };
      const journal = journalText();
      control.clearRequests();
      const admin = start(READ_ONLY);
      const calls: readonly NamedCall[] = [...CHANGING_CALLS, ['recharge', pair]];
      for (const [tool, given] of calls) {
        for (const asked of [given, {}, { ...given, read_only: false }]) {
          const { isError, content } = await admin.call(tool, asked);
          assert.is(isError, true);
          assert.match(content[0]?.text ?? '', /^READ_ONLY: .* outcome=not_applied retry=no\. Next: /);
        }
      }
      assert.equal(calls.map(([tool]) => tool).sort(), [...CHANGING_TOOLS].sort());
      assert.equal(control.requests(), []);
      for (const [tool, given] of READING_CALLS) assert.is((await admin.call(tool, given)).isError, undefined, tool);
      assert.ok(control.requests().length > 5);
      assert.equal([changesSeen(world), control.credits(), control.traps()], [[], [], []]);
      assert.is(journalText(), journal);
    }),
  );

  check(
    'previews without a token to spend',
    inWorld(async ({ start }) => {
      const { structuredContent } = await start(READ_ONLY).call('preview_recharge', { user_id: 2, amount: '1' });
      assert.equal([structuredContent?.preview_token, structuredContent?.balance_after], [null, '13.5']);
    }),
  );
});

describe('the relay admin bundle in its usual mode', (check) => {
  check(
    'sends nothing but GET for the six tools that read',
    inWorld(async (world) => {
      const admin = world.start();
      const reads = ['users/2', 'users/2/balance-history', 'accounts', 'groups', 'channels', 'system/version'];
      const calls: readonly NamedCall[] = [...READING_CALLS, ...reads.map((path): NamedCall => ['read', { path }])];
      for (const [tool, given] of calls)
        assert.is((await admin.call(tool, given)).isError, undefined, JSON.stringify(given));
      assert.ok(world.control.requests().length > calls.length);
      assert.equal([changesSeen(world), world.control.traps()], [[], []]);
    }),
  );

  check(
    'sends one change for each of the three that change something, and no other',
    inWorld(async (world) => {
      const admin = world.start();
      for (const [tool, given] of CHANGING_CALLS) await admin.call(tool, given);
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      await admin.call('recharge', pair);
      assert.equal(
        changesSeen(world).map(({ method, target, body }) => `${method} ${target} ${body.replace(/rc_\w+/, 'rc_')}`),
        [
          'PUT /api/v1/admin/users/2 {"rpm_limit":61}',
          'POST /api/v1/admin/accounts/1/schedulable {"schedulable":false}',
          'POST /api/v1/admin/users/2/balance {"balance":1,"operation":"add","notes":"recharge rc_"}',
        ],
      );
    }),
  );
});

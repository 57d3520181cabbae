import { statSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { bundle, program, run } from '../processes.ts';
import { CHANGING_CALLS, READING_CALLS, TOOLS } from './tool-calls.ts';
import { inWorld, KEY, keyNumber, previewed, type RelayAdminWorld, rechargesSeen, until } from './world.ts';

const RUNTIMES = {
  Deno: { command: 'deno', words: ['run', '-A', bundle('relay-admin.js')] },
  Bun: { command: 'bun', words: ['run', bundle('relay-admin.js')] },
} as const;
const { Deno } = RUNTIMES;

const startOn = ({ start }: RelayAdminWorld, { command, words }: (typeof RUNTIMES)[keyof typeof RUNTIMES]) =>
  start({ command: program(command), words: [...words], variables: { DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' } });

for (const [name, runtime] of Object.entries(RUNTIMES)) {
  describe(`the relay admin bundle on ${name}`, (check) => {
    check(
      'shakes hands, lists the tools, and answers a call of each that needs no preview',
      inWorld(async (world) => {
        const admin = startOn(world, runtime);
        assert.is((await admin.initialize()).result?.protocolVersion, '2025-11-25');
        const { tools } = ((await admin.ask('tools/list')).result ?? {}) as { tools?: { name: string }[] };
        assert.equal(
          tools?.map((tool) => tool.name),
          [...TOOLS],
        );
        for (const [tool, given] of [...READING_CALLS, ...CHANGING_CALLS]) {
          const { isError, content, structuredContent } = await admin.call(tool, given);
          assert.is(isError, undefined, `${tool}: ${content[0]?.text}`);
          assert.equal(JSON.parse(content[0]?.text ?? ''), structuredContent);
        }
        assert.match((await admin.call('read', { path: 'users/999' })).content[0]?.text ?? '', /^NOT_FOUND: /);
      }),
    );

    check.thorough(
      'credits once, remembers it over a restart on Node, and leaves a journal for its owner alone',
      inWorld(async (world) => {
        const admin = startOn(world, runtime);
        const pair = { preview_token: await previewed(admin, 2, '12.5'), idempotency_key: keyNumber(1) };
        assert.is((await admin.call('recharge', pair)).structuredContent?.outcome, 'verified');
        assert.is((await admin.endInput()).code, 0);
        const { structuredContent } = await world.start().call('recharge', pair);
        assert.equal([structuredContent?.outcome, structuredContent?.replayed], ['verified', true]);
        assert.equal([rechargesSeen(world.control).length, world.control.credits().length], [1, 1]);
        assert.is(statSync(world.journal).mode & 0o777, 0o600);
        assert.not.match(world.journalText() + admin.stderr() + admin.lines().join('\n'), KEY);
      }),
    );

    check.thorough(
      'ends within two seconds when its input ends or a signal comes, also in the middle of a recharge',
      inWorld(async (world) => {
        for (const [at, end] of (['endInput', 'SIGTERM'] as const).entries()) {
          const admin = startOn(world, runtime);
          await admin.initialize();
          const pair = { preview_token: await previewed(admin, 2 + at * 2, '1'), idempotency_key: keyNumber(at) };
          world.control.useFault('stuck');
          admin.send({ id: 'slow', method: 'tools/call', params: { name: 'recharge', arguments: pair } });
          await until('the recharge is there', () => rechargesSeen(world.control).length > at);
          const { code, signal, tookMs } = end === 'endInput' ? await admin.endInput() : await admin.signal(end);
          assert.equal([code, signal], [0, null], end);
          assert.ok(tookMs < 2500, `${end}: ${Math.round(tookMs)} ms`);
          const { structuredContent } = await startOn(world, runtime).call('recharge', pair);
          assert.equal([structuredContent?.outcome, structuredContent?.history_rows], ['accepted_unverified', 1]);
        }
        assert.is(rechargesSeen(world.control).length, 2);
      }),
    );

    check.thorough('refuses settings that are wrong', async () => {
      const { code, stdout, stderr } = await run(program(runtime.command), runtime.words, {
        variables: { RELAY_BASE_URL: 'ftp://canary', RELAY_TIMEOUT_MS: 'canary' },
      });
      assert.equal([code, stdout], [1, '']);
      assert.match(stderr, /gatehouse relay-admin: RELAY_BASE_URL: /);
      assert.match(stderr, /gatehouse relay-admin: RELAY_TIMEOUT_MS: /);
      assert.not.match(stderr, 'canary');
    });
  });
}

describe('the relay admin bundle on Deno', (check) => {
  check(
    'needs no more than the relay, its journal and the environment',
    inWorld(async (world) => {
      const { relay, directory } = world;
      const rights = [`--allow-net=${relay.host}`, `--allow-read=${directory},${bundle('relay-admin.js')}`];
      const words = [
        'run',
        '--no-prompt',
        ...rights,
        `--allow-write=${directory}`,
        '--allow-env',
        bundle('relay-admin.js'),
      ];
      const admin = world.start({ command: program(Deno.command), words });
      const pair = { preview_token: await previewed(admin, 2, '1'), idempotency_key: keyNumber(1) };
      assert.is((await admin.call('recharge', pair)).structuredContent?.outcome, 'verified');
    }),
  );
});

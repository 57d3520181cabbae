import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import type { Ended } from '../processes.ts';
import type { RelayAdminProcess } from './process.ts';
import { inWorld, KEY, keyNumber, previewed, type RelayAdminWorld, rechargesSeen, until } from './world.ts';

type End = Ended & { readonly tookMs: number };

const WAYS: Readonly<Record<string, (admin: RelayAdminProcess) => Promise<End>>> = {
  'the end of its input': (admin) => admin.endInput(),
  SIGTERM: (admin) => admin.signal('SIGTERM'),
  SIGINT: (admin) => admin.signal('SIGINT'),
  SIGHUP: (admin) => admin.signal('SIGHUP'),
  'a client that is gone': async (admin) => {
    const startedAt = performance.now();
    admin.child.stdout?.destroy();
    // The first to write an answer finds out.
    admin.send({ id: 'last', method: 'ping' });
    return { ...(await admin.ended), tookMs: performance.now() - startedAt };
  },
};

const assertCleanEnd = ({ code, signal, tookMs }: End, limitMs = 2000): void => {
  assert.equal([code, signal], [0, null]);
  assert.ok(tookMs < limitMs, `${Math.round(tookMs)} ms`);
};

/** A recharge that has reached the relay and is not answered yet. */
const rechargeUnderWay = async ({ start, control }: RelayAdminWorld, fault: 'stuck' | 'stuck-before' | 'late') => {
  const admin = start();
  await admin.initialize();
  const pair = { preview_token: await previewed(admin, 2, '5'), idempotency_key: keyNumber(1) };
  control.setDelayMs(600);
  control.useFault(fault);
  admin.send({ id: 'recharge', method: 'tools/call', params: { name: 'recharge', arguments: pair } });
  await until('the recharge is there', () => rechargesSeen(control).length > 0);
  return { admin, pair };
};

const kindsIn = (journal: string): readonly string[] =>
  journal
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { kind: string }).kind);

/** Local addresses on which a process waits for others. */
const listenersOf = (pid: number): readonly string[] => {
  const sockets = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return [];
    }
  });
  const own = new Set(sockets);
  return ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((kind) =>
    readFileSync(`/proc/${pid}/net/${kind}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([, , , state = '', , , , , , inode = '']) => own.has(inode) && (state === '0A' || kind.startsWith('udp')),
      )
      .map(([, local = '']) => `${kind} ${local}`),
  );
};

const throwing = (code: string): string =>
  `data:text/javascript,${encodeURIComponent(`setTimeout(() => { ${code} }, 300);`)}`;

/** All signals end it the same way: `npm test` tries one of them in the middle of a recharge. */
const isTried = ([name]: readonly [string, unknown]): boolean =>
  thorough(0, 1) === 1 || !['SIGINT', 'SIGHUP'].includes(name);

describe('stopping the relay admin bundle', (check) => {
  for (const [name, stop] of Object.entries(WAYS)) {
    check.thorough(
      `by ${name} takes no time when nothing is under way`,
      inWorld(async ({ start }) => {
        const admin = start();
        await admin.initialize();
        assertCleanEnd(await stop(admin), 1000);
      }),
    );
  }

  for (const [name, stop] of Object.entries(WAYS).filter(isTried)) {
    check(
      `by ${name} waits for a recharge that is answered soon, and writes down what came of it`,
      inWorld(async (world) => {
        const { admin, pair } = await rechargeUnderWay(world, 'late');
        assertCleanEnd(await stop(admin));
        assert.equal(kindsIn(world.journalText()), ['seal', 'claim', 'settlement']);
        const { structuredContent } = await world.start().call('recharge', pair);
        assert.equal([structuredContent?.outcome, structuredContent?.replayed], ['verified', true]);
        assert.is(rechargesSeen(world.control).length, 1);
      }),
    );

    check(
      `by ${name} does not wait long for one that is not, and the next start knows that it was sent`,
      inWorld(async (world) => {
        const { admin, pair } = await rechargeUnderWay(world, name === 'SIGTERM' ? 'stuck-before' : 'stuck');
        assertCleanEnd(await stop(admin));
        assert.equal(kindsIn(world.journalText()), ['seal', 'claim']);
        const next = world.start();
        const { structuredContent } = await next.call('recharge', pair);
        assert.equal(
          [structuredContent?.outcome, structuredContent?.reason, structuredContent?.replayed],
          ['accepted_unverified', 'answer_not_recorded', true],
        );
        assert.is(structuredContent?.history_rows, name === 'SIGTERM' ? 0 : 1);
        assert.is(rechargesSeen(world.control).length, 1);
        const other = await next.call('recharge', { ...pair, idempotency_key: keyNumber(2) });
        assert.match(other.content[0]?.text ?? '', /^IDEMPOTENCY_CONFLICT: /);
      }),
    );
  }

  check.thorough(
    'does not wait for reads',
    inWorld(async ({ start, control }) => {
      control.useRouteFault('stuck', 10);
      const admin = start();
      admin.send({ id: 1, method: 'tools/call', params: { name: 'read', arguments: { path: 'users' } } });
      await until('the read is there', () => control.requests().length > 0);
      assertCleanEnd(await admin.endInput(), 1000);
    }),
  );

  check.thorough(
    'works beside a client that has stopped to read',
    inWorld(async ({ start }) => {
      const admin = start();
      await admin.initialize();
      admin.child.stdout?.pause();
      for (let id = 100; id < 1100; id++) admin.send({ id, method: 'tools/list' });
      await new Promise((settle) => setTimeout(settle, 500));
      const startedAt = performance.now();
      admin.child.kill('SIGTERM');
      // Its end shows only once what it has written is read, or let go.
      await until('it is gone', () => admin.child.exitCode !== null || admin.child.signalCode !== null);
      const tookMs = performance.now() - startedAt;
      assertCleanEnd({ code: admin.child.exitCode, signal: admin.child.signalCode, tookMs });
      admin.child.stdout?.destroy();
    }),
  );

  check(
    'after a bug ends with 1, reports its kind, and not its words',
    inWorld(async ({ start }) => {
      const bugs = [
        `throw new TypeError('${KEY}')`,
        `Promise.reject(new TypeError('${KEY}'))`,
        `const bug = new TypeError('x'); bug.name = 'TypeError'; bug.cause = '${KEY}'; throw bug`,
      ];
      for (const bug of bugs) {
        const admin = start({ flags: ['--import', throwing(bug)] });
        const { code } = await admin.ended;
        assert.is(code, 1);
        assert.match(admin.stderr(), 'gatehouse relay-admin: stopped by a bug (TypeError)');
        assert.not.match(admin.stderr(), KEY);
        assert.equal(admin.lines(), []);
      }
    }),
  );
});

describe('the running relay admin bundle', (check) => {
  check.needing(
    existsSync('/proc/self/net/tcp') ? undefined : '/proc',
    'waits for no one on any network',
    inWorld(async ({ start }) => {
      const admin = start();
      await admin.initialize();
      await admin.call('read', { path: 'users' });
      assert.equal(listenersOf(admin.pid), []);
      // The relay of this test is in this process, and is seen.
      assert.is(listenersOf(process.pid).length, 1);
    }),
  );
});

import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AdminState } from '../../../src/gateway/admin/openapi.ts';
import { describe } from '../../check.ts';
import { firstEvent } from '../admin-events.ts';
import { judgedBy, type Script, startBackend } from '../backends.ts';
import { fetchText, KEY, moderate } from '../client.ts';
import type { Variables } from '../processes.ts';
import { gatewayEnd } from './process.ts';
import { ANSWERED, linesOf, metric, openConnection, startLoad, until, workerIds } from './workers.ts';
import { type GatewayWorld, withGateway } from './world.ts';

const judged: Script = () => undefined;
const inWorld = (script: Script, variables: Variables, body: (world: GatewayWorld) => Promise<void>) => () =>
  withGateway({ script, variables: { GATEWAY_WORKERS: '2', ...variables } }, body);
const eventsOf = ({ gateway }: GatewayWorld): string[] => linesOf(gateway).map(({ event }) => event);
/** The limit in the command line of each worker. */
const youngGenerations = ({ gateway }: GatewayWorld): string[] =>
  workerIds(gateway).map(
    (id) => /--max-semi-space-size=\d+/.exec(readFileSync(`/proc/${id}/cmdline`, 'utf8'))?.[0] ?? '',
  );

describe('a gateway with two workers', (check) => {
  check(
    'spreads a few connections evenly over both, says once that it listens, and numbers their lines',
    inWorld(judged, {}, async (world) => {
      const { gateway } = world;
      // They stay open: whether one that closes is counted still depends on the machine. One after the other: at the same
      // moment a worker that is busy for long could be passed over.
      const connections = [0, 1, 2, 3].map(() => openConnection(gateway.address));
      for (const [turn, { ask }] of connections.entries()) assert.is(await ask(`request-${turn}`, 'good morning'), 200);
      await gateway.outputMatching(/request-3/);
      for (const { close } of connections) close();
      const answers = linesOf(gateway).filter(({ event }) => event === 'request-answered');
      assert.equal(answers.map(({ worker }) => worker).toSorted(), [1, 1, 2, 2]);
      assert.is(eventsOf(world).filter((event) => event === 'listening').length, 1);
      assert.is(workerIds(gateway).length, 2);
      assert.equal(
        youngGenerations(world),
        ['--max-semi-space-size=8', '--max-semi-space-size=8'],
        'as npm start does',
      );
    }),
  );

  check(
    'does not limit the young generation of its workers where it is limited already',
    inWorld(judged, { NODE_OPTIONS: '--max-semi-space-size=16' }, async (world) => {
      assert.equal(youngGenerations(world), ['', '']);
    }),
  );

  check(
    'has one rate limit, one set of verdicts and one set of cool-downs',
    inWorld(judged, { RATE_LIMIT_RPM: '6' }, async ({ gateway, backend }) => {
      const statuses: number[] = [];
      for (let turn = 0; turn < 9; turn++) {
        statuses.push((await moderate(gateway.address, { input: 'the same text' }, { connection: 'close' })).status);
        // Longer than a verdict takes to the other worker.
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
      assert.equal(statuses, [200, 200, 200, 200, 200, 200, 429, 429, 429]);
      assert.is(backend.calls.length, 1);
    }),
  );

  check(
    'asks with a refused key once, and not once for each worker',
    inWorld(
      ({ authorization }) =>
        authorization.endsWith('key-a') ? { status: 401, body: '{"error":"unauthorized"}' } : undefined,
      { BACKEND_API_KEYS: 'key-a,key-b' },
      async ({ gateway, backend }) => {
        for (let turn = 0; turn < 8; turn++) {
          assert.is((await moderate(gateway.address, { input: `text ${turn}` }, { connection: 'close' })).status, 200);
          await new Promise((resolve) => setTimeout(resolve, 30));
        }
        assert.is(backend.calls.filter(({ authorization }) => authorization.endsWith('key-a')).length, 1);
      },
    ),
  );

  check(
    'makes no more calls at a time than one process would',
    inWorld(
      () => ({ delayMs: 400 }),
      { MAX_CONCURRENCY: '3' },
      async ({ gateway, backend }) => {
        const asked = Array.from({ length: 12 }, (_, turn) =>
          moderate(gateway.address, { input: `text ${turn}` }, { connection: 'close' }),
        );
        await until(() => backend.calls.length === 3, 'three calls');
        await new Promise((resolve) => setTimeout(resolve, 40));
        assert.is(backend.calls.length, 3);
        assert.ok((await Promise.all(asked)).every(({ status }) => status === 200));
      },
    ),
  );

  check(
    'has one feed and one state for operators, and ends the feed when it stops',
    inWorld(judged, { GATEWAY_ADMIN_KEY: 'operators' }, async ({ gateway }) => {
      const { address } = gateway;
      const feed = { address, key: 'operators', event: 'stopping' };
      await firstEvent(feed, async (arrived) => {
        // Until every worker knows that somebody reads.
        await new Promise((resolve) => setTimeout(resolve, 100));
        const connections = [0, 1, 2, 3].map(() => openConnection(address));
        for (const [turn, { ask }] of connections.entries()) await ask(`watched-${turn}`, `watched text ${turn}`);
        for (const { close } of connections) close();
        const { text } = await fetchText(`${address}/admin/state`, { headers: { authorization: 'Bearer operators' } });
        const state = v.parse(AdminState, JSON.parse(text));
        assert.equal([state.workers, state.calls.limit], [{ running: 2, answered: 2 }, 64]);
        const [{ model = '', completion = 0 } = {}] = state.tokens;
        assert.is(completion, await metric(address, `gatehouse_tokens_total{model="${model}",kind="output"}`));
        assert.ok(completion > 0);
        // Longer than an event takes from one worker to the reader at the other.
        await new Promise((resolve) => setTimeout(resolve, 600));
        gateway.signal('SIGTERM');
        const seen = (await arrived).text;
        assert.is(seen.split('event: verdict').length, 5);
        assert.not.match(seen, 'watched');
      });
      assert.equal(await gateway.ended, { code: 0, signal: null });
    }),
  );

  check(
    'replaces a worker that is killed under load: its requests fail and no others, and no count goes back',
    inWorld(
      () => ({ delayMs: 2 }),
      {},
      async (world) => {
        const { gateway } = world;
        const load = startLoad(gateway, 12);
        await until(() => load.answered() > 200, 'the load');
        const before = await metric(gateway.address, ANSWERED);
        const [victim = 0] = workerIds(gateway);
        const killedAt = Date.now();
        process.kill(victim, 'SIGKILL');
        await gateway.outputMatching(/"event":"worker-replaced"/);
        const atReplacement = load.answered();
        await until(() => load.answered() > atReplacement + 200, 'the load to go on');
        const after = await metric(gateway.address, ANSWERED);
        await load.stop();
        const lines = linesOf(gateway);
        const ended = lines.find(({ event }) => event === 'worker-ended');
        assert.is(ended?.reason, 'SIGKILL');
        const failures = load.failures();
        assert.ok(failures.length <= 12, `${failures.length} failures`);
        assert.ok(failures.some(({ worker }) => worker !== undefined));
        for (const { code, at, worker } of failures) {
          assert.is(code, 'ECONNRESET');
          assert.ok(at - killedAt < 1000, `${at - killedAt} ms after the kill`);
          // Undefined: nothing had been answered on this connection.
          if (worker !== undefined) assert.is(worker, ended?.worker);
        }
        assert.ok(after > before, `${before}, then ${after}`);
        assert.is(await metric(gateway.address, 'gatehouse_worker_restarts_total'), 1);
        assert.is(await metric(gateway.address, 'gatehouse_workers'), 2);
        assert.not(workerIds(gateway).includes(victim));
      },
    ),
  );

  check(
    'keeps its port open while both workers are gone, and answers who came meanwhile',
    inWorld(judged, {}, async ({ gateway }) => {
      for (const id of workerIds(gateway)) process.kill(id, 'SIGKILL');
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, turn) =>
          openConnection(gateway.address).ask(`meanwhile-${turn}`, 'good morning'),
        ),
      );
      // One may have been with a worker whose end was not known yet; none is refused, and none waits for ever.
      assert.ok(
        answers.every((answer) => answer === 200 || answer === 'ECONNRESET'),
        String(answers),
      );
      assert.ok(answers.includes(200));
      assert.is((await fetchText(`${gateway.address}/ready`)).status, 200);
    }),
  );

  check(
    'is asked to stop once, finishes what runs, and ends with 0',
    inWorld(
      () => ({ delayMs: 700 }),
      {},
      async (world) => {
        const { gateway, backend } = world;
        const workers = workerIds(gateway);
        const slow = Array.from({ length: 4 }, (_, turn) =>
          openConnection(gateway.address).ask(`slow-${turn}`, `text ${turn}`),
        );
        await until(() => backend.calls.length === 4, 'the calls');
        // As a terminal and a service manager do.
        for (const id of workers) process.kill(id, 'SIGTERM');
        gateway.signal('SIGTERM');
        await gateway.outputMatching(/"event":"stopping"/);
        const late = await openConnection(gateway.address).ask('late', 'x');
        assert.is(late, 'ECONNREFUSED');
        assert.equal(await Promise.all(slow), [200, 200, 200, 200]);
        assert.equal(await gateway.ended, { code: 0, signal: null });
        const events = eventsOf(world);
        assert.equal(
          events.filter((event) => event.startsWith('stop')),
          ['stopping', 'stopped'],
        );
        assert.not(events.includes('worker-ended'));
        assert.is(events.at(-1), 'stopped');
      },
    ),
  );

  check(
    'ends at once with 1 at a second signal, and leaves no worker behind',
    inWorld(
      () => 'hang',
      {},
      async ({ gateway, backend }) => {
        const workers = workerIds(gateway);
        const arrived = backend.nextCall();
        const hanging = openConnection(gateway.address).ask('hanging', 'x');
        await arrived;
        gateway.signal('SIGTERM');
        await gateway.outputMatching(/"event":"stopping"/);
        await new Promise((resolve) => setTimeout(resolve, 600));
        gateway.signal('SIGTERM');
        assert.equal(await gateway.ended, { code: 1, signal: null });
        assert.is(await hanging, 'ECONNRESET');
        await until(() => workers.every((id) => !isAlive(id)), 'the workers to end');
      },
    ),
  );

  check(
    'leaves no worker behind when its first process is killed, and each worker logs why it ends',
    inWorld(judged, {}, async ({ gateway }) => {
      const workers = workerIds(gateway);
      assert.is(workers.length, 2);
      await gateway.kill();
      await until(() => workers.every((id) => !isAlive(id)), 'the workers to end');
      const reasons = linesOf(gateway).filter(({ event }) => event === 'first-process-ended');
      assert.equal(reasons.map(({ level, worker }) => [level, worker]).sort(), [
        ['error', 1],
        ['error', 2],
      ]);
    }),
  );
});

const isAlive = (id: number): boolean => {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
};

describe('a gateway whose workers cannot run', (check) => {
  const ending = async (variables: Variables) => {
    const backend = await startBackend();
    try {
      return await gatewayEnd({
        MODERATION_API_KEYS: KEY,
        ...judgedBy(backend.address),
        GATEWAY_WORKERS: '3',
        ...variables,
      });
    } finally {
      await backend.stop();
    }
  };
  const errorsIn = (stderr: string): string[] =>
    stderr.split('\n').filter((line) => line.startsWith('gatehouse gateway:'));

  check('says once what is wrong with its settings, and ends with 1', async () => {
    const wrong = await ending({ REQUEST_DEADLINE_MS: 'soon' });
    assert.equal(
      [wrong.code, errorsIn(wrong.stderr)],
      [1, ['gatehouse gateway: REQUEST_DEADLINE_MS: expected a whole number from 100 to 600000']],
    );
    const missing = await ending({ MODERATION_POLICY_FILE: '/nowhere/policy.json' });
    assert.equal(
      [missing.code, errorsIn(missing.stderr)],
      [
        1,
        [
          'gatehouse gateway: MODERATION_POLICY_FILE: expected the path of a file that can be read: no such file or directory (ENOENT)',
        ],
      ],
    );
  });

  check('says once that its port is in use', async () => {
    const backend = await startBackend();
    const { code, stderr } = await ending({ PORT: String(backend.port) });
    await backend.stop();
    assert.is(code, 1);
    assert.equal(errorsIn(stderr), [
      `gatehouse gateway: PORT: port ${backend.port} on 127.0.0.1 is in use; set PORT to a free one`,
    ]);
  });
});

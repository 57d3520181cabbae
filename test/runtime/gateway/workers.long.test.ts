import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Variables } from '../processes.ts';
import { ANSWERED, linesOf, metric, startLoad, until, workerIds } from './workers.ts';
import { type GatewayWorld, withGateway } from './world.ts';

const KILLS = 50;
const CLIENTS = 16;
/** Longer than half the time after which a worker counts as one that was all right, as two take turns. */
const BETWEEN_KILLS_MS = 1100;

const inWorld = (variables: Variables, body: (world: GatewayWorld) => Promise<void>) => () =>
  withGateway({ script: () => ({ delayMs: 2 }), variables: { GATEWAY_WORKERS: '2', ...variables } }, body);

describe('a gateway with workers under load', (check) => {
  check(
    `of which ${KILLS} are killed, fails the requests on their connections and no others`,
    inWorld({}, async ({ gateway }) => {
      const load = startLoad(gateway, CLIENTS);
      await until(() => load.answered() > 200, 'the load');
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_KILLS_MS));
      const kills: { readonly at: number; readonly until: number }[] = [];
      let counted = 0;
      for (let kill = 1; kill <= KILLS; kill++) {
        // The older one: both get as old as the other.
        const [victim = 0] = workerIds(gateway);
        const at = Date.now();
        process.kill(victim, 'SIGKILL');
        const replaced = () => linesOf(gateway).filter(({ event }) => event === 'worker-replaced').length;
        await until(() => replaced() === kill, `the successor number ${kill}`);
        kills.push({ at, until: Date.now() });
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_KILLS_MS));
        const now = await metric(gateway.address, ANSWERED);
        assert.ok(now > counted, `${counted}, then ${now} answers`);
        counted = now;
      }
      await load.stop();
      const ends = linesOf(gateway).filter(({ event }) => event === 'worker-ended');
      assert.equal(
        ends.map(({ reason }) => reason),
        kills.map(() => 'SIGKILL'),
      );
      const failures = load.failures();
      console.log(`${load.answered()} answers, ${failures.length} failures in ${KILLS} kills`);
      assert.ok(failures.length > 0 && failures.length <= KILLS * CLIENTS);
      for (const { code, at, worker } of failures) {
        const index = kills.findIndex((kill) => kill.at <= at && at <= kill.until + BETWEEN_KILLS_MS);
        assert.is(code, 'ECONNRESET');
        assert.ok(index >= 0, 'a failure without a kill');
        // Undefined: nothing had been answered on this connection.
        if (worker !== undefined) assert.is(worker, ends[index]?.worker);
      }
    }),
  );

  check(
    'closes a connection that sends no whole head in its time, as one process does',
    inWorld({}, async ({ gateway }) => {
      const socket = connect(Number(new URL(gateway.address).port), '127.0.0.1', () =>
        socket.write('GET /health HTTP/1.1\r\nHo'),
      );
      const startedAt = Date.now();
      await new Promise((resolve) =>
        socket
          .resume()
          .on('error', () => {})
          .on('close', resolve),
      );
      assert.ok(Date.now() - startedAt < 14_000, `${Date.now() - startedAt} ms`);
    }),
  );
});

describe('a gateway whose workers cannot run', (check) => {
  check('starts them again and again, ever later, and ends with 1 and the reason', async () => {
    await withGateway({ variables: { GATEWAY_WORKERS: '2' } }, async ({ gateway }) => {
      const killAll = setInterval(() => {
        for (const id of workerIds(gateway)) process.kill(id, 'SIGKILL');
      }, 20);
      gateway.ended.finally(() => clearInterval(killAll));
      assert.equal(await gateway.ended, { code: 1, signal: null });
      assert.match(
        gateway.stderr(),
        /\ngatehouse gateway: every worker process ended 5 times within 2 s of its start, the last one with SIGKILL/,
      );
      const delays = linesOf({ ...gateway, stderr: () => gateway.stderr().replace(/^gatehouse.*\n/m, '') })
        .filter(({ event, worker }) => event === 'worker-ended' && worker === 1)
        .map(({ restMs }) => restMs);
      assert.equal(delays.slice(0, 4), [250, 500, 1000, 2000]);
    });
  });
});

// What a shared Redis costs: gateways on one Redis beside one without, and one whose Redis is lost. Prints tables, judges nothing.
// node bench/redis.mjs [--rounds 3] [--seconds 2]. Needs redis-server.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { freePort, LOAD_CPU, runToEnd, startServer, sum } from './process.mjs';
import { backendPlan, rowsFor } from './rows.mjs';

const GATEWAYS = [0, 1, 2, 4];
const CLIENTS = 8;
const KEY_LIMIT_RPM = 1_000_000;

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '2' } },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const fixed = (number, digits = 1) => number.toFixed(digits).padStart(9);

const redisPort = await freePort();
const redisWords = ['--port', redisPort, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'].map(String);
const server = spawn('redis-server', redisWords, { stdio: 'ignore' });
server.on('error', (error) => {
  process.stderr.write(`redis-server: ${error.code}\n`);
  process.exit(1);
});
process.on('exit', () => server.kill('SIGKILL'));
const redis = new Redis(redisPort, '127.0.0.1', { protocol: 2, retryStrategy: () => 50 });
redis.on('error', () => {});
await redis.ping();

/** What Redis has done so far: the commands of the gateways, and its processor time in µs. */
const work = async () => {
  const [stats, cpu] = [await redis.info('commandstats'), await redis.info('cpu')];
  const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].filter(([, name]) => !/^(info|ping)$/.test(name));
  const used = [...cpu.matchAll(/used_cpu_(?:user|sys):([\d.]+)/g)].map(([, value]) => Number(value));
  return { commands: sum(calls.map(([, , count]) => Number(count))), micros: sum(used) * 1e6 };
};

const backendPort = await freePort();
await startServer({ ...(await backendPlan(backendPort, 0)), port: backendPort, cpu: LOAD_CPU });
const { plan, load } = rowsFor(`http://127.0.0.1:${backendPort}`, 0).find(({ name }) => name === 'gateway');
const backendUrl = `http://127.0.0.1:${backendPort}`;
const startGateway = async (isShared) => {
  const port = await freePort();
  const shared = { REDIS_URL: `redis://127.0.0.1:${redisPort}`, RATE_LIMIT_RPM: String(KEY_LIMIT_RPM) };
  return startServer({ ...(await plan(port, backendUrl, isShared ? shared : {})), port });
};

let nextText = 0;
const runLoad = async (port, concurrency, forSeconds) => {
  const job = { ...load, port, concurrency, seconds: forSeconds, firstText: nextText };
  nextText += 10_000_000;
  return runToEnd({
    args: [join(import.meta.dirname, 'load.mjs')],
    env: { LOAD_JOB: JSON.stringify(job) },
    cpu: LOAD_CPU,
  });
};

/** One run over this many gateways on the Redis; none means a single one without it. */
const measure = async (count) => {
  const gateways = await Promise.all(Array.from({ length: Math.max(1, count) }, () => startGateway(count > 0)));
  await pause(300);
  const [before, cpuBefore] = [await work(), sum(gateways.map((one) => one.cpuMs()))];
  const runs = await Promise.all(gateways.map(({ port }) => runLoad(port, CLIENTS / gateways.length, seconds)));
  const [after, cpuAfter] = [await work(), sum(gateways.map((one) => one.cpuMs()))];
  for (const one of gateways) await one.stop();
  const sent = sum(runs.map((run) => run.sent));
  return {
    gatewayMicros: ((cpuAfter - cpuBefore) * 1000) / sent,
    redisMicros: (after.micros - before.micros) / sent,
    commands: (after.commands - before.commands) / sent,
    failures: sum(runs.map((run) => run.failures.count)),
  };
};

const rows = new Map(GATEWAYS.map((count) => [count, []]));
for (let round = 0; round < rounds; round += 1)
  for (const count of round % 2 === 0 ? GATEWAYS : GATEWAYS.toReversed()) rows.get(count).push(await measure(count));

console.log(`µs of processor and commands a verdict, uncached, medians of ${rounds} rounds`);
console.log('gateways    gateway     Redis  commands  failures');
for (const [count, all] of rows) {
  const of = (name) => median(all.map((one) => one[name]));
  const name = count === 0 ? 'no Redis' : `${count} on it`;
  console.log(
    `${name.padEnd(9)}${fixed(of('gatewayMicros'))}${fixed(of('redisMicros'))}${fixed(of('commands'), 2)} ${String(sum(all.map((one) => one.failures))).padStart(9)}`,
  );
}

/** A load on one gateway, while something happens to Redis a second after it began. */
const disturbed = async (name, happen, mend) => {
  const gateway = await startGateway(true);
  await pause(300);
  const run = runLoad(gateway.port, CLIENTS, 4);
  await pause(1300);
  await happen();
  const { p50Ms, p99Ms, maxMs, sent, failures } = await run;
  await mend();
  await gateway.stop();
  const slowest = maxMs === undefined ? '' : `, slowest ${maxMs.toFixed(0)}`;
  console.log(
    `${name}: ${sent} answered, ${failures.count} failed, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)}${slowest}`,
  );
};
console.log('\none gateway, four seconds of load, Redis lost after one');
await disturbed(
  'Redis stays',
  async () => {},
  async () => {},
);
await disturbed(
  'Redis hangs',
  async () => server.kill('SIGSTOP'),
  async () => server.kill('SIGCONT'),
);
await disturbed(
  'Redis is killed',
  async () => server.kill('SIGKILL'),
  async () => {},
);
process.exit(0);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { createLog } from '../../../../src/core/log.ts';
import { parseRedisAddress } from '../../../../src/gateway/adapter/redis/address.ts';
import { createRedisState } from '../../../../src/gateway/adapter/redis/shared-state.ts';
import { describe } from '../../../check.ts';
import { freePort, missing, startRedis, until } from './servers.ts';

/** A cluster of one server, with every slot, that was never told its own address. */
const startNameless = async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const file = join(directory, 'nodes.conf');
  const words = ['--cluster-enabled', 'yes', '--cluster-config-file', file, '--cluster-port', String(await freePort())];
  const server = await startRedis(port, ...words);
  const redis = new Redis(port, '127.0.0.1', { protocol: 2 });
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok'), 'the cluster');
  return { ...server, redis, place: `127.0.0.1:${port}` };
};

const stateAt = (url: string) => {
  const reasons: string[] = [];
  const write = (line: string) => void reasons.push(JSON.parse(line).reason);
  const log = createLog({ level: 'debug', service: 'check', clock: systemClock, write });
  return { state: createRedisState({ address: parseRedisAddress(url), secret: 'shared', log }), reasons };
};

describe('a Redis Cluster of one server that does not know its address', (check) => {
  check.needing(missing, 'is lost by a reason that says so; it is used as one server, or once it knows', async () => {
    const { kill, redis, place } = await startNameless();
    const cluster = stateAt(`redis-cluster://${place}`);
    await until(() => cluster.reasons.length > 0, 'the line');
    assert.equal(cluster.reasons, ['NO_CLUSTER_ADDRESS']);
    const server = stateAt(`redis://${place}`);
    await until(server.state.isUp, 'the connection as to one server');
    await redis.call('CONFIG', 'SET', 'cluster-announce-ip', '127.0.0.1');
    await until(cluster.state.isUp, 'the connection as to a cluster');
    await Promise.all([cluster.state.close(), server.state.close()]);
    redis.disconnect();
    await kill();
  });
});

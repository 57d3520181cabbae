import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { freePort, missing, startRedis } from '../../gateway/adapter/redis/servers.ts';
import { judgedBy, startBackend } from '../backends.ts';
import { KEY, moderate } from '../client.ts';
import type { Variables } from '../processes.ts';
import { type Gateway, gatewayEnd, startGateway } from './process.ts';

type Pair = { readonly first: Gateway; readonly second: Gateway; readonly ask: () => Promise<number> };

/** Runs `body` with two gateways on one port. `ask` opens a connection for its request. */
const withPair = async (more: Variables, body: (pair: Pair, variables: Variables) => Promise<void>): Promise<void> => {
  const backend = await startBackend();
  const shared = { MODERATION_API_KEYS: KEY, REUSE_PORT: 'true', ...judgedBy(backend.address), ...more };
  const first = await startGateway(shared);
  const variables = { ...shared, PORT: new URL(first.address).port };
  const second = await startGateway(variables);
  const ask = async () => (await moderate(first.address, { input: 'x' }, { connection: 'close' })).status;
  try {
    assert.is(second.address, first.address);
    await body({ first, second, ask }, variables);
  } finally {
    await Promise.all([first.kill(), second.kill(), backend.stop()]);
  }
};

const answeredBy = ({ stderr }: Gateway): number => stderr().split('"event":"request-answered"').length - 1;

/** So many that neither of two processes is without one by chance. */
const CONNECTIONS = 40;

describe('gateways with REUSE_PORT', (check) => {
  check('share a port: each answers, and one that stops leaves it to the other', () =>
    withPair({}, async ({ first, second, ask }, variables) => {
      for (let turn = 0; turn < CONNECTIONS; turn++) assert.is(await ask(), 200);
      const { code, stderr } = await gatewayEnd({ ...variables, REUSE_PORT: 'false' });
      assert.is(code, 1);
      assert.match(stderr, `port ${variables.PORT} on 127.0.0.1 is in use`);
      first.signal('SIGTERM');
      assert.equal(await first.ended, { code: 0, signal: null });
      for (let turn = 0; turn < 5; turn++) assert.is(await ask(), 200);
      second.signal('SIGTERM');
      assert.equal(await second.ended, { code: 0, signal: null });
      assert.ok(answeredBy(first) > 0 && answeredBy(second) > 5);
      assert.is(answeredBy(first) + answeredBy(second), CONNECTIONS + 5);
    }),
  );

  check.needing(missing, 'count requests together over one Redis', async () => {
    const redis = await startRedis(await freePort());
    await withPair({ REDIS_URL: redis.url, RATE_LIMIT_RPM: '10' }, async ({ ask }) => {
      const statuses: number[] = [];
      const began = performance.now();
      for (let turn = 0; turn < CONNECTIONS; turn++) statuses.push(await ask());
      // One more is let through every six seconds; two gateways that count alone let all of them through.
      const late = Math.ceil((performance.now() - began) / 6000);
      const passed = statuses.filter((status) => status === 200).length;
      assert.ok(passed >= 10 && passed <= 10 + late && passed < CONNECTIONS, `${passed} of ${CONNECTIONS}`);
      assert.is(statuses.filter((status) => status === 429).length, CONNECTIONS - passed);
    });
    await redis.kill();
  });
});

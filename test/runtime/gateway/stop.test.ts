import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import * as assert from 'uvu/assert';
import { startCollector } from '../../adapter/opentelemetry/collector.ts';
import { describe, thorough } from '../../check.ts';
import type { Script } from '../backends.ts';
import { KEY, moderate } from '../client.ts';
import { begunTogether } from '../together.ts';
import { type GatewayWorld, withGateway } from './world.ts';

const inWorld = (script: Script, body: (world: GatewayWorld) => Promise<void>) => (): Promise<void> =>
  withGateway({ script }, body);
const judged: Script = () => undefined;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Seen = { readonly status: number; readonly isLast: boolean; readonly text: string };

/** One connection that is kept alive: every question goes over it, as long as the gateway leaves it open. */
const keptAlive = (address: string) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path: string, body?: object) =>
      new Promise<Seen>((settle, reject) => {
        const call = request(address + path, {
          agent,
          method: body === undefined ? 'GET' : 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        });
        call.on('error', reject);
        call.on('response', (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (piece) => {
            text += piece;
          });
          response.on('error', reject);
          response.on('end', () =>
            settle({ status: response.statusCode ?? 0, isLast: response.headers.connection === 'close', text }),
          );
        });
        call.end(body === undefined ? undefined : JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
};

/** Asks and asks over one connection until the gateway says that this was the last time; what came of each question. */
const askOn = async (address: string, name: number): Promise<readonly string[]> => {
  const connection = keptAlive(address);
  const outcomes: string[] = [];
  for (let turn = 0; turn < 100_000; turn++) {
    try {
      const { status, isLast } = await connection.ask('/v1/moderations', { input: `line ${name}, text ${turn % 50}` });
      outcomes.push(String(status));
      if (isLast) break;
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      // Nobody was there to take the call: it is the caller's to go elsewhere, and nothing was lost.
      if (code !== 'ECONNREFUSED') outcomes.push(code);
      break;
    }
  }
  connection.close();
  return outcomes;
};

/** Those that mostly wait, and for long, wait together. */
const together = begunTogether();

describe('stopping the Node bundle', (check) => {
  check(
    'under load answers every request whose connection it took, and ends with 0',
    inWorld(
      () => ({ delayMs: 3 }),
      async ({ gateway }) => {
        const callers = Array.from({ length: 16 }, (_, name) => askOn(gateway.address, name));
        await pause(1500);
        const stoppedAt = performance.now();
        gateway.signal('SIGTERM');
        const outcomes = (await Promise.all(callers)).flat();
        assert.equal(new Set(outcomes), new Set(['200']));
        assert.ok(outcomes.length >= 32, `${outcomes.length} answers`);
        assert.equal(await gateway.ended, { code: 0, signal: null });
        assert.ok(performance.now() - stoppedAt < 3000);
        const events = gateway
          .stderr()
          .trimEnd()
          .split('\n')
          .map((line) => (JSON.parse(line) as { event: string }).event);
        assert.equal(
          events.filter((event) => event.startsWith('stop')),
          ['stopping', 'stopped'],
        );
        assert.is(events.at(-1), 'stopped');
        assert.is(events.filter((event) => event === 'request-answered').length, outcomes.length);
      },
    ),
  );

  check(
    'answers /ready on a connection that is still open',
    inWorld(judged, async ({ gateway }) => {
      const probe = keptAlive(gateway.address);
      assert.equal(await probe.ask('/ready'), { status: 200, isLast: false, text: '{"status":"ready"}' });
      gateway.signal('SIGTERM');
      await gateway.outputMatching(/"event":"stopping","signal":"SIGTERM"/);
      const { status, isLast, text } = await probe.ask('/ready');
      assert.equal([status, isLast], [503, true]);
      assert.match(text, 'the service is stopping');
      assert.equal(await gateway.ended, { code: 0, signal: null });
      probe.close();
    }),
  );

  check(
    'sends its spans, and is held up by a collector that does not answer for no longer than a second',
    together(async () => {
      const collector = await startCollector();
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as AddressInfo;
      // 33 spans each: the 16th request fills a batch, which is sent at once.
      const askAll = ({ gateway }: GatewayWorld): Promise<unknown> =>
        Promise.all(
          Array.from({ length: 16 }, async (_, name) => {
            const input = Array.from({ length: 32 }, (_, text) => `line ${name}, text ${text}`);
            assert.is((await moderate(gateway.address, { input })).status, 200);
          }),
        );
      const variables = (url: string) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, MAX_CONCURRENCY: '1000' });
      try {
        await withGateway({ variables: variables(collector.url) }, async (world) => {
          await askAll(world);
          while (collector.spans.length < 512) await pause(5);
          const asked = collector.spans.find(({ name }) => name === 'POST /v1/moderations');
          const called = collector.spans.filter(({ parentSpanId }) => parentSpanId === asked?.spanId);
          assert.ok(called.length > 0 && called.every(({ name }) => name.startsWith('chat ')));
        });
        await withGateway({ variables: variables(`http://127.0.0.1:${port}`) }, async (world) => {
          assert.is((await moderate(world.gateway.address, { input: 'x' })).status, 200);
          const stoppedAt = performance.now();
          world.gateway.signal('SIGTERM');
          assert.equal(await world.gateway.ended, { code: 0, signal: null });
          assert.ok(performance.now() - stoppedAt < 3000, `${performance.now() - stoppedAt} ms`);
        });
      } finally {
        await collector.close();
        silent.close();
      }
    }),
  );

  for (const signal of (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).slice(0, thorough(1, 3))) {
    check(
      `by ${signal} lets a slow request finish, takes no new one, and ends soon after it`,
      together(
        inWorld(
          () => ({ delayMs: 1500 }),
          async ({ gateway, backend }) => {
            const arrived = backend.nextCall();
            const connection = keptAlive(gateway.address);
            const slow = connection.ask('/v1/moderations', { input: 'I will kill you' });
            await arrived;
            gateway.signal(signal);
            await gateway.outputMatching(/"event":"stopping"/);
            const late = await moderate(gateway.address, { input: 'x' }).then(String, (error) =>
              String(error.cause.code),
            );
            assert.is(late, 'ECONNREFUSED');
            const { status, isLast, text } = await slow;
            assert.equal([status, isLast], [200, true]);
            assert.match(text, '"flagged":true');
            const answeredAt = performance.now();
            assert.equal(await gateway.ended, { code: 0, signal: null });
            assert.ok(performance.now() - answeredAt < 1500, `${performance.now() - answeredAt} ms`);
            connection.close();
          },
        ),
      ),
    );
  }

  check(
    'when no one is there takes no time, and is said',
    inWorld(judged, async ({ gateway }) => {
      const stoppedAt = performance.now();
      gateway.signal('SIGTERM');
      assert.equal(await gateway.ended, { code: 0, signal: null });
      assert.ok(performance.now() - stoppedAt < 1500);
      assert.match(gateway.stderr(), /"event":"stopped"\}\n$/);
    }),
  );

  check.thorough(
    'does not wait for connections on which no one asks',
    inWorld(judged, async ({ gateway }) => {
      const idle = keptAlive(gateway.address);
      await idle.ask('/health');
      const unused = connect(Number(new URL(gateway.address).port), '127.0.0.1');
      await once(unused, 'connect');
      const stoppedAt = performance.now();
      gateway.signal('SIGTERM');
      assert.equal(await gateway.ended, { code: 0, signal: null });
      assert.ok(performance.now() - stoppedAt < 2000);
      idle.close();
      unused.destroy();
    }),
  );

  check.thorough(
    'a second time ends it at once',
    inWorld(
      () => 'hang',
      async ({ gateway, backend }) => {
        const arrived = backend.nextCall();
        const hanging = moderate(gateway.address, { input: 'x' }).catch(() => undefined);
        await arrived;
        gateway.signal('SIGTERM');
        await gateway.outputMatching(/"event":"stopping"/);
        await pause(600);
        const secondAt = performance.now();
        gateway.signal('SIGTERM');
        assert.equal(await gateway.ended, { code: 1, signal: null });
        assert.ok(performance.now() - secondAt < 500);
        await hanging;
      },
    ),
  );

  check.thorough(
    'takes a signal that arrives twice in one moment for one, as a terminal and npm send it',
    inWorld(
      () => ({ delayMs: 500 }),
      async ({ gateway, backend }) => {
        const arrived = backend.nextCall();
        const slow = moderate(gateway.address, { input: 'x' });
        await arrived;
        gateway.signal('SIGINT');
        gateway.signal('SIGTERM');
        assert.is((await slow).status, 200);
        assert.equal(await gateway.ended, { code: 0, signal: null });
      },
    ),
  );

  check(
    'answers with an error what does not finish in ten seconds',
    together(
      inWorld(
        () => 'hang',
        async ({ gateway, backend }) => {
          const arrived = backend.nextCall();
          const hanging = moderate(gateway.address, { input: 'x' });
          const call = await arrived;
          const stoppedAt = performance.now();
          gateway.signal('SIGTERM');
          const { status, text } = await hanging;
          assert.is(status, 503);
          assert.match(text, 'The gateway is being stopped');
          const tookMs = performance.now() - stoppedAt;
          assert.ok(tookMs > 9500 && tookMs < 11_500, `${tookMs} ms`);
          assert.equal(await gateway.ended, { code: 0, signal: null });
          await call.closed;
        },
      ),
    ),
  );
});

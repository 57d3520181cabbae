import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Script } from '../backends.ts';
import { moderate, refusalOf, sendPieces } from '../client.ts';
import type { Variables } from '../processes.ts';
import { type GatewayWorld, withGateway } from './world.ts';

const inWorld =
  (script: Script, variables: Variables, body: (world: GatewayWorld) => Promise<void>) => (): Promise<void> =>
    withGateway({ script, variables }, body);
const judged: Script = () => undefined;
const tenOf = <T>(value: T): T[] => Array.from({ length: 10 }, () => value);

describe('the Node bundle and its clients', (check) => {
  for (const framing of ['declared', 'chunked'] as const) {
    check(
      `lets each of ten clients read why its ${framing} body is not wanted, sent at once, in pieces or slowly`,
      inWorld(judged, { MAX_BODY_BYTES: '65536' }, async ({ gateway }) => {
        const sendings = [
          { pieces: 1, pieceBytes: 1_000_000 },
          { pieces: 33, pieceBytes: 30_000 },
          { pieces: 10, pieceBytes: 20_000, pauseMs: 40 },
        ];
        for (const connection of ['keep-alive', 'close'] as const) {
          for (const sending of sendings) {
            const seen = await Promise.all(
              tenOf(sending).map((each) => sendPieces(gateway.address, { framing, connection, ...each })),
            );
            assert.equal(seen, tenOf(400), `${connection} ${JSON.stringify(sending)}`);
          }
        }
        const unknownName = { framing, pieces: 1, pieceBytes: 1_000_000, key: 'wrong', connection: 'close' } as const;
        const seen = await Promise.all(tenOf(unknownName).map((each) => sendPieces(gateway.address, each)));
        assert.equal(seen, tenOf(401));
      }),
    );
  }

  check(
    'keeps serving after a body that never ends',
    inWorld(judged, { MAX_BODY_BYTES: '65536' }, async ({ gateway }) => {
      // Past sixteen times the limit it is no longer read: what matters is that nobody else suffers.
      const endless = { framing: 'chunked', pieces: 200, pieceBytes: 30_000 } as const;
      const seen = await Promise.all(tenOf(endless).map((each) => sendPieces(gateway.address, each)));
      for (const one of seen) assert.ok([400, 'ECONNRESET', 'EPIPE'].includes(one), String(one));
      assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
    }),
  );

  check.thorough(
    'does not wait longer than the deadline for a body that stalls',
    inWorld(judged, { REQUEST_DEADLINE_MS: '500' }, async ({ gateway }) => {
      const startedAt = performance.now();
      const stalling = { framing: 'declared', pieces: 2, pieceBytes: 100, pauseMs: 5000 } as const;
      assert.is(await sendPieces(gateway.address, stalling), 408);
      assert.ok(performance.now() - startedAt < 3000);
    }),
  );

  check(
    'ends the backend call within 100 ms of the moment its client leaves',
    inWorld(
      () => 'hang',
      {},
      async ({ gateway, backend }) => {
        for (const _ of [1, 2, 3]) {
          const arrived = backend.nextCall();
          const leaver = new AbortController();
          const asked = moderate(gateway.address, { input: 'please hang' }, {}, leaver.signal).catch(() => undefined);
          const call = await arrived;
          const leftAt = performance.now();
          leaver.abort();
          const tookMs = (await call.closed) - leftAt;
          assert.ok(tookMs < 100, `${tookMs} ms`);
          await asked;
        }
        const [line = ''] = await gateway.outputMatching(/.*"fault":"client-left".*/);
        assert.is((JSON.parse(line) as { status: number }).status, 499);
      },
    ),
  );
});

describe('the Node bundle and its backend', (check) => {
  for (const faultyReply of ['hang', 'drip'] as const) {
    check(
      `gives up at the deadline on a backend that does nothing but ${faultyReply}, and closes the call`,
      inWorld(
        () => faultyReply,
        { REQUEST_DEADLINE_MS: '400' },
        async ({ gateway, backend }) => {
          const startedAt = performance.now();
          const answer = await moderate(gateway.address, { input: 'x' });
          const tookMs = performance.now() - startedAt;
          assert.equal([answer.status, refusalOf(answer).code], [504, 'backend_timeout']);
          assert.ok(tookMs > 350 && tookMs < 2000, `${tookMs} ms`);
          assert.is(backend.calls.length, 1);
          await backend.calls[0]?.closed;
        },
      ),
    );
  }

  for (const faultyReply of ['reset', 'reset-in-body'] as const) {
    check(
      `has an error and no verdict when the backend does a ${faultyReply}`,
      inWorld(
        ({ text }) => (text.includes('please') ? faultyReply : undefined),
        {},
        async ({ gateway }) => {
          const answer = await moderate(gateway.address, { input: 'please' });
          assert.equal([answer.status, refusalOf(answer).code], [502, 'backend_error']);
          assert.match(refusalOf(answer).message, /(?:no whole answer|it could not be reached) \([A-Z_]+\)/);
          assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
        },
      ),
    );
  }

  check.thorough(
    'moves on to another key when one breaks off',
    inWorld(
      ({ authorization }) => (authorization.endsWith('key-a') ? 'reset-in-body' : undefined),
      { BACKEND_API_KEYS: 'key-a,key-b' },
      async ({ gateway, backend }) => {
        for (const input of ['one', 'two', 'three'])
          assert.is((await moderate(gateway.address, { input })).status, 200);
        const tries = backend.calls.map(({ authorization }) => authorization.slice(-1));
        assert.ok(tries.includes('a') && tries.includes('b'), tries.join());
      },
    ),
  );

  check(
    'leaves a backend alone that failed five times in a row, and serves again when it is well',
    inWorld(
      ({ count }) => (count <= 5 ? { status: 500, body: '{}' } : undefined),
      {},
      async ({ gateway, backend }) => {
        const codes: string[] = [];
        for (let turn = 0; turn < 7; turn++) {
          codes.push(refusalOf(await moderate(gateway.address, { input: `text ${turn}` })).code);
        }
        assert.equal(new Set(codes), new Set(['backend_error']));
        assert.is(backend.calls.length, 5);
        await new Promise((resolve) => setTimeout(resolve, 2100));
        assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
      },
    ),
  );

  check.thorough(
    'answers no more than it was asked to at once, and never twice for one text',
    inWorld(
      () => ({ delayMs: 20 }),
      { MAX_CONCURRENCY: '4' },
      async ({ gateway, backend }) => {
        const inputs = Array.from({ length: 16 }, (_, index) => `text ${index % 8}`);
        const seen = await Promise.all(inputs.map((input) => moderate(gateway.address, { input })));
        assert.equal(new Set(seen.map(({ status }) => status)), new Set([200]));
        assert.is(backend.calls.length, 8);
      },
    ),
  );
});

describe('the log of the Node bundle', (check) => {
  check(
    'is one JSON line for each event, on stderr alone, without texts and keys',
    inWorld(judged, { BACKEND_API_KEYS: 'canary-backend-key', LOG_LEVEL: 'debug' }, async ({ gateway }) => {
      await moderate(gateway.address, { input: 'canary text\n{"level":"error"}' });
      await moderate(gateway.address, { input: [] }, { 'x-request-id': 'known-1' });
      await gateway.outputMatching(/known-1/);
      await gateway.outputMatching(/"ready"/);
      assert.is(gateway.stdout(), '');
      assert.not.match(gateway.stderr(), /canary/);
      const lines = gateway
        .stderr()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.equal(lines.map(({ event }) => String(event)).sort(), [
        'backend-dialect',
        'listening',
        'ready',
        'request-answered',
        'request-answered',
        'starting',
      ]);
      for (const { time, level, service } of lines) {
        assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
        assert.match(String(level), /^(debug|info|warn|error)$/);
        assert.is(service, 'gateway');
      }
      const { durationMs, ...facts } = lines.find(({ requestId }) => requestId === 'known-1') ?? {};
      assert.type(durationMs, 'number');
      assert.match(
        JSON.stringify(facts),
        '"requestId":"known-1","method":"POST","route":"/v1/moderations","status":400',
      );
    }),
  );
});

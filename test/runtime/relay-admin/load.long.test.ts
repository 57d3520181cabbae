import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import type { Message, RelayAdminProcess } from './process.ts';
import { inWorld, type RelayAdminWorld } from './world.ts';

const KB = 1024;
const CALLS = 1000;
const AT_A_TIME = 8;
/** Long enough for eight to wait at the same time on a busy machine. */
const ANSWER_MS = 60;

/** A page of users that is as long as that. */
const pageOf = (bytes: number): Buffer => {
  const item = (id: number) => ({
    ...{ id, email: `user-${id}@example.com`, username: `User ${id}`, balance: 1.5, status: 'active' },
    ...{ concurrency: 5, rpm_limit: 60, notes: 'Some words that somebody wrote. '.repeat(20) },
  });
  const count = Math.ceil(bytes / JSON.stringify(item(1000)).length);
  const items = Array.from({ length: count }, (_, id) => item(id + 1));
  const data = { items, total: count, page: 1, page_size: count, pages: 1 };
  return Buffer.from(JSON.stringify({ code: 0, message: 'success', data }));
};

/** A relay that answers everything with one body, and counts how many wait for it at a time. */
const startBigRelay = async (body: Buffer) => {
  let running = 0;
  let most = 0;
  let seen = 0;
  const server = createServer((_request, reply) => {
    running += 1;
    seen += 1;
    most = Math.max(most, running);
    reply.on('close', () => {
      running -= 1;
    });
    setTimeout(() => reply.setHeader('content-type', 'application/json').end(body), ANSWER_MS);
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    most: () => most,
    seen: () => seen,
    stop: () =>
      new Promise<void>((settle) => {
        server.close(() => settle());
        server.closeAllConnections();
      }),
  };
};

/** The most memory that a process ever had, where the system tells. */
const peakMb = ({ pid }: RelayAdminProcess): number =>
  Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

type Flood = {
  readonly bytes: number;
  readonly calls: number;
  readonly variables?: Readonly<Record<string, string>>;
};

/** Asks as often at once as it says, over a relay whose answers are as long as it says. */
const flood = async ({ start }: RelayAdminWorld, { bytes, calls, variables = {} }: Flood) => {
  const relay = await startBigRelay(pageOf(bytes));
  try {
    const admin = start({ variables: { RELAY_BASE_URL: relay.origin, LOG_LEVEL: 'error', ...variables } });
    await admin.initialize();
    // By then the start has asked which rights the key has, and the eight places are free.
    assert.is((await admin.call('health')).isError, undefined);
    const seenBefore = relay.seen();
    const startedAt = performance.now();
    const ids = Array.from({ length: calls }, (_, at) => `r${at}`);
    for (const id of ids)
      admin.send({ id, method: 'tools/call', params: { name: 'read', arguments: { path: 'users' } } });
    const answers: Message[] = [];
    for (const id of ids) answers.push(await admin.answerTo(id));
    const tookMs = performance.now() - startedAt;
    const facts = { answers, tookMs, most: relay.most(), seen: relay.seen() - seenBefore, peakMb: peakMb(admin) };
    assert.is((await admin.call('health')).isError, undefined, 'it lives');
    // A flood is nothing to warn of: the log stays a log.
    assert.is(admin.stderr(), '');
    return facts;
  } finally {
    await relay.stop();
  }
};

const failuresIn = (answers: readonly Message[]): readonly string[] =>
  answers.flatMap(({ result }) => (result?.isError === true ? JSON.stringify(result.content) : []));

describe('the relay admin bundle under load', (check) => {
  const missing = existsSync('/proc/self/status') ? undefined : '/proc';

  check.needing(
    missing,
    'answers a thousand reads at once, and lets the relay see eight at a time',
    inWorld(async (world) => {
      const { answers, most, seen, peakMb: peak } = await flood(world, { bytes: 50 * KB, calls: CALLS });
      assert.equal(failuresIn(answers), []);
      assert.equal([most, seen], [AT_A_TIME, CALLS]);
      assert.ok(peak < 200, `${peak} MB`);
    }),
  );

  check.needing(
    missing,
    'keeps its memory bounded when every answer is a megabyte',
    inWorld(async (world) => {
      const { answers, most, peakMb: peak } = await flood(world, { bytes: KB * KB, calls: 100 });
      assert.equal(failuresIn(answers), []);
      assert.is(most, AT_A_TIME);
      assert.ok(peak < 200, `${peak} MB`);
    }),
  );

  check.needing(
    missing,
    'answers also those for whom there is no time',
    inWorld(async (world) => {
      const variables = { RELAY_TIMEOUT_MS: '2000' };
      const { answers, tookMs, peakMb: peak } = await flood(world, { bytes: KB * KB, calls: CALLS, variables });
      const failures = failuresIn(answers);
      assert.ok(failures.length > 0);
      for (const failure of failures)
        assert.match(failure, 'DEADLINE: the time for this call is over. outcome=not_applied');
      assert.ok(tookMs < 15_000, `${tookMs} ms`);
      assert.ok(peak < 200, `${peak} MB`);
    }),
  );
});

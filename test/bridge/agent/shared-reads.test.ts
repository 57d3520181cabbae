import * as assert from 'uvu/assert';
import { agentRetryMs, withRetries } from '../../../src/bridge/agent/errors.ts';
import { shareReads } from '../../../src/bridge/agent/shared-reads.ts';
import type { AgentClient } from '../../../src/bridge/agent/types.ts';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { NEVER, quiet } from '../harness/log-readers.ts';

const UNREACHED = new Fault({ kind: 'backend-error', reason: 'The agent server cannot be reached' });

/** An agent whose reads a test ends, or that takes some time for each. */
const createReads = () => {
  const begun: string[] = [];
  const waiting: PromiseWithResolvers<never[]>[] = [];
  const read = (name: string): Promise<never[]> => {
    begun.push(name);
    const result = Promise.withResolvers<never[]>();
    waiting.push(result);
    return result.promise;
  };
  const agent = {
    messages: (id: string) => read(id),
    busySessions: () => read('busy').then((ids) => new Set(ids)),
  } as Partial<AgentClient> as AgentClient;
  return { begun, waiting, shared: shareReads(agent) };
};
/** Numbers that look random and are the same in each run. */
const createChances = () => {
  let seed = 7;
  return (): number => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
};

describe('the reads of many turns', (check) => {
  check('of one list are one, and whoever calls while it runs gets a newer one', async () => {
    const { begun, waiting, shared } = createReads();
    const first = shared.busySessions(NEVER);
    const later = Array.from({ length: 50 }, () => shared.busySessions(NEVER));
    await quiet();
    assert.equal(begun, ['busy']);
    waiting.shift()?.resolve([]);
    await first;
    await quiet();
    assert.equal(begun, ['busy', 'busy']);
    waiting.shift()?.resolve([]);
    await Promise.all(later);
    assert.is(begun.length, 2);
  });

  check('of messages are eight at a time, one for each session', async () => {
    const { begun, waiting, shared } = createReads();
    const reads = Array.from({ length: 40 }, (_, index) => shared.messages(`s${index % 20}`, NEVER));
    await quiet();
    assert.is(begun.length, 8);
    while (waiting.length > 0) {
      waiting.shift()?.resolve([]);
      await quiet();
      assert.ok(waiting.length <= 8);
    }
    await Promise.all(reads);
    // The second call for a session came while its first read was waited for.
    assert.is(begun.length, 40);
  });

  check('fail for all who share them, and not for the next', async () => {
    const { waiting, shared } = createReads();
    const first = shared.messages('s', NEVER);
    await quiet();
    const [second, third] = [shared.messages('s', NEVER), shared.messages('s', NEVER)];
    waiting.shift()?.reject(UNREACHED);
    assert.is(await rejection(first), UNREACHED);
    await quiet();
    waiting.shift()?.resolve([]);
    assert.equal([await second, await third], [[], []]);
  });

  check('go on for the others when one ends, and do not begin for those that have all ended', async () => {
    const { begun, waiting, shared } = createReads();
    const leaving = new AbortController();
    const reads = Array.from({ length: 8 }, (_, index) => shared.messages(`s${index}`, NEVER));
    const left = shared.messages('left', leaving.signal);
    const [ended, kept] = [shared.messages('s0', leaving.signal), shared.messages('s0', NEVER)];
    await quiet();
    leaving.abort(UNREACHED);
    assert.equal([await rejection(left), await rejection(ended)], [UNREACHED, UNREACHED]);
    for (let count = 0; count < 9; count++) {
      waiting.shift()?.resolve([]);
      await quiet();
    }
    await Promise.all([...reads, kept]);
    assert.not.ok(begun.includes('left'));
    assert.is(begun.filter((name) => name === 's0').length, 2);
  });
});

describe('two hundred turns whose events were lost', (check) => {
  check('come back spread out, and ask an agent that does not answer less and less often', async () => {
    const clock = createFakeClock();
    const startedAt = clock.now();
    const calls: number[] = [];
    let running = 0;
    let most = 0;
    const agent = {
      async messages() {
        calls.push(clock.now() - startedAt);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => clock.after(2, resolve));
        running -= 1;
        if (clock.now() - startedAt < 20_000) throw UNREACHED;
        return [];
      },
    } as Partial<AgentClient> as AgentClient;
    const shared = shareReads(agent);
    const chance = createChances();
    const reads = Array.from({ length: 200 }, (_, index) =>
      withRetries(() => shared.messages(`s${index}`, NEVER), { clock, chance, signal: NEVER }),
    );
    await clock.advance(30_000);
    await Promise.all(reads);
    assert.is(most, 8);
    // Every second it would be 4200 calls, 200 in the same millisecond.
    assert.ok(calls.length <= 1600, `${calls.length} calls`);
    const later = calls.filter((atMs) => atMs > 2000);
    const busiest = Math.max(
      ...later.map((atMs) => later.filter((other) => other >= atMs && other < atMs + 100).length),
    );
    assert.ok(busiest <= 40, `${busiest} calls within 100 ms`);
    assert.ok((calls.at(-1) ?? 0) <= 28_100, `the last one at ${calls.at(-1)} ms`);
  });

  check('wait a second, doubled up to eight, and half of that at least', () => {
    const waits = [0, 1, 2, 3, 4, 5, 40].map((failures) => agentRetryMs(failures, () => 0));
    assert.equal(waits, [1000, 1000, 2000, 4000, 8000, 8000, 8000]);
    assert.is(
      agentRetryMs(4, () => 1),
      4000,
    );
  });
});

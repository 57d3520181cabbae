import * as assert from 'uvu/assert';
import { createAgentTransport } from '../../../src/bridge/agent/servers.ts';
import { createDeadline } from '../../../src/core/async.ts';
import { Fault } from '../../../src/core/fault.ts';
import { HttpClientError } from '../../../src/core/http/client.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { type Kind, type Ways, waysTo } from './scripted-servers.ts';

const KINDS: readonly Kind[] = ['get', 'post', 'prompt'];

/** Calls of one kind, one after the other: what came of them and who was asked. */
const calls = async (ways: Ways, count: number, kind: Kind = 'get'): Promise<readonly string[]> => {
  const reported: string[] = [];
  for (let call = 0; call < count; call++) {
    const { result, places } = await ways.call(kind);
    reported.push(`${result} by ${places}`);
  }
  return reported;
};

describe('one agent server', (check) => {
  check('is reached over the very ways that were given', () => {
    const httpClient = async () => {
      throw new HttpClientError('ECONNREFUSED');
    };
    const stream = httpClient;
    const given = { credentials: undefined, httpClient, stream, clock: createFakeClock(), log: () => {} };
    const reach = createAgentTransport({ baseUrls: ['http://agent.test'], ...given });
    assert.is(reach.baseUrl, 'http://agent.test');
    assert.is(reach.httpClient, httpClient);
    assert.is(reach.stream, stream);
    assert.is(reach.servers, undefined);
  });
});

describe('several agent servers', (check) => {
  check('are asked in turn, for prompts apart from all else', async () => {
    const ways = waysTo(200, 200, 200);
    assert.equal(await calls(ways, 4), ['200 by 0', '200 by 1', '200 by 2', '200 by 0']);
    assert.equal(await calls(ways, 2, 'prompt'), ['200 by 0', '200 by 1']);
    assert.equal(await calls(ways, 2, 'post'), ['200 by 1', '200 by 2']);
    assert.is(ways.asked[0]?.path, '/base/session');
    assert.equal(ways.reported, []);
  });

  for (const kind of KINDS) {
    check(`hand on a ${kind} that one of them refused to connect for, and leave that one out`, async () => {
      const ways = waysTo('ECONNREFUSED', 200);
      assert.equal(await calls(ways, 4, kind), ['200 by 0 1', '200 by 1', '200 by 1', '200 by 1']);
      assert.equal(ways.reported, ['agent-left-out 1 of 2 ECONNREFUSED 500']);
      assert.equal(ways.reach.servers?.count(), { total: 2, healthy: 1 });
    });

    check(`hand on a ${kind} that one of them cannot take now`, async () => {
      const ways = waysTo(200, 503, 200);
      assert.equal(await calls(ways, 4, kind), ['200 by 0', '200 by 1 2', '200 by 0', '200 by 2']);
      assert.equal(ways.reported, ['agent-left-out 2 of 3 status 503 1000']);
    });

    check(`answer a ${kind} as one server would when all are away`, async () => {
      const ways = waysTo('ECONNREFUSED', 'CONNECT_TIMEOUT');
      assert.is((await ways.call(kind)).result, 'CONNECT_TIMEOUT');
      ways.manners.fill(503);
      assert.equal(await ways.call(kind), { result: '503', places: '0 1' });
      ways.manners[1] = 'ECONNREFUSED';
      assert.is((await ways.call(kind)).result, '503');
    });
  }

  check('never hand on what may have been begun', async () => {
    for (const manner of ['ECONNRESET', 'EPIPE', 'CONNECTION_FAILED', 'ANSWER_TOO_LARGE']) {
      for (const kind of ['post', 'prompt'] as const) {
        assert.equal(await waysTo(manner, 200).call(kind), { result: manner, places: '0' });
      }
    }
    for (const status of [400, 401, 404, 500, 502, 504]) {
      for (const kind of KINDS)
        assert.equal(await waysTo(status, 200).call(kind), { result: `${status}`, places: '0' });
    }
  });

  check('do not hand on a 503 that is not of an agent server', async () => {
    const ways = waysTo(503, 200);
    ways.retryAfter.value = null;
    assert.equal(await ways.call('prompt'), { result: '503', places: '0' });
    assert.equal(ways.reported, []);
  });

  check('hand on what broke off if twice is no different, and hold it against no one', async () => {
    const ways = waysTo('ECONNRESET', 200);
    assert.equal(await calls(ways, 3), ['200 by 0 1', '200 by 0 1', '200 by 0 1']);
    assert.equal(ways.reported, []);
    assert.equal(await waysTo('ANSWER_TOO_LARGE', 200).call(), { result: 'ANSWER_TOO_LARGE', places: '0' });
  });

  check('hand nothing on for somebody who has left', async () => {
    const ways = waysTo('silent', 200);
    const leaving = new AbortController();
    const called = ways.call('get', leaving.signal);
    leaving.abort(new Fault({ kind: 'client-left' }));
    assert.is((await called).places, '0');
    assert.equal(ways.reported, []);
  });

  check('leave out one that does not answer in time', async () => {
    const ways = waysTo('silent', 200);
    const called = ways.call('get', createDeadline(ways.clock, 10_000).signal);
    await ways.clock.advance(10_000);
    await called;
    assert.equal(ways.reported, ['agent-left-out 1 of 2 no answer in time 500']);
    assert.equal(await calls(ways, 2), ['200 by 1', '200 by 1']);
  });

  check('try one that was left out again, with one request at a time and ever more rarely', async () => {
    const ways = waysTo('ECONNREFUSED', 200);
    const tries: number[] = [];
    for (let ms = 0; ms < 40_000; ms += 100) {
      const { result, places } = await ways.call('prompt');
      assert.is(result, '200');
      if (places !== '1') tries.push(ms);
      await ways.clock.advance(100);
    }
    assert.equal(tries, [0, 500, 1500, 3500, 7500, 15_500, 25_500, 35_500]);
    assert.equal(ways.reported, ['agent-left-out 1 of 2 ECONNREFUSED 500']);
  });

  check('leave one out for half a second, however many requests it refuses at once', async () => {
    const ways = waysTo('ECONNREFUSED', 200);
    await Promise.all(Array.from({ length: 20 }, () => ways.call()));
    assert.is(ways.asked.filter(({ place }) => place === 0).length, 10);
    ways.manners[0] = 200;
    await ways.clock.advance(500);
    assert.match((await calls(ways, 2)).join(), 'by 0');
  });

  check('take one back as soon as it answers', async () => {
    const ways = waysTo('ECONNREFUSED', 200);
    await calls(ways, 2);
    ways.manners[0] = 200;
    await ways.clock.advance(500);
    assert.equal(await calls(ways, 3), ['200 by 0', '200 by 1', '200 by 0']);
    assert.equal(ways.reported, ['agent-left-out 1 of 2 ECONNREFUSED 500', 'agent-back 1 of 2']);
    assert.equal(ways.reach.servers?.count(), { total: 2, healthy: 2 });
  });

  check('do not take one back for what it was asked before it failed', async () => {
    const ways = waysTo('slow', 200);
    const slow = ways.call('prompt');
    ways.manners[0] = 'ECONNREFUSED';
    await calls(ways, 2, 'prompt');
    assert.is(ways.reach.servers?.count().healthy, 1);
    await ways.clock.advance(60_000);
    assert.is((await slow).result, '200');
    assert.equal(ways.reported, ['agent-left-out 1 of 2 ECONNREFUSED 500']);
  });

  check('are all asked while all are left out, so the first that is back serves', async () => {
    const ways = waysTo('ECONNREFUSED', 'ECONNREFUSED');
    await calls(ways, 5);
    ways.manners[1] = 200;
    assert.match((await calls(ways, 1))[0] ?? '', /^200 by (?:0 )?1$/);
    assert.equal(ways.reported.at(-1), 'agent-back 2 of 2');
  });

  check('report their events at one of them, and at the next one after a loss', async () => {
    const ways = waysTo(200, 200, 200);
    assert.equal([await ways.open(), await ways.open(), await ways.open()], ['200 by 0', '200 by 1', '200 by 2']);
    assert.ok(ways.asked.every(({ sent }) => sent.headers['last-event-id'] === 'evt_7'));
    assert.ok(ways.asked.every(({ path }) => path === '/base/event'));
  });

  check('report their events at one that is there, and leave no connection to the others', async () => {
    const ways = waysTo(503, 'ECONNREFUSED', 200);
    const leaving = new AbortController();
    assert.is(await ways.open(leaving.signal), '200 by 0 1 2');
    assert.equal(
      ways.asked.map(({ sent }) => sent.signal.aborted),
      [true, false, false],
    );
    leaving.abort(new Error('silent'));
    assert.ok(ways.asked[2]?.sent.signal.aborted);
    assert.is(await waysTo('ECONNREFUSED', 'ECONNREFUSED').open(), 'ECONNREFUSED by 0 1');
  });

  check('can be looked at, each with the credentials and none twice at once', async () => {
    const ways = waysTo(200, 'silent', 503, 'ECONNREFUSED');
    const looks = [ways.reach.servers?.probe(), ways.reach.servers?.probe()];
    await ways.clock.advance(3000);
    await Promise.all(looks);
    assert.equal(
      ways.asked.map(({ place, path }) => `${place} ${path}`),
      [0, 1, 2, 3].map((place) => `${place} /base/session/status`),
    );
    assert.ok(ways.asked.every(({ sent }) => sent.headers.authorization?.startsWith('Basic ')));
    assert.equal([...ways.reported].sort(), [
      'agent-left-out 2 of 4 no answer in time 500',
      'agent-left-out 3 of 4 status 503 1000',
      'agent-left-out 4 of 4 ECONNREFUSED 500',
    ]);
    assert.is(ways.clock.pending(), 0);
    ways.manners.fill(200);
    await ways.reach.servers?.probe();
    assert.is(ways.clock.pending(), 0);
    assert.equal(ways.reach.servers?.count(), { total: 4, healthy: 4 });
  });

  check('say nothing of where they are', async () => {
    const ways = waysTo('ECONNREFUSED', 503, 200);
    await calls(ways, 3);
    assert.not.match(ways.reported.join('\n'), /agent-\d|test|secret/);
  });
});

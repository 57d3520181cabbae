import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createVerdictCache } from '../../../src/gateway/judge/cache.ts';
import type { CategoryScores } from '../../../src/gateway/policy/categories.ts';
import { NORMALISER_VERSION } from '../../../src/gateway/text/normalize.ts';
import { describe } from '../../check.ts';
import { judgedBy, parsePolicy } from '../harness/policies.ts';
import { eachCategory, resultsOf } from '../harness/read-answer.ts';
import { createReplicas } from '../harness/replicas.ts';
import { gatewayOver, judging, received, replying, shownTextOf, type WorldSettings } from '../harness/world.ts';

const SCORES: CategoryScores = Array(13).fill(0.5) as number[];

describe('the verdict cache', (check) => {
  check('does not live longer for being used', () => {
    let now = 0;
    const cache = createVerdictCache(4, 1000, () => now);
    cache.store('a', SCORES);
    for (now = 0; now < 1000; now += 100) {
      cache.find('a');
      cache.store(`other ${now}`, SCORES);
      assert.is(cache.find('a'), SCORES);
    }
    assert.is(cache.find('a'), undefined);
  });
  check('never holds more than its bound, and finds nothing but what was kept', () => {
    const step = fc.record({ isKept: fc.boolean(), key: fc.integer({ min: 0, max: 12 }), ms: fc.nat(400) });
    fc.assert(
      fc.property(fc.nat(8), fc.array(step, { maxLength: 80 }), (maxEntries, steps) => {
        let now = 0;
        const cache = createVerdictCache(maxEntries, 1000, () => now);
        const kept = new Map<number, { scores: CategoryScores; at: number }>();
        for (const { isKept, key, ms } of steps) {
          now += ms;
          if (isKept) {
            const scores = [now];
            cache.store(String(key), scores);
            kept.set(key, { scores, at: now });
          } else {
            const found = cache.find(String(key));
            const known = kept.get(key);
            if (found !== undefined) assert.ok(known?.scores === found && now - known.at < 1000);
          }
          assert.ok(cache.size() <= maxEntries, `${cache.size()} of ${maxEntries}`);
        }
      }),
    );
  });
  check('keeps what is used when it runs full', () => {
    const cache = createVerdictCache(100, 1000, () => 0);
    cache.store('used', SCORES);
    for (let index = 0; index < 1000; index++) {
      cache.store(`other ${index}`, SCORES);
      assert.is(cache.find('used'), SCORES);
    }
    assert.is(cache.find('other 0'), undefined);
    assert.is(cache.find('other 999'), SCORES);
  });
});

const cacheWordOf = (response: Response) => response.headers.get('x-moderation-cache');

describe('a verdict that is known', (check) => {
  check('costs no call, and the answer says so', async () => {
    const { ask, calls } = gatewayOver(judging({ HR: 70 }));
    const first = await ask({ input: 'same' });
    const second = await ask({ input: 'same' });
    assert.equal([cacheWordOf(first), cacheWordOf(second)], ['miss', 'hit']);
    assert.equal((await resultsOf(second))[0], (await resultsOf(first))[0]);
    assert.is(calls.length, 1);
    const mixed = await ask({ input: ['same', 'other'] });
    assert.is(cacheWordOf(mixed), 'partial');
    assert.equal((await resultsOf(mixed)).length, 2);
    assert.is(cacheWordOf(await ask({ input: ['other', 'same'] })), 'hit');
    assert.is(calls.length, 2);
  });
  check('is asked for again when its time is over', async () => {
    const { ask, calls, clock } = gatewayOver(judging(), { variables: { CACHE_TTL_SECONDS: '60' } });
    await ask({ input: 'same' });
    await clock.advance(59_999);
    assert.is(cacheWordOf(await ask({ input: 'same' })), 'hit');
    await clock.advance(1);
    assert.is(cacheWordOf(await ask({ input: 'same' })), 'miss');
    assert.is(calls.length, 2);
  });
  for (const off of [{ CACHE_TTL_SECONDS: '0' }, { CACHE_MAX_ENTRIES: '0' }]) {
    check(`is not remembered with ${JSON.stringify(off)}`, async () => {
      const { ask, calls } = gatewayOver(judging(), { variables: off });
      await ask({ input: 'same' });
      assert.is(cacheWordOf(await ask({ input: 'same' })), 'miss');
      assert.is(calls.length, 2);
    });
  }
  check('is no error: those are never remembered', async () => {
    let asked = 0;
    const bad = [received(500, ''), received(401, ''), received(200, '<html>')];
    const { ask, calls } = gatewayOver((sent) => bad[asked++] ?? (asked < 6 ? replying(sent, '{}') : judging()(sent)), {
      variables: { BACKEND_API_KEYS: 'a,b,c,d,e,f,g,h' },
    });
    assert.is((await ask({ input: 'same' })).status, 502);
    const before = calls.length;
    let response = await ask({ input: 'same' });
    while (response.status !== 200 && calls.length < 12) response = await ask({ input: 'same' });
    assert.is(cacheWordOf(response), 'miss');
    assert.ok(calls.length > before);
  });
  check('is not given to a look-alike of its text', async () => {
    const { ask, calls } = gatewayOver(judging());
    for (const input of ['same', 'Same', 'same ', 'ѕame', 'same\0same']) await ask({ input });
    const known = calls.length;
    for (const input of ['same', 'Same', 'same ', 'ѕame', 'same\0same']) await ask({ input });
    assert.is(calls.length, known);
    assert.ok(known >= 5);
  });
  check('serves texts that read the same to the judge', async () => {
    const { ask, calls } = gatewayOver(judging());
    for (const input of ['same text', 'same\u200b text', 'ｓａｍｅ text', 'same text\0']) await ask({ input });
    assert.is(calls.length, 1);
  });
});

/** Verdicts that several gateways share, as a replica set does. */
const sharing = () => {
  const { shared, verdicts } = createReplicas();
  const callsOf = async (settings: WorldSettings, body: object = { input: 'same text' }) => {
    const { ask, calls } = gatewayOver(judging({ HR: 60 }), { ...settings, needs: { ...settings.needs, shared } });
    const response = await ask(body);
    const [result] = await resultsOf(response);
    assert.equal(result?.scores, eachCategory(0, { harassment: 0.6 }));
    return {
      count: calls.length,
      word: cacheWordOf(response),
      isFlagged: result?.flagged,
      shown: calls.map(shownTextOf),
    };
  };
  return { callsOf, verdicts };
};
const policyOf = (category: object, version = 'house') =>
  parsePolicy(JSON.stringify({ version, categories: { harassment: category } }));

describe('a verdict of another replica', (check) => {
  check('is used', async () => {
    const { callsOf, verdicts } = sharing();
    assert.is((await callsOf({})).count, 1);
    const second = await callsOf({});
    assert.equal([second.count, second.word], [0, 'hit']);
    assert.is(verdicts.size, 1);
    for (const key of verdicts.keys()) assert.not.match(key, /same text/);
  });
  check('is used for what is left of its time, and then judged again', async () => {
    const { shared, verdicts } = createReplicas(1000);
    await gatewayOver(judging(), { needs: { shared } }).ask({ input: 'same text' });
    const { ask, calls, clock } = gatewayOver(judging(), { needs: { shared } });
    await ask({ input: 'same text' });
    verdicts.clear();
    await clock.advance(999);
    assert.is(cacheWordOf(await ask({ input: 'same text' })), 'hit');
    await clock.advance(1);
    assert.is(cacheWordOf(await ask({ input: 'same text' })), 'miss');
    assert.is(calls.length, 1);
  });
  check('is flagged by the thresholds of anyone who uses it', async () => {
    const { callsOf } = sharing();
    assert.is((await callsOf({})).isFlagged, true);
    const strict = await callsOf(judgedBy(policyOf({ threshold: 0.8 })));
    assert.equal([strict.count, strict.isFlagged], [0, false]);
  });

  const OTHERS: Readonly<Record<string, readonly [settings: WorldSettings, body?: object]>> = {
    'other guidance': [judgedBy(policyOf({ guidance: 'Be strict.' }))],
    'another model behind the alias': [{ variables: { MODERATION_MODELS: '{"omni-moderation-latest":"gemma4:31b"}' } }],
    'another level of thinking': [
      { variables: { MODERATION_MODELS: '{"omni-moderation-latest":{"model":"gpt-oss:20b","think":"high"}}' } },
    ],
    'other windows': [{ variables: { MODERATION_WINDOW_CHARS: '5000' } }],
    'another text': [{}, { input: 'same text.' }],
  };
  for (const [name, [settings, body]] of Object.entries(OTHERS)) {
    check(`is not used for ${name}`, async () => {
      const { callsOf } = sharing();
      await callsOf({});
      assert.is((await callsOf(settings, body)).count, 1);
    });
  }
  check('is used for another alias of the same model', async () => {
    const { callsOf } = sharing();
    await callsOf({});
    assert.is((await callsOf({}, { input: 'same text', model: 'moderation-fast' })).count, 0);
  });
  check('is bound to the version of the normaliser', async () => {
    const hashed: string[] = [];
    const digest = (text: string) => {
      hashed.push(text);
      return text;
    };
    await gatewayOver(judging(), { needs: { digest } }).ask({ input: 'a' });
    assert.ok(hashed.some((text) => text.split('\0').includes(NORMALISER_VERSION)));
  });
  check('works with a hash that takes its time', async () => {
    const digest = async (text: string) => `hash of ${text.length} ${text.at(-1)}`;
    const { ask, calls } = gatewayOver(judging(), { needs: { digest } });
    await ask({ input: 'same' });
    assert.is(cacheWordOf(await ask({ input: 'same' })), 'hit');
    assert.is(calls.length, 1);
  });
});

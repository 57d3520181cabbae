import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { HttpClientError, type HttpRequest } from '../../../src/core/http/client.ts';
import { type FoundBy, type ShadowOutcome, SILENT_GATEWAY_METRICS } from '../../../src/gateway/metrics.ts';
import { DEFAULT_POLICY, onePolicy } from '../../../src/gateway/policy/policy.ts';
import { describe, thorough } from '../../check.ts';
import { askGuard, guardVerdictJson, isGuardCall } from '../harness/guards.ts';
import { image, text } from '../harness/image-inputs.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { auditBody } from '../harness/relay-audit.ts';
import {
  ABLE_MODEL,
  type Answer,
  gatewayOver,
  nonceOf,
  received,
  replying,
  systemMessageOf,
  verdictJson,
  type WorldSettings,
} from '../harness/world.ts';

type Scores = Readonly<Record<string, number>>;
const modelOf = ({ body = '{}' }: HttpRequest): string => (JSON.parse(body) as { model: string }).model;
const LIVE = 'gpt-oss:20b';
const SHADOW = 'gpt-oss:120b';
const says =
  (scores: Scores = {}): Answer =>
  (sent) =>
    replying(sent, (isGuardCall(sent) ? guardVerdictJson : verdictJson)(nonceOf(sent), scores));
const hangs: Answer = () => new Promise<never>(() => {});
const BODY = { model: 'moderation-fast', input: 'some text' };

/** A gateway whose shadow is the judge of `moderation-accurate`, what it counts, and the lines that it keeps. */
const shadowed = (
  { live = says(), shadow = says() }: { readonly live?: Answer; readonly shadow?: Answer },
  setting: object = {},
  { variables, needs, ...rest }: WorldSettings = {},
) => {
  const counted: ShadowOutcome[] = [];
  const found: (readonly [string, FoundBy])[] = [];
  const lines: string[] = [];
  const world = gatewayOver((sent) => (modelOf(sent) === SHADOW ? shadow(sent) : live(sent)), {
    variables: {
      MODERATION_SHADOW: JSON.stringify({ alias: 'moderation-accurate', share: 1, ...setting }),
      ...variables,
    },
    needs: {
      metrics: {
        ...SILENT_GATEWAY_METRICS,
        shadow: (outcome) => counted.push(outcome),
        shadowFound: (category, foundBy) => found.push([category, foundBy]),
      },
      keepDisagreement: (line) => lines.push(line),
      ...needs,
    },
    ...rest,
  });
  const shadowCalls = () => world.calls.filter((sent) => modelOf(sent) === SHADOW);
  return { ...world, counted, found, lines, shadowCalls };
};

describe('the shadow', (check) => {
  check('judges once the answer is made, and counts that the two agree', async () => {
    const { ask, clock, counted, found, lines, shadowCalls } = shadowed({
      live: says({ HA: 90 }),
      shadow: says({ HA: 60 }),
    });
    assert.is((await resultsOf(await ask(BODY)))[0]?.category_scores.hate, 0.9);
    assert.equal([shadowCalls().length, counted], [0, []]);
    await clock.advance(0);
    assert.equal([shadowCalls().length, counted, found, lines], [1, ['agreed'], [['hate', 'both']], []]);
  });
  check('counts by category who finds what, and keeps disagreements as scores and a hash', async () => {
    const { ask, clock, counted, found, lines } = shadowed({
      live: says({ HA: 90, VI: 70 }),
      shadow: says({ VI: 60, SX: 50 }),
    });
    await ask({ ...BODY, input: 'canary text' });
    await clock.advance(0);
    assert.equal(counted, ['differed']);
    assert.equal(found, [
      ['hate', 'live'],
      ['sexual', 'shadow'],
      ['violence', 'both'],
    ]);
    assert.is(lines.length, 1);
    assert.not.match(lines[0] ?? '', 'canary');
    const kept = JSON.parse(lines[0] ?? '') as Record<string, unknown> & { live: Scores; shadow: Scores };
    assert.equal([kept.only_live, kept.only_shadow], [['hate'], ['sexual']]);
    assert.equal([kept.live.hate, kept.shadow.hate, kept.shadow.violence, kept.chars], [0.9, 0, 0.6, 11]);
    assert.equal([kept.alias, kept.shadow_alias], ['moderation-fast', 'moderation-accurate']);
    assert.match(String(kept.text_sha256), /^[0-9a-f]{64}$/);
  });
  check('keeps the beginning of the texts where that is asked for', async () => {
    const { ask, clock, lines } = shadowed({ live: says({ HA: 90 }) }, { file: '/nowhere/shadow.jsonl', texts: true });
    await ask({ ...BODY, input: `canary ${'word '.repeat(2000)}` });
    await clock.advance(0);
    const { text: kept } = JSON.parse(lines[0] ?? '') as { text: string };
    assert.match(kept, /^canary word/);
    assert.is(kept.length, 4000);
  });
  check('judges each text of a request and each chat of the guard face, with its categories', async () => {
    const doubting =
      (JB: number): Answer =>
      (sent) =>
        says(isGuardCall(sent) ? { JB } : {})(sent);
    const world = shadowed({ live: doubting(30), shadow: doubting(80) }, { calls: 4 });
    await askGuard(world, auditBody('some text', 'qwen3guard'));
    await world.clock.advance(0);
    assert.equal(world.found, [['jailbreak', 'shadow']]);
    await resultsOf(await world.ask({ ...BODY, input: ['one', 'two', 'three'] }));
    await world.clock.advance(0);
    assert.is(world.shadowCalls().length, 4);
  });
  check('may be a policy alone: the same model by other rules', async () => {
    const strict = {
      ...DEFAULT_POLICY,
      version: 'strict',
      guidance: 'No mercy.',
      categories: DEFAULT_POLICY.categories.map((category) => ({ ...category, threshold: 0.1 })),
    };
    const { ask, clock, calls, found } = shadowed(
      { live: says({ HA: 20 }) },
      { alias: undefined, policy: 'strict' },
      { needs: { policies: { ...onePolicy(DEFAULT_POLICY), shadow: strict } } },
    );
    await ask(BODY);
    await clock.advance(0);
    assert.equal(calls.map(modelOf), [LIVE, LIVE]);
    assert.not.match(systemMessageOf(calls[0]!), 'No mercy');
    assert.match(systemMessageOf(calls[1]!), 'No mercy');
    assert.equal(found, [['hate', 'shadow']]);
  });
  check('leaves alone what it would judge as the live judge does', async () => {
    const { ask, clock, calls, counted } = shadowed({});
    await ask({ ...BODY, model: 'moderation-accurate' });
    await clock.advance(0);
    assert.equal([calls.length, counted], [1, []]);
  });
  check('compares a text once: what is found in the cache was compared before', async () => {
    const { ask, clock, counted } = shadowed({});
    for (let time = 0; time < 3; time += 1) {
      await ask(BODY);
      await clock.advance(0);
    }
    assert.equal(counted, ['agreed']);
  });
  check('judges a share of the texts, and of equal texts all or none', async () => {
    const texts = Array.from({ length: 60 }, (_, index) => `text ${index}`);
    const judged = async (): Promise<readonly string[]> => {
      const { ask, clock, shadowCalls } = shadowed({}, { share: 0.3 });
      for (const input of texts) {
        await ask({ ...BODY, input });
        await clock.advance(0);
      }
      return shadowCalls().map(({ body }) => /text \d+\\n/.exec(body ?? '')?.[0] ?? '');
    };
    const first = await judged();
    assert.ok(first.length > 5 && first.length < 35, String(first.length));
    assert.equal(await judged(), first);
  });
  check('skips images for which its judge has no vision', async () => {
    const models = '{"moderation-fast":{"model":"gpt-oss:20b","vision":true}}';
    const { ask, clock, counted, shadowCalls } = shadowed({}, {}, { variables: { MODERATION_MODELS: models } });
    await resultsOf(await ask({ ...BODY, input: [text('look'), image()] }));
    await clock.advance(0);
    assert.equal([counted, shadowCalls().length], [['skipped'], 0]);
  });
});

describe('the shadow of images', (check) => {
  const seeing = (setting: object = {}, show: Answer = () => received(200, JSON.stringify(ABLE_MODEL))) => {
    const able = (model: string) => ({ model, vision: true });
    const models = { 'moderation-fast': able(LIVE), 'moderation-accurate': able(SHADOW) };
    return shadowed({ live: says(), shadow: says({ SX: 90 }) }, setting, {
      variables: { MODERATION_MODELS: JSON.stringify(models) },
      show,
    });
  };
  const askWith = (data: string) => ({ ...BODY, input: [text('look'), image(`data:image/png;base64,${data}`)] });
  check('is shown what the live judge was shown', async () => {
    const { ask, clock, counted, lines, shadowCalls } = seeing();
    assert.is((await resultsOf(await ask(askWith('AAAA'))))[0]?.flagged, false);
    await clock.advance(0);
    const [call] = shadowCalls();
    const { messages } = JSON.parse(call?.body ?? '{}') as { messages: { images?: string[] }[] };
    assert.equal([counted, messages.at(-1)?.images], [['differed'], ['AAAA']]);
    const kept = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.equal([kept.only_shadow, String(kept.image_sha256).length, kept.chars], [['sexual'], 64, 4]);
  });
  check('is not asked where its server says that the model sees none', async () => {
    const { ask, clock, counted, shadowCalls } = seeing({}, (sent) =>
      received(200, JSON.stringify(modelOf(sent) === SHADOW ? { capabilities: ['completion'] } : ABLE_MODEL)),
    );
    await resultsOf(await ask(askWith('AAAA')));
    await clock.advance(0);
    assert.equal([counted, shadowCalls().length], [['skipped'], 0]);
  });
  check('judges a share of the images that stand beside one text', async () => {
    const { ask, clock, shadowCalls } = seeing({ share: 0.5 });
    for (let index = 0; index < 40; index++) {
      await resultsOf(await ask(askWith(Buffer.from(`image ${index}!!`).toString('base64'))));
      await clock.advance(0);
    }
    assert.ok(shadowCalls().length > 5 && shadowCalls().length < 35, String(shadowCalls().length));
  });
});

describe('the shadow gives way', (check) => {
  check('to a request that needs its place, at once', async () => {
    const world = shadowed({ shadow: hangs }, {}, { variables: { MAX_CONCURRENCY: '1' } });
    await world.ask(BODY);
    await world.clock.advance(0);
    assert.is(world.shadowCalls()[0]?.signal.aborted, false);
    await resultsOf(await world.ask({ ...BODY, input: 'another text' }));
    assert.is(world.shadowCalls()[0]?.signal.aborted, true);
    assert.equal(world.counted[0], 'skipped');
  });
  check('also with the call that tries its backend after a rest', async () => {
    let isDown = true;
    const shadow: Answer = (sent) => (isDown ? received(500, 'down') : hangs(sent));
    const world = shadowed({ shadow }, {}, { variables: { MAX_CONCURRENCY: '1' } });
    for (let time = 0; time < 5; time += 1) {
      await world.ask({ ...BODY, input: `text ${time}` });
      await world.clock.advance(0);
    }
    isDown = false;
    await world.clock.advance(2_000);
    await world.ask(BODY);
    await world.clock.advance(0);
    const trial = world.shadowCalls().at(-1);
    assert.is(trial?.signal.aborted, false);
    await resultsOf(await world.ask({ ...BODY, input: 'another text' }));
    assert.is(trial?.signal.aborted, true);
  });
  check('to requests that wait', async () => {
    const world = shadowed(
      { live: (sent) => ((sent.body ?? '').includes('slow') ? hangs(sent) : says()(sent)), shadow: hangs },
      {},
      { variables: { MAX_CONCURRENCY: '2' } },
    );
    const slow = [1, 2, 3].map((number) => world.ask({ ...BODY, input: `slow ${number}` }));
    await world.clock.advance(0);
    await world.clock.advance(25_000);
    await Promise.all(slow);
    assert.equal([world.shadowCalls().length, world.counted], [0, []]);
  });
  check('to its own limit: more texts than calls are skipped, and wait nowhere', async () => {
    const { ask, clock, counted, shadowCalls } = shadowed({ shadow: hangs }, { calls: 2 });
    await ask({ ...BODY, input: ['one', 'two', 'three', 'four', 'five'] });
    await clock.advance(0);
    assert.equal([shadowCalls().length, counted], [2, ['skipped', 'skipped', 'skipped']]);
  });
  check('in a long text: no more calls at once than it may have', async () => {
    let running = 0;
    let most = 0;
    const shadow: Answer = async (sent) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return says({ HA: 90 })(sent);
    };
    const world = shadowed({ shadow }, { calls: 2 }, { variables: { MODERATION_WINDOW_CHARS: '1000' } });
    await world.ask({ ...BODY, input: 'calm words '.repeat(600) });
    for (let turn = 0; turn < 20; turn += 1) await world.clock.advance(0);
    assert.is(most, 2);
    assert.ok(world.shadowCalls().length > 5);
    assert.equal(world.counted, ['differed']);
  });
  check('to bodies that need the memory it holds, the oldest text first', async () => {
    const variables = { MAX_BODY_BYTES: '20000', MAX_BODY_BYTES_IN_FLIGHT: '20000', MAX_INPUT_CHARS: '20000' };
    const world = shadowed({ shadow: hangs }, { calls: 64 }, { variables });
    const askLong = (sign: string) => world.ask({ ...BODY, input: `${sign} `.repeat(4500) });
    for (const sign of ['a', 'b']) {
      await resultsOf(await askLong(sign));
      await world.clock.advance(0);
    }
    const givenUp = (sign: string) =>
      world
        .shadowCalls()
        .filter(({ body = '' }) => body.includes(`${sign} ${sign} `))
        .map(({ signal }) => signal.aborted);
    assert.ok(givenUp('b').length > 0);
    assert.not([...givenUp('a'), ...givenUp('b')].includes(true));
    await resultsOf(await askLong('c'));
    assert.ok(givenUp('a').length > 0 && !givenUp('a').includes(false));
    assert.not(givenUp('b').includes(true));
    assert.equal(world.counted, ['skipped']);
  });
  check('when the process stops: what runs is ended, and nothing begins', async () => {
    const stop = new AbortController();
    let isStopping = false;
    const world = shadowed({ shadow: hangs }, {}, { needs: { stopSignal: stop.signal, isStopping: () => isStopping } });
    await world.ask(BODY);
    await world.clock.advance(0);
    isStopping = true;
    await world.ask({ ...BODY, input: 'another' });
    stop.abort();
    await world.clock.advance(0);
    assert.equal([world.shadowCalls().map(({ signal }) => signal.aborted), world.counted], [[true], ['skipped']]);
    assert.is(world.clock.pending(), 0);
  });
  check('after the time of a request', async () => {
    const { ask, clock, counted, shadowCalls } = shadowed(
      { shadow: hangs },
      {},
      { variables: { REQUEST_DEADLINE_MS: '9000' } },
    );
    await ask(BODY);
    await clock.advance(8999);
    assert.equal(counted, []);
    await clock.advance(1);
    assert.equal([counted, shadowCalls().every(({ signal }) => signal.aborted)], [['failed'], true]);
    assert.is(clock.pending(), 0);
  });
});

describe('a shadow that fails', (check) => {
  const REFUSALS: Readonly<Record<string, Answer>> = {
    'a burst limit': () => received(429, 'slow down', { 'retry-after': '60' }),
    'a used-up quota': () => received(429, 'you have reached your weekly usage limit'),
    'a wrong key': () => received(401, 'unauthorized'),
    'a broken server': () => received(500, 'no'),
    'a missing model': () => received(404, '{"error":"model not found"}'),
  };
  for (const [name, shadow] of Object.entries(REFUSALS))
    check(`makes no key and no backend rest for clients: ${name}`, async () => {
      const world = shadowed({ shadow });
      for (let time = 0; time < 8; time += 1) {
        const answer = await world.ask({ ...BODY, input: `text ${time}` });
        assert.is(answer.status, 200);
        await world.clock.advance(0);
      }
      const body = await (await world.visit('/ready')).text();
      assert.not.match(body, /cooling|several times/);
      assert.is(world.counted.length, 8);
      assert.ok(world.counted.every((outcome) => outcome === 'failed' || outcome === 'skipped'));
    });
  check('does not use a key that rests for clients', async () => {
    let isRefusing = true;
    const live: Answer = (sent) => (isRefusing ? received(429, 'weekly usage limit') : says()(sent));
    const world = shadowed({ live }, {}, { variables: { BACKEND_API_KEYS: 'one,two' } });
    assert.is((await world.ask(BODY)).status, 503);
    isRefusing = false;
    await world.clock.advance(4_000_000);
    const before = world.shadowCalls().length;
    assert.is(before, 0);
    await resultsOf(await world.ask(BODY));
    await world.clock.advance(0);
    assert.is(world.shadowCalls().length, 1);
  });
  check('leaves nothing in the cache of clients', async () => {
    const world = shadowed({ shadow: says({ HA: 90 }) });
    await world.ask(BODY);
    await world.clock.advance(0);
    const answer = await world.ask({ ...BODY, model: 'moderation-accurate' });
    assert.is(answer.headers.get('x-moderation-cache'), 'miss');
  });

  /** What a shadow's backend may do, by number. */
  const MISCHIEF: readonly Answer[] = [
    says(),
    says({ HA: 99 }),
    hangs,
    () => received(500, 'no'),
    () => received(429, 'slow down'),
    () => received(401, 'unauthorized'),
    () => received(200, 'not even JSON'),
    (sent) => replying(sent, '{}'),
    () => {
      throw new HttpClientError('ECONNRESET');
    },
    () => {
      throw new TypeError('a bug of the client');
    },
  ];
  check('changes no answer and delays none, whatever it does', async () => {
    const seen = (answer: Response) =>
      [...answer.headers].filter(([name]) => name !== 'x-request-id' && name !== 'content-length');
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            mischief: fc.nat(MISCHIEF.length - 1),
            text: fc.constantFrom('one', 'two', 'three', 'four', `${'long words '.repeat(250)}`),
            model: fc.constantFrom('moderation-fast', 'moderation-accurate', 'moderation-standard'),
            waitMs: fc.constantFrom(0, 10, 30_000),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.integer({ min: 1, max: 3 }),
        async (steps, places) => {
          let isShadowTurn = false;
          let mischief = 0;
          const live = says({ HA: 70 });
          const variables = { MAX_CONCURRENCY: String(places), MODERATION_WINDOW_CHARS: '1000' };
          const plain = gatewayOver(live, { variables });
          const world = shadowed(
            { live, shadow: (sent) => (isShadowTurn ? (MISCHIEF[mischief] ?? live)(sent) : live(sent)) },
            { calls: 2 },
            { variables },
          );
          for (const step of steps) {
            mischief = step.mischief;
            const body = { model: step.model, input: step.text };
            isShadowTurn = false;
            // Without moving the clock: nothing of an answer may wait for a timer.
            const [expected, given] = await Promise.all([plain.ask(body), world.ask(body)]);
            isShadowTurn = true;
            assert.equal([given.status, seen(given)], [expected.status, seen(expected)]);
            assert.equal(await resultsOf(given), await resultsOf(expected));
            await Promise.all([plain.clock.advance(step.waitMs), world.clock.advance(step.waitMs)]);
          }
          await Promise.all([plain.clock.advance(60_000), world.clock.advance(60_000)]);
          assert.is(world.clock.pending(), 0, 'everything has ended');
        },
      ),
      { numRuns: thorough(40, 1000) },
    );
  });
});

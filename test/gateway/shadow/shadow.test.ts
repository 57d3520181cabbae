import * as assert from 'uvu/assert';
import { DEFAULT_POLICY, onePolicy } from '../../../src/gateway/policy/policy.ts';
import { describe } from '../../check.ts';
import { askGuard, isGuardCall } from '../harness/guard-face.ts';
import { image, text } from '../harness/image-inputs.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { auditBody } from '../harness/relay-audit.ts';
import { ABLE_MODEL, type Answer, received, systemMessageOf } from '../harness/world.ts';
import { BODY, modelOf, type Scores, SHADOW, says, shadowed } from './world.ts';

const LIVE = 'gpt-oss:20b';

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
    assert.not.match(lines.join(), 'canary');
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

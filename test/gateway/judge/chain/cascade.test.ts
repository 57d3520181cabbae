import * as assert from 'uvu/assert';
import { CATEGORIES } from '../../../../src/gateway/policy/categories.ts';
import { describe } from '../../../check.ts';
import { askGuard, contentOf } from '../../harness/guard-face.ts';
import { image, text } from '../../harness/image-inputs.ts';
import { errorOf, resultsOf } from '../../harness/read-answer.ts';
import { auditBody } from '../../harness/relay-audit.ts';
import { type Answer, gatewayOver, received, replying, shownTextOf } from '../../harness/world.ts';
import { BODY, CASCADE, cascade, modelOf, type Scores, says, scoresOf } from './cascade-world.ts';

const askedOf = (answer: Response) => answer.headers.get('x-moderation-judges');
const QWEN_COVERS: readonly string[] = ['illicit', 'self-harm', 'sexual', 'violence'];

describe('a cascade', (check) => {
  check('asks the small judge alone where it is sure', async () => {
    for (const scores of [{}, { HA: 19 }, { HA: 80 }, { VI: 100 }] as Scores[]) {
      const { ask, calls } = cascade({ small: says(scores), large: says({ SX: 90 }) });
      const answer = await ask(BODY);
      assert.is(askedOf(answer), 'small');
      assert.is((await scoresOf(answer))?.sexual, 0);
      assert.equal(calls.map(modelOf), ['small']);
    }
  });
  check('asks the large one in doubt, says so, and takes the worse score of each category', async () => {
    const { ask, calls } = cascade({ small: says({ HA: 40, VI: 30 }), large: says({ HA: 10, VI: 90 }) });
    const answer = await ask(BODY);
    assert.is(askedOf(answer), 'small, large; for="hate, violence"');
    assert.is(answer.headers.get('x-moderation-backend-model'), 'small');
    const [result] = await resultsOf(answer);
    assert.equal([result?.category_scores.hate, result?.category_scores.violence], [0.4, 0.9]);
    assert.equal([result?.categories.hate, result?.categories.violence], [false, true]);
    assert.equal(calls.map(modelOf), ['small', 'large']);
  });
  check('has a band for each category', async () => {
    const { ask } = cascade({ small: says({ SXM: 6, HA: 6 }), large: says({}) });
    assert.is(askedOf(await ask(BODY)), 'small, large; for="sexual/minors"');
  });
  check('answers the guard face in the same way', async () => {
    const world = cascade({ small: says({ JB: 30 }), large: says({ JB: 90 }) });
    const answer = await askGuard(world, auditBody('some text', 'fast'));
    assert.is(askedOf(answer), 'small, large; for="jailbreak"');
    assert.is(await contentOf(answer), 'Safety: Unsafe\nCategories: Jailbreak');
  });
  check('is silent about judges for an alias that has one', async () => {
    const { ask } = cascade({ small: says({}), large: says({}) });
    assert.is(askedOf(await ask({ ...BODY, model: 'large' })), null);
  });
  check('asks by window: the large judge sees what the small one doubts', async () => {
    const { ask, calls } = cascade(
      {
        small: (sent) => says(shownTextOf(sent).includes('odd') ? { HA: 50 } : {})(sent),
        large: says({ HA: 70 }),
      },
      { variables: { MODERATION_WINDOW_CHARS: '1000' } },
    );
    const answer = await ask({ ...BODY, input: `${'calm words '.repeat(200)}odd words` });
    assert.is((await scoresOf(answer))?.hate, 0.7);
    const large = calls.filter((sent) => modelOf(sent) === 'large');
    assert.is(large.length, 1);
    assert.ok(calls.length > 3);
    assert.match(shownTextOf(large[0]!), 'odd');
  });
  check('has several inputs judged each by itself', async () => {
    const { ask, calls } = cascade({
      small: (sent) => says(shownTextOf(sent) === 'odd' ? { HA: 50 } : {})(sent),
      large: says({ HA: 70 }),
    });
    const answer = await ask({ ...BODY, input: ['one', 'odd', 'three'] });
    assert.is(askedOf(answer), 'small, large; for="hate"');
    assert.equal(
      (await resultsOf(answer)).map(({ category_scores }) => category_scores.hate),
      [0, 0.7, 0],
    );
    assert.is(calls.length, 4);
  });
  check('shows an image to the judge that sees', async () => {
    const { ask, calls } = cascade({ small: says({ VI: 90 }), large: says({ HA: 70 }) });
    const answer = await ask({ ...BODY, input: [text('look'), image()] });
    assert.is(askedOf(answer), 'large');
    assert.is((await scoresOf(answer))?.hate, 0.7);
    assert.equal(calls.map(modelOf), ['large']);
  });
  check('finds its verdict again, and then asks nobody', async () => {
    const { ask, calls } = cascade({ small: says({ HA: 40 }), large: says({ HA: 60 }) });
    await ask(BODY);
    const again = await ask(BODY);
    assert.equal([again.headers.get('x-moderation-cache'), askedOf(again)], ['hit', 'none']);
    assert.is((await scoresOf(again))?.hate, 0.6);
    assert.is(calls.length, 2);
    assert.is((await ask({ ...BODY, model: 'large' })).headers.get('x-moderation-cache'), 'miss');
  });
  check('begins with a small guard model, whose clean answer is enough where it clears the rest', async () => {
    const clears = CATEGORIES.map(({ name }) => name).filter((name) => !QWEN_COVERS.includes(name));
    const MODERATION_MODELS = JSON.stringify({
      fast: { model: 'small', judge: 'qwen3guard', second: 'large', clears },
      large: 'large',
    });
    const guard = (words: string) =>
      cascade(
        { small: (sent) => replying(sent, words), large: says({ HA: 60 }) },
        { variables: { MODERATION_MODELS } },
      );
    const clean = guard('Safety: Safe\nCategories: None');
    const answer = await clean.ask(BODY);
    assert.equal([askedOf(answer), (await scoresOf(answer))?.hate, clean.calls.length], ['small', 0, 1]);
    for (const words of [
      'Safety: Controversial\nCategories: Violent',
      'Safety: Unsafe\nCategories: Unethical Acts',
      'Safety: Unsafe\nCategories: Jailbreak',
    ]) {
      const doubtful = await guard(words).ask(BODY);
      assert.match(askedOf(doubtful) ?? '', /^small, large; for=".*hate, /, words);
      assert.ok(Number((await scoresOf(doubtful))?.hate) >= 0.6);
    }
  });
  check('takes nothing for clean of which a guard model names a code beside one that it covers', async () => {
    const clears = CATEGORIES.map(({ name }) => name).filter((name) => !QWEN_COVERS.includes(name));
    const fast = { model: 'small', judge: 'qwen3guard', second: 'large', clears, doubt: { default: [0.45, 0.5] } };
    const MODERATION_MODELS = JSON.stringify({ fast, large: 'large' });
    for (const [codes, isClean] of [
      ['Violent', true],
      ['Violent, Jailbreak', false],
    ] as const) {
      const small: Answer = (sent) => replying(sent, `Safety: Controversial\nCategories: ${codes}`);
      const { ask } = cascade({ small, large: says({ HA: 60 }) }, { variables: { MODERATION_MODELS } });
      const answer = await ask(BODY);
      assert.is((await scoresOf(answer))?.hate, isClean ? 0.4 : 0.6, codes);
    }
  });
  check('judges again after a time without the backend, though each text takes two calls at once', async () => {
    let isDown = true;
    // An answer takes longer than the refusal of the other call.
    const late =
      (answer: Answer): Answer =>
      async (sent) => {
        if (isDown) return received(500, 'down');
        await new Promise((resolve) => setImmediate(resolve));
        return answer(sent);
      };
    const MODERATION_MODELS = JSON.stringify({
      fast: { model: 'small', judge: 'qwen3guard', second: 'large' },
      large: 'large',
    });
    const guard: Answer = (sent) => replying(sent, 'Safety: Safe\nCategories: None');
    const world = cascade({ small: late(guard), large: late(says({})) }, { variables: { MODERATION_MODELS } });
    for (let time = 0; time < 3; time += 1)
      assert.is((await world.ask({ ...BODY, input: `down ${time}` })).status, 502);
    isDown = false;
    const statuses: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      await world.clock.advance(30_000);
      statuses.push((await world.ask({ ...BODY, input: `up ${time}` })).status);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(statuses, [502, 200, 200, 200]);
  });
  check('is one request with one deadline', async () => {
    const world = cascade({ small: says({ HA: 40 }), large: () => new Promise<never>(() => {}) });
    const answer = world.ask(BODY, { 'x-request-timeout-ms': '2500' });
    await world.clock.advance(2500);
    assert.is((await errorOf(await answer)).status, 504);
    assert.ok(world.calls.every(({ signal }, index) => index === 0 || signal.aborted));
  });
  check('is not ready while one of its models is missing', async () => {
    const models =
      (names: readonly string[]): Answer =>
      () => ({
        status: 200,
        text: JSON.stringify({ models: names.map((name) => ({ name, model: name })) }),
        header: () => null,
      });
    const { visit } = gatewayOver(models(['small', 'gpt-oss:20b', 'gpt-oss:120b', 'gemma4:31b']), {
      variables: { MODERATION_MODELS: JSON.stringify(CASCADE) },
    });
    const body = (await (await visit('/ready')).json()) as { missing_models_for?: string[] };
    assert.equal(body.missing_models_for, ['fast', 'large']);
  });
});

import * as assert from 'uvu/assert';
import { TAXONOMIES } from '../../../../src/gateway/judge/guard-model/taxonomy.ts';
import { describe } from '../../../check.ts';
import { guardSays } from '../../harness/guard-face.ts';
import { guardReplying } from '../../harness/guard-models.ts';
import { eachCategory, errorOf, resultsOf } from '../../harness/read-answer.ts';
import { ASK, guardedBy, saying } from './world.ts';

describe('a code of a guard model', (check) => {
  check('raises the categories that it stands for, and no other', async () => {
    for (const [code, categories] of Object.entries(TAXONOMIES['llama-guard'].codes)) {
      const { ask } = guardedBy('llama-guard', saying(`unsafe\n${code}`));
      const [result] = await resultsOf(await ask(ASK));
      const raised = Object.entries(result?.scores ?? {}).filter(([, score]) => score === 1);
      const shown = categories.filter((name) => !['personal-data', 'copyright', 'politics'].includes(name));
      assert.equal(raised.map(([name]) => name).toSorted(), shown.toSorted(), code);
    }
  });
  check('that is wider than several categories raises them, though it covers none', async () => {
    const { ask } = guardedBy('qwen3guard', saying('Safety: Unsafe\nCategories: Unethical Acts'));
    const [result] = await resultsOf(await ask(ASK));
    assert.equal(result?.scores, eachCategory(0, { harassment: 1, hate: 1 }));
  });
  check('of a controversial text is controversial to a platform, and not flagged', async () => {
    const says = saying('Safety: Controversial\nCategories: Violent');
    const [result] = await resultsOf(await guardedBy('qwen3guard', says).ask(ASK));
    assert.equal([result?.flagged, result?.scores.violence], [false, 0.4]);
    const shown = await guardSays(guardedBy('qwen3guard', says), 'some text', 'guarded');
    assert.is(shown, 'Safety: Controversial\nCategories: Violent');
  });
});

describe('a probability of a guard model', (check) => {
  check('is the score, in hundredths and never quite certain', async () => {
    const scoreOf = async (content: string, place: Readonly<Record<string, number>>, name: string) => {
      const [result] = await resultsOf(await guardedBy('llama-guard', saying(content, [place])).ask(ASK));
      return result?.scores[name as 'hate'];
    };
    assert.is(await scoreOf('unsafe\nS10', { unsafe: 0.9, safe: 0.1 }, 'hate'), 0.9);
    assert.is(await scoreOf('unsafe\nS10', { unsafe: 0.9, safe: 0.1 }, 'illicit'), 0);
    assert.is(await scoreOf('unsafe\nS10', { unsafe: 1 }, 'hate'), 0.99);
    assert.is(await scoreOf('safe', { safe: 0.7, unsafe: 0.3 }, 'illicit'), 0.3, 'which category is not known');
    assert.is(await scoreOf('safe', { safe: 1 }, 'hate'), 0.01);
    assert.is(
      await scoreOf('safe', { safe: 0.4, unsafe: 0.3, Unsafe: 0.3 }, 'hate'),
      0.6,
      'the worse of word and tokens',
    );
    assert.is(await scoreOf('unsafe\nS10', { unsafe: 0.4, safe: 0.3, Safe: 0.3 }, 'hate'), 0.5, 'its word says harm');
  });
  check('of a code beside what the model covers keeps the rest from being cleared', async () => {
    const asked = async (dangerous: number) => {
      const clears = Object.keys(eachCategory(0)).filter((name) => !['harassment', 'hate', 'sexual'].includes(name));
      const { ask } = guardedBy(
        'shieldgemma',
        (sent) => {
          const harm = sent.body?.includes('No Dangerous Content') === true ? dangerous : 0.02;
          return guardReplying(sent, 'No', [{ No: 1 - harm, Yes: harm }]);
        },
        {},
        { clears, guard: undefined },
      );
      return (await ask(ASK)).headers.get('x-moderation-judges');
    };
    assert.is(await asked(0.05), 'shieldgemma:9b');
    assert.match((await asked(0.45)) ?? '', /^shieldgemma:9b, .*for=".*illicit\/violent/);
  });
  check('is no verdict where it is that of other words', async () => {
    for (const place of [{ safe: 0.9 }, { unsafe: 0.3, I: 0.35, The: 0.35 }]) {
      let asked = 0;
      const { ask } = guardedBy('llama-guard', (sent) => {
        asked += 1;
        return guardReplying(sent, 'unsafe\nS10', [place as Readonly<Record<string, number>>]);
      });
      assert.is((await errorOf(await ask(ASK))).code, 'backend_unusable_reply');
      assert.is(asked, 2);
    }
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { KEYS, SECOND_KEY, selectionOf, sha256 } from '../harness/policies.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import {
  type Answer,
  gatewayOver,
  judging,
  nonceOf,
  received,
  replying,
  shownTextOf,
  systemMessageOf,
  verdictJson,
} from '../harness/world.ts';

const OWN = { 'weapon sales': { definition: 'offers or seeks weapons for sale.', threshold: 0.6 } };
const FILE = {
  version: '7',
  policies: {
    strict: { categories: { hate: { threshold: 0.2 } }, own_categories: OWN },
    agents: { extends: 'coding-agent', guidance: 'Our product is a debugger.' },
  },
  use: {
    default: 'strict',
    aliases: { 'moderation-standard': 'coding-agent', 'moderation-accurate': 'agents' },
    keys: { [sha256(SECOND_KEY).slice(0, 12)]: 'standard' },
  },
};

/** A judge that knows the own category only where the policy of its call has it. */
const honest =
  (scores: Readonly<Record<string, number>>): Answer =>
  (sent) => {
    const isAsked = systemMessageOf(sent).includes('OWN1');
    const given = Object.fromEntries(Object.entries(scores).filter(([code]) => isAsked || code !== 'OWN1'));
    return replying(sent, verdictJson(nonceOf(sent), isAsked ? { OWN1: 0, ...given } : given));
  };
const worldOf = (answer: Answer, file: unknown = FILE, variables: Readonly<Record<string, string>> = {}) =>
  gatewayOver(answer, {
    variables: { MODERATION_API_KEYS: KEYS.join(','), ...variables },
    needs: { policies: selectionOf(file) },
  });
const withSecondKey = { authorization: `Bearer ${SECOND_KEY}` };
const versionOf = (answer: Response) => answer.headers.get('x-moderation-policy');

describe('several policies in one file', (check) => {
  check('judge by the key, else by the alias, else by the default', async () => {
    const { ask, calls } = worldOf(honest({ HA: 30 }));
    const asked = async (model: string | undefined, headers = {}) => {
      const answer = await ask({ input: `text ${calls.length}`, model }, headers);
      const [result] = await resultsOf(answer);
      return [versionOf(answer), result?.flagged];
    };
    assert.equal(await asked(undefined), ['strict/7', true]);
    assert.equal(await asked('moderation-standard'), ['coding-agent/2026-11-22', false]);
    assert.equal(await asked('moderation-accurate'), ['agents/7', false]);
    assert.equal(await asked('moderation-fast', withSecondKey), ['2026-11-22', false]);
    assert.equal(
      await asked('moderation-standard', withSecondKey),
      ['2026-11-22', false],
      'a key cannot leave its own',
    );
  });

  check('tell the judge their rules, each its own', async () => {
    const { ask, calls } = worldOf(honest({}));
    await ask({ input: 'a' });
    await ask({ input: 'a', model: 'moderation-accurate' });
    await ask({ input: 'a' }, withSecondKey);
    const [strict = '', agents = '', standard = ''] = calls.map(systemMessageOf);
    assert.match(strict, /14 categories[\s\S]*\nOWN1 \(weapon sales\): offers or seeks weapons for sale\.\n/);
    assert.match(agents, /source code, diffs, logs[\s\S]*\nOur product is a debugger\.\n/);
    assert.is(standard.includes('coding agent') || standard.includes('OWN1'), false);
  });

  check('have the same context, so that no server loads a model again', async () => {
    const { ask, calls } = worldOf(honest({}));
    await ask({ input: 'a' });
    await ask({ input: 'a', model: 'moderation-standard' });
    await ask({ input: 'a' }, withSecondKey);
    const sizes = calls.map(({ body = '' }) => (JSON.parse(body) as { options: { num_ctx: number } }).options.num_ctx);
    assert.is(new Set(sizes).size, 1);
    assert.ok((sizes[0] ?? 0) > 80_192, 'what the longest policy adds has room');
  });

  check(
    'share no verdict where the judge would be told something else, and share it where only a threshold differs',
    async () => {
      const { ask, calls } = worldOf(
        honest({}),
        {
          version: '7',
          policies: { mild: { categories: { hate: { threshold: 0.9 } } } },
          use: { aliases: { 'omni-moderation-latest': 'mild', 'moderation-standard': 'coding-agent' } },
        },
        { MODERATION_MODELS: '{"moderation-standard":"gpt-oss:20b"}' },
      );
      await ask({ input: 'the same text', model: 'moderation-fast' });
      const shared = await ask({ input: 'the same text' });
      assert.equal([shared.headers.get('x-moderation-cache'), versionOf(shared)], ['hit', 'mild/7']);
      const apart = await ask({ input: 'the same text', model: 'moderation-standard' });
      assert.is(apart.headers.get('x-moderation-cache'), 'miss');
      assert.is(calls.length, 2);
    },
  );

  check('may be the built-in one for coding agents alone', async () => {
    const { ask } = worldOf(judging(), { version: '1', use: { default: 'coding-agent' } });
    assert.is(versionOf(await ask({ input: 'a' })), 'coding-agent/2026-11-22');
  });

  check('may leave the built-in standard one in use, which keeps its own version', async () => {
    const { ask } = worldOf(judging(), { version: '1', policies: {} });
    assert.is(versionOf(await ask({ input: 'a' })), '2026-11-22');
  });
});

describe('an own category', (check) => {
  check('stands beside the 13, and flags', async () => {
    const { ask } = worldOf(honest({ OWN1: 60 }));
    const [result] = await resultsOf(await ask({ input: 'a' }));
    assert.is(result?.flagged, true);
    assert.is(Object.keys(result?.categories ?? {}).length, 13);
    assert.is(Object.values(result?.categories ?? {}).includes(true), false);
    assert.equal(result?.x_categories, { 'weapon sales': { flagged: true, score: 0.6 } });
  });

  check('is in no answer of a policy without it', async () => {
    const { ask } = worldOf(honest({}));
    const [result] = await resultsOf(await ask({ input: 'a' }, withSecondKey));
    assert.is(result !== undefined && 'x_categories' in result, false);
  });

  check('counts with its worst window', async () => {
    const { ask, calls } = worldOf((sent) => honest({ OWN1: shownTextOf(sent).includes('rifle') ? 90 : 5 })(sent));
    const [result] = await resultsOf(await ask({ input: `${'calm words. '.repeat(2500)} a rifle for sale` }));
    assert.ok(calls.length > 1);
    assert.equal(result?.x_categories, { 'weapon sales': { flagged: true, score: 0.9 } });
  });

  for (const [name, given] of Object.entries({
    'is missing': (nonce: string) => verdictJson(nonce),
    'is no number': (nonce: string) => verdictJson(nonce, { OWN1: '60' }),
    'is one too many': (nonce: string) => verdictJson(nonce, { OWN1: 60, OWN2: 0 }),
    'contradicts the word': (nonce: string) => verdictJson(nonce, { OWN1: 90, word: 'under' }),
  })) {
    check(`leaves no verdict where its score ${name}`, async () => {
      const { ask } = worldOf((sent) => replying(sent, given(nonceOf(sent))));
      const { status, code } = await errorOf(await ask({ input: 'a' }));
      assert.equal([status, code], [502, 'backend_unusable_reply']);
    });
  }

  check('is flagged too where there is no verdict and the operator wants that flagged', async () => {
    const { ask } = worldOf(() => received(500, 'no'), FILE, { NO_VERDICT: 'flag' });
    const answer = await ask({ input: 'a' });
    const [result] = await resultsOf(answer);
    assert.equal([versionOf(answer), result?.flagged], ['strict/7', true]);
    assert.equal(result?.x_categories, { 'weapon sales': { flagged: true, score: 1 } });
  });

  check('is not made up of a shared verdict with fewer scores', async () => {
    const { ask, calls } = gatewayOver(honest({ OWN1: 70 }), {
      needs: {
        policies: selectionOf({ ...FILE, use: { ...FILE.use, keys: {}, default: 'strict' } }),
        shared: {
          verdicts: () => ({
            find: async (_, count) => (count === 13 ? { scores: Array<number>(13).fill(0), leftMs: 1000 } : undefined),
            store() {},
          }),
          rateLimit: (_, local) => local,
          coolDowns: { publish() {}, subscribe() {}, scope: () => 'replicas' as const },
        },
      },
    });
    const [result] = await resultsOf(await ask({ input: 'a' }));
    assert.is(calls.length, 1);
    assert.is(result?.x_categories?.['weapon sales']?.flagged, true);
  });
});

import * as assert from 'uvu/assert';
import { fromStored, storedCount, toStored } from '../../../../src/gateway/judge/chain/stored-verdict.ts';
import { type ModelAlias, parseModelAliases } from '../../../../src/gateway/models.ts';
import { describe } from '../../../check.ts';
import { askGuard, guarding, isGuardCall } from '../../harness/guard-face.ts';
import { guardReplying, isGuardModelCall } from '../../harness/guard-models.ts';
import { eachCategory, resultsOf } from '../../harness/read-answer.ts';
import { auditBody } from '../../harness/relay-audit.ts';
import { createReplicas } from '../../harness/replicas.ts';
import { gatewayOver, judging, userMessageOf, type WorldSettings } from '../../harness/world.ts';

const MODERATION_MODELS = JSON.stringify({
  guarded: { model: 'llama-guard3:8b', judge: 'llama-guard', second: 'moderation-fast', guard: 'text' },
});
const PLACES = [{ safe: 0.9, unsafe: 0.1 }];
/** A guard model that finds nothing, with log-probabilities unless the text asks for none, before a chat model. */
const guarded = (settings: WorldSettings = {}) =>
  gatewayOver(
    (sent) => {
      if (!isGuardModelCall(sent)) return isGuardCall(sent) ? guarding()(sent) : judging({ VI: 20 })(sent);
      return guardReplying(sent, 'safe', userMessageOf(sent).includes('bare') ? undefined : PLACES);
    },
    { ...settings, variables: { MODERATION_MODELS, MODERATION_WINDOW_CHARS: '500', ...settings.variables } },
  );
const typeIn = (response: Response): string | null => response.headers.get('x-moderation-score-type');

const COVERED = ['hate', 'illicit', 'illicit/violent', 'self-harm', 'sexual', 'sexual/minors'] as const;
const typesWith = (type: string) => eachCategory('judged', Object.fromEntries(COVERED.map((name) => [name, type])));

describe('how scores came about', (check) => {
  check('is told of each category where a guard model judges, and in a header', async () => {
    const { ask } = guarded();
    const response = await ask({ model: 'guarded', input: 'some text' });
    assert.is(typeIn(response), 'judged, probability');
    const [result] = await resultsOf(response);
    assert.equal(result?.x_score_types, typesWith('probability'));
    assert.equal([result?.scores.hate, result?.scores.violence], [0.1, 0.2]);
    const bare = await ask({ model: 'guarded', input: 'bare text' });
    assert.is(typeIn(bare), 'binary, judged');
    assert.equal((await resultsOf(bare))[0]?.x_score_types, typesWith('binary'));
  });
  check('is in the header alone where chat models give all scores', async () => {
    const response = await guarded().ask({ input: 'some text' });
    assert.is(typeIn(response), 'judged');
    assert.not.ok('x_score_types' in ((await resultsOf(response))[0] ?? {}));
  });
  check('is known of a verdict that was stored, here or by another replica', async () => {
    const { shared } = createReplicas();
    const [one, other] = [guarded({ needs: { shared } }), guarded({ needs: { shared } })];
    for (const { ask } of [one, one, other]) {
      const response = await ask({ model: 'guarded', input: 'some text' });
      assert.is(typeIn(response), 'judged, probability');
      assert.equal((await resultsOf(response))[0]?.x_score_types, typesWith('probability'));
    }
    assert.is(other.calls.length, 0);
  });
  check('is the one that tells the least, of the parts of a text', async () => {
    const response = await guarded().ask({ model: 'guarded', input: `${'calm words. '.repeat(60)} bare` });
    const [result] = await resultsOf(response);
    assert.equal([result?.x_score_types?.hate, result?.scores.hate], ['binary', 0.1]);
  });
  check('is told on the guard face', async () => {
    assert.is(typeIn(await askGuard(guarded(), auditBody('some text', 'guarded'))), 'judged, probability');
  });
});

describe('a stored verdict', (check) => {
  const models = parseModelAliases(MODERATION_MODELS);
  const [guard, chat] = [models.get('guarded'), models.get('moderation-fast')];
  if (guard === undefined || chat === undefined) throw new Error('Expected both aliases');
  const verdict = { scores: [0.99, 0, 0.4], scoreTypes: ['probability', 'judged', 'binary'] } as const;

  check('holds the types only for aliases that have a guard model', () => {
    assert.equal([storedCount(guard, 3), storedCount(chat, 3)], [6, 3]);
    const before = (alias: ModelAlias) => ({ ...chat, second: { alias, doubt: new Map(), clears: [] } });
    assert.equal([storedCount(before(guard), 3), storedCount(before(chat), 3)], [6, 3]);
    assert.equal(fromStored(toStored(verdict, guard), 3), verdict);
    assert.equal(fromStored(toStored(verdict, chat), 3), { scores: verdict.scores });
  });
});

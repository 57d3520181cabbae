import * as assert from 'uvu/assert';
import { createDeadline } from '../../../../src/core/async.ts';
import type { GatewayFault } from '../../../../src/gateway/errors.ts';
import { createJudgeChain } from '../../../../src/gateway/judge/chain/chain.ts';
import type { Excerpt } from '../../../../src/gateway/judge/types.ts';
import type { JudgeKind } from '../../../../src/gateway/models.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { aliasOf, type Fake, fakes, NAMES, PAIR, POLICY } from './world.ts';

const TEXT: Excerpt = { text: 'some text', part: 1, parts: 1 };

const run = (judges: Partial<Record<JudgeKind, Fake>>, table: Readonly<Record<string, unknown>> = PAIR) => {
  const { asked, judgeOf } = fakes(judges);
  const chain = createJudgeChain({ policy: POLICY, judgeOf });
  const verdict = chain.judge(TEXT, aliasOf(table), createDeadline(createFakeClock(), 1000));
  return { asked, verdict };
};

const FAILED: GatewayFault = { kind: 'backend-unusable', reason: 'no verdict' };
const ALL = [true, true, true];

describe('the judges of an alias', (check) => {
  check('are both at once where the first does not cover everything', async () => {
    const judges = {
      'llama-guard': { covers: [true, false, true], says: [0, undefined, 0.4] },
      prompt: { covers: ALL, says: [0.1, 0.2, 0] },
    };
    const { asked, verdict } = run(judges);
    assert.equal(asked, ['guard', 'large'], 'before the first has answered');
    assert.equal((await verdict).scores, [0.1, 0.2, 0.4]);
    assert.equal((await verdict).asked[1]?.categories, [NAMES[1], NAMES[2]]);
  });
  check('count what the first one names beside its own, and still ask the second', async () => {
    const judges = {
      'llama-guard': { covers: [true, false, true], says: [0, 0.9, 0] },
      prompt: { covers: ALL, says: [0, 0.1, 0] },
    };
    assert.equal((await run(judges).verdict).scores, [0, 0.9, 0]);
  });
  check('are asked in turn, and who covers nothing that is open is passed over', async () => {
    const table = {
      a: { model: 'one', judge: 'llama-guard', second: 'b' },
      b: { model: 'two', judge: 'shieldgemma', second: 'c' },
      c: 'three',
    };
    const [first, second] = [
      { covers: ALL, says: [0.3, 0, 0] },
      { covers: [false, true, false], says: [undefined, 0, undefined] },
    ];
    assert.equal(run({ 'llama-guard': first, shieldgemma: second }, table).asked, ['one']);
    const { asked, verdict } = run({ 'llama-guard': first, shieldgemma: second }, table);
    await verdict;
    assert.equal(asked, ['one', 'three']);
    const doubtful = { covers: ALL, says: [0, 0.3, 0] };
    const all = run({ 'llama-guard': doubtful, shieldgemma: { ...second, says: [undefined, 0.3, undefined] } }, table);
    await all.verdict;
    assert.equal(all.asked, ['one', 'two', 'three']);
  });
  check(
    'are the first alone where it finds nothing and clears the rest, and both where it finds anything',
    async () => {
      const table = { ...PAIR, a: { ...PAIR.a, clears: [NAMES[1]] } };
      const covers = [true, false, true];
      const clean = run({ 'llama-guard': { covers, says: [0.02, undefined, 0] } }, table);
      assert.equal((await clean.verdict).scores, [0.02, 0.02, 0]);
      assert.equal(clean.asked, ['guard']);
      for (const says of [
        [0.3, undefined, 0],
        [0.9, undefined, 0],
        [0, 0.9, 0],
      ]) {
        const judges = { 'llama-guard': { covers, says }, prompt: { covers: ALL, says: [0, 0.6, 0] } };
        const { asked, verdict } = run(judges, table);
        assert.equal((await verdict).scores, [says[0], Math.max(0.6, says[1] ?? 0), 0]);
        assert.equal(asked, ['guard', 'large']);
      }
    },
  );
});

describe('what the first judge clears', (check) => {
  const [first = '', second = ''] = NAMES;
  const clearing = (doubt: readonly [number, number]) => ({
    ...PAIR,
    a: { ...PAIR.a, clears: [second], doubt: { [first]: doubt } },
  });
  const found = (score: number): Partial<Record<JudgeKind, Fake>> => ({
    'llama-guard': { covers: [true, false, true], says: [score, undefined, 0] },
    prompt: { covers: ALL, says: [0, 0.9, 0] },
  });
  check(
    'is left to the second where the first finds a violation, though its band of doubt begins above that',
    async () => {
      const { threshold = 1 } = POLICY.categories[0] ?? {};
      const { asked, verdict } = run(found(threshold), clearing([threshold + 0.1, 1]));
      assert.is((await verdict).scores[1], 0.9);
      assert.equal(asked, ['guard', 'large']);
    },
  );
});

describe('a verdict of several judges', (check) => {
  check('is that of the first where a second one that is not needed would fail', async () => {
    const judges = { 'llama-guard': { covers: ALL, says: [0, 0, 0.9] }, prompt: { covers: ALL, says: FAILED } };
    assert.equal((await run(judges).verdict).scores, [0, 0, 0.9]);
  });
  check('is a bug, and no zero, where nobody has a score for a category', async () => {
    const judges = {
      'llama-guard': { covers: [true, true, false], says: [0, 0, undefined] },
      prompt: { covers: [true, true, false], says: [0, 0, undefined] },
    };
    await run(judges).verdict.then(
      () => assert.unreachable(),
      (error) => assert.match(error.message, /No judge has given a score/),
    );
  });
});

describe('the verdict of a single judge', (check) => {
  const alone = { a: { model: 'guard', judge: 'llama-guard' } };
  check('has its scores and their type', async () => {
    const { asked, verdict } = run({ 'llama-guard': { covers: ALL, says: [0, 0.3, 1] } }, alone);
    assert.equal(await verdict, {
      scores: [0, 0.3, 1],
      scoreTypes: ['probability', 'probability', 'probability'],
      asked: [{ model: 'guard', categories: undefined }],
    });
    assert.equal(asked, ['guard']);
  });
  check('is a bug, and no zero, where a score is missing', async () => {
    for (const says of [
      [0, undefined, 0],
      [0, 0],
    ])
      await run({ 'llama-guard': { covers: ALL, says } }, alone).verdict.then(
        () => assert.unreachable(),
        (error) => assert.match(error.message, /No judge has given a score/),
      );
  });
});

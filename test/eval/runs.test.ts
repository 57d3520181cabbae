import * as assert from 'uvu/assert';
import type { Label } from '../../src/eval/category.ts';
import type { EvalItem } from '../../src/eval/labels.ts';
import { hashOf, type JudgedResult } from '../../src/eval/result.ts';
import { comparedRun, joinRuns } from '../../src/eval/runs.ts';
import { parseTokenCounts, tokensBetween } from '../../src/eval/tokens.ts';
import { createPrometheusGatewayMetrics } from '../../src/gateway/adapter/prometheus.ts';
import { describe } from '../check.ts';
import { judgedOf, stream } from './world.ts';

const item = (id: string, text: string, hate = true): EvalItem => ({
  id,
  text,
  known: new Map<Label, boolean>([['hate', hate]]),
});
const ITEMS = [item('a', 'one'), item('b', 'two', false)];
const setHashOf = async (items: readonly EvalItem[]) => (await joinRuns(stream(items), [])).setHash;

describe('the hash of a set', (check) => {
  check('is the same in any order, and another with a text, an id, a label or a row more', async () => {
    const hash = await setHashOf(ITEMS);
    assert.match(hash, /^[0-9a-f]{12}$/);
    assert.is(await setHashOf(ITEMS.toReversed()), hash);
    const others = [
      [item('a', 'one!'), item('b', 'two', false)],
      [item('c', 'one'), item('b', 'two', false)],
      [item('a', 'one'), item('b', 'two', true)],
      [...ITEMS, item('c', 'three')],
    ];
    for (const other of others) assert.is.not(await setHashOf(other), hash);
  });
});

describe('runs over one file', (check) => {
  check(
    'are put beside each other by what each asked for; what a run has not judged has no verdict there',
    async () => {
      const own = { model: 'moderation-fast' };
      const other = { model: 'guard' };
      const results = new Map([[await hashOf('one', own.model), judgedOf({ hate: 0.9 })]]);
      const compared = new Map([[await hashOf('two', other.model), judgedOf({ hate: 0.1 })]]);
      const { observations, rows } = await joinRuns(stream(ITEMS), [
        { asked: own, results },
        { asked: other, results: compared },
      ]);
      assert.is(rows, 2);
      assert.equal(
        observations.map((run) => run.map(({ id, chars, result }) => [id, chars, result.status])),
        [
          [
            ['a', 3, 'judged'],
            ['b', 3, 'error'],
          ],
          [
            ['a', 3, 'error'],
            ['b', 3, 'judged'],
          ],
        ],
      );
    },
  );

  check('are compared only where a file holds one run', () => {
    const line = (model: string): JudgedResult => ({ ...judgedOf(), asked: { model } });
    const of = (...lines: readonly JudgedResult[]) =>
      comparedRun(new Map(lines.map((each, index) => [`${index}`, each])), 'old.jsonl');
    assert.equal(of(line('m'), line('m')).setup, { model: 'm', backendModel: 'big-model', policy: '1' });
    assert.throws(() => of(line('m'), line('n')), /^--compare: old\.jsonl holds results of several aliases/);
    assert.throws(() => of(), /^--compare: expected results, found none in old\.jsonl/);
    const otherPolicy = { ...line('m'), gateway: { ...line('m').gateway, policy: '2' } };
    assert.throws(() => of(line('m'), otherPolicy), /does not go with those so far/);
  });
});

describe('the tokens of a run', (check) => {
  check('are the difference of what the gateway counts', async () => {
    const metrics = createPrometheusGatewayMetrics({ version: '1', isSharedStateUp: undefined });
    const read = async () => parseTokenCounts((await metrics.text()) ?? '');
    const before = await read();
    assert.equal(before, { prompt: 0, output: 0, cached: 0 });
    metrics.tokens('judge "one"', { prompt: 1200, output: 70, cached: 1000 });
    metrics.tokens('two', { prompt: 300, output: 5 });
    assert.equal(tokensBetween(before, await read()), { prompt: 1500, output: 75, cached: 1000 });
  });

  check('are not known without metrics, or where the gateway has started anew', () => {
    const counts = { prompt: 5, output: 1, cached: 0 };
    assert.is(parseTokenCounts('{"error":{"code":"not_found"}}'), undefined);
    assert.is(tokensBetween(undefined, counts), undefined);
    assert.is(tokensBetween(counts, undefined), undefined);
    assert.is(tokensBetween(counts, { ...counts, prompt: 2 }), undefined);
  });
});

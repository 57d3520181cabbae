import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import { createBatchParser } from '../../../src/gateway/judge/batch-verdict.ts';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { DEFAULT_POLICY } from '../../../src/gateway/policy/policy.ts';
import { describe, thorough } from '../../check.ts';
import { batchJson, entryJson, judgingBatches, shownIn, textsIn } from '../harness/batches.ts';
import { resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, replying } from '../harness/world.ts';

const parseBatch = createBatchParser(DEFAULT_POLICY);

const noncesIn = (sent: HttpRequest | undefined): readonly string[] =>
  sent === undefined ? [] : shownIn(sent).map(({ nonce }) => nonce);

/** What a judge may do to the right answer. */
type Change = {
  readonly drop?: number;
  readonly swap?: readonly [number, number];
  readonly renumber?: readonly [number, string];
  readonly word?: readonly [number, string];
  readonly cut?: number;
  readonly double?: number;
};

describe('whatever a judge writes about several texts', (check) => {
  const at = fc.nat(4);
  const change: fc.Arbitrary<Change> = fc.record(
    {
      drop: at,
      swap: fc.tuple(at, at),
      renumber: fc.tuple(at, fc.stringMatching(/^\d{12}$/)),
      word: fc.tuple(at, fc.constantFrom('over', 'under', 'safe', '')),
      cut: fc.nat(400),
      double: at,
    },
    { requiredKeys: [] },
  );
  const score = fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 2, max: 24 }) }, fc.integer({ min: 0, max: 100 }));
  const given = fc.array(fc.array(score, { minLength: 13, maxLength: 13 }), { minLength: 5, maxLength: 5 });

  const write = (nonces: readonly string[], scores: readonly (readonly number[])[], changes: Change): string => {
    const entries = nonces.map((nonce, index) => {
      const byCode = Object.fromEntries(CATEGORIES.map(({ code }, place) => [code, scores[index]?.[place]]));
      const [renumbered, other] = changes.renumber ?? [];
      const [worded, word] = changes.word ?? [];
      return entryJson(renumbered === index && other !== undefined ? other : nonce, {
        ...byCode,
        ...(worded === index ? { word } : {}),
      });
    });
    const { swap, drop, double, cut: length } = changes;
    if (swap !== undefined) {
      const [left, right] = swap;
      [entries[left], entries[right]] = [entries[right] ?? '', entries[left] ?? ''];
    }
    if (double !== undefined) entries.splice(double, 0, entries[double] ?? '');
    if (drop !== undefined) entries.splice(drop, 1);
    const whole = batchJson(entries);
    return length === undefined ? whole : whole.slice(0, -1 - length);
  };
  const TEXTS = ['one apple', 'two pears', 'red cherries', 'a plum', 'some figs'] as const;
  const SINGLE = 0.17;

  check('a text gets the scores that were given for its own number, or those that it gets alone', async () => {
    await fc.assert(
      fc.asyncProperty(given, fc.option(change, { nil: {} }), async (scores, changes) => {
        let written = '';
        const { ask, calls } = gatewayOver(
          judgingBatches(
            (sent): HttpResponse => {
              written = write(noncesIn(sent), scores, changes);
              return replying(sent, written);
            },
            () => Object.fromEntries(CATEGORIES.map(({ code }) => [code, 17])),
          ),
          { variables: { JUDGE_BATCH: '16' } },
        );
        const results = await resultsOf(await ask({ input: TEXTS }));
        assert.is(results.length, TEXTS.length);
        const nonces = noncesIn(calls[0]);
        const isWhole = parseBatch(written, nonces).kind === 'scores';
        const isRight = written === write(nonces, scores, {});
        assert.ok(!isWhole || isRight, 'only the right answer is whole');
        for (const [index, { category_scores: got }] of results.entries()) {
          const values = CATEGORIES.map(({ name }) => got[name]);
          const own = scores[index]?.map((value) => value / 100);
          const isAlone = values.every((value) => value === SINGLE);
          if (!isAlone) assert.equal(values, own, `text ${index}`);
          assert.ok(isAlone || isWhole);
          assert.is(
            isAlone,
            calls.slice(1).some((call) => textsIn(call)[0] === TEXTS[index]),
          );
        }
      }),
      { numRuns: thorough(150, 3000) },
    );
  });
  check('nothing is read as scores but so many whole verdicts', () => {
    const nonces = ['111111111111', '222222222222'];
    const right = batchJson(nonces.map((nonce) => entryJson(nonce, { HR: 5 })));
    assert.is(parseBatch(right, nonces).kind, 'scores');
    fc.assert(
      fc.property(fc.nat(right.length - 1), fc.string({ maxLength: 3 }), fc.nat(3), (place, text, length) => {
        const changed = right.slice(0, place) + text + right.slice(place + length);
        const read = parseBatch(changed, nonces);
        if (read.kind === 'unusable') return;
        assert.is(read.scores.length, 2);
        for (const scores of read.scores) {
          assert.is(scores.length, 13);
          for (const value of scores) assert.ok(value >= 0 && value <= 1);
        }
        const [first, second] = (JSON.parse(changed) as { verdicts: { nonce: string }[] }).verdicts;
        assert.equal([first?.nonce, second?.nonce], nonces);
      }),
      { numRuns: thorough(2000, 50_000) },
    );
  });
});

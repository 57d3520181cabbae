import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { isNestedBeyond, jsonPieces, writeJson } from '../../src/core/json.ts';
import { runAtOnce } from '../../src/core/time-slices.ts';
import { describe, thorough } from '../check.ts';
import { codePoint } from '../code-points.ts';

const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('what lies deep', (check) => {
  check('is distinguished from what does not, by objects and lists alike', () => {
    for (const made of [objects, lists]) {
      assert.not.ok(isNestedBeyond(JSON.parse(made(64))));
      assert.ok(isNestedBeyond(JSON.parse(made(65))));
      assert.ok(isNestedBeyond(JSON.parse(made(100_000))));
    }
    for (const flat of [null, 1, 'x', undefined, {}, []]) assert.not.ok(isNestedBeyond(flat));
    assert.ok(isNestedBeyond({ flat: 1, deep: JSON.parse(lists(64)) }));
  });
});

describe('JSON in pieces', (check) => {
  const long = fc
    .tuple(fc.string({ unit: codePoint, maxLength: 20 }), fc.integer({ min: 0, max: 40_000 }))
    .map(([text, times]) => text.repeat(text === '' ? 0 : times));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, long, fc.jsonValue(), fc.array(tie('tree'), { maxLength: 4 }), tie('object')),
    object: fc.dictionary(fc.oneof(fc.string({ unit: codePoint }), fc.constant('n'.repeat(20_000))), tie('tree'), {
      maxKeys: 3,
    }),
  }));

  check('is the JSON that is written at once', () => {
    fc.assert(
      fc.property(tree, (value) => assert.is(runAtOnce(writeJson(value)), JSON.stringify(value))),
      { numRuns: thorough(60, 3000) },
    );
    const partly = { a: undefined, long: 'x'.repeat(20_000), b: [undefined, 1] };
    assert.is(runAtOnce(writeJson(partly)), JSON.stringify(partly));
  });

  check('has no piece that takes long, however a large value is made', () => {
    const large = [{ text: '\u0001'.repeat(1_000_000) }, Array(50_000).fill({}), { ['\n'.repeat(300_000)]: 1 }];
    for (const value of large)
      for (const piece of jsonPieces(value)) assert.ok(piece.length <= 16_384 * 7 + 8, String(piece.length));
  });
});

import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { describe } from './check.ts';
import { codePoint } from './code-points.ts';

describe('any code point', (check) => {
  check('is one character that is no half surrogate, and can be found again', () =>
    fc.assert(
      fc.property(codePoint, (character) => {
        assert.is([...character].length, 1);
        assert.ok(character.isWellFormed());
        assert.ok(codePoint.canShrinkWithoutContext(character));
      }),
    ),
  );

  check('may be of any plane, and the last before and the first after the surrogates', () => {
    for (const character of ['\0', 'a', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'])
      assert.ok(codePoint.canShrinkWithoutContext(character), escape(character));
    for (const other of ['', 'ab', '\ud800', '\udfff', '\ud800a'])
      assert.not.ok(codePoint.canShrinkWithoutContext(other), escape(other));
  });

  check('makes strings among which are the names that programs stumble over', () => {
    const seen = new Set(fc.sample(fc.string({ unit: codePoint }), { numRuns: 20_000, seed: 1 }));
    assert.ok([...seen].some((text) => text.includes('__proto__')));
  });
});

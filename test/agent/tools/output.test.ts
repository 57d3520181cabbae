import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { limitOutput } from '../../../src/agent/tools/output-limit.ts';
import { describe } from '../../check.ts';

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

describe('the output of a tool', (check) => {
  check('is shown whole within its limits', () => {
    for (const text of ['', 'a', 'a\nb', '\n', 'é'.repeat(5)]) {
      assert.equal(limitOutput(text, { maxLines: 2, maxBytes: 10 }), { shown: text, isCut: false });
    }
  });

  check('is cut by its lines or its bytes, and says how much is left out', () => {
    assert.is(
      limitOutput('a\nb\nc\nd', { maxLines: 2, maxBytes: 100 }).shown,
      'a\nb\n[4 more characters were left out; the server keeps the whole output]',
    );
    assert.match(limitOutput('x'.repeat(11), { maxLines: 2, maxBytes: 10 }).shown, /^x{10}\n\[1 more/);
    assert.ok(limitOutput('a\nb\n', { maxLines: 2, maxBytes: 10 }).isCut);
  });

  check('is a beginning of the whole, within both limits, without half a character', () => {
    const limits = fc.record({ maxLines: fc.integer({ min: 1, max: 5 }), maxBytes: fc.integer({ min: 1, max: 30 }) });
    const text = fc
      .array(fc.oneof(fc.constant('\n'), fc.string({ unit: 'grapheme', maxLength: 8 })))
      .map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, limits, (whole, { maxLines, maxBytes }) => {
        const { shown, isCut } = limitOutput(whole, { maxLines, maxBytes });
        const isWithin = whole.split('\n').length <= maxLines && bytesOf(whole) <= maxBytes;
        assert.is(isCut, !isWithin);
        if (!isCut) return assert.is(shown, whole);
        const [, kept = '', left] = /^([\s\S]*)\n\[(\d+) more characters[^\n]*\]$/.exec(shown) ?? [];
        assert.ok(whole.startsWith(kept));
        assert.is(Number(left), whole.length - kept.length);
        assert.ok(bytesOf(kept) <= maxBytes && kept.split('\n').length <= maxLines);
        assert.ok(kept.isWellFormed());
      }),
    );
  });
});

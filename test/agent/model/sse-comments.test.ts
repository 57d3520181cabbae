import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createSseContentDetector } from '../../../src/agent/model/timeouts.ts';
import { describe } from '../../check.ts';

const encoder = new TextEncoder();
const collected = (...pieces: readonly string[]): readonly boolean[] => {
  const hasText = createSseContentDetector();
  return pieces.map((piece) => hasText(encoder.encode(piece)));
};

describe('a piece of an event stream', (check) => {
  check('says something where it holds anything of an event', () => {
    assert.equal(collected('data: x\n\n'), [true]);
    assert.equal(collected('da', 'ta', ': x', '\n', '\n'), [true, true, true, false, false]);
    assert.equal(collected(': comment\ndata: x'), [true]);
    assert.equal(collected('data: x\n: comment'), [true]);
    assert.equal(collected(' : no comment'), [true]);
  });

  check('says nothing with comments and line ends, wherever they are cut', () => {
    assert.equal(collected('', '\n', '\r\n', ':', ' a', ': b\r', ': c\n\n'), Array(7).fill(false));
    assert.equal(collected('data: x\r', ': a', '\r', 'x'), [true, false, false, true]);
  });

  check('says the same, whatever pieces it comes in', () => {
    const bytes = fc.stringMatching(/^[:ax\r\n]{0,20}$/);
    fc.assert(
      fc.property(bytes, fc.nat(20), (text, cut) => {
        const [left = false, right = false] = collected(text.slice(0, cut), text.slice(cut));
        const [whole] = collected(text);
        assert.is(whole, left || right);
        assert.is(
          whole,
          text.split(/[\r\n]/).some((line) => line !== '' && !line.startsWith(':')),
        );
      }),
    );
  });
});

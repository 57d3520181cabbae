import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createSseContentDetector } from '../../../src/agent/model/timeouts.ts';
import { describe } from '../../check.ts';

const encoder = new TextEncoder();
const heard = (...pieces: readonly string[]): readonly boolean[] => {
  const hasWords = createSseContentDetector();
  return pieces.map((piece) => hasWords(encoder.encode(piece)));
};

describe('a piece of an event stream', (check) => {
  check('says something where it holds anything of an event', () => {
    assert.equal(heard('data: x\n\n'), [true]);
    assert.equal(heard('da', 'ta', ': x', '\n', '\n'), [true, true, true, false, false]);
    assert.equal(heard(': comment\ndata: x'), [true]);
    assert.equal(heard('data: x\n: comment'), [true]);
    assert.equal(heard(' : no comment'), [true]);
  });

  check('says nothing with comments and line ends, wherever they are cut', () => {
    assert.equal(heard('', '\n', '\r\n', ':', ' a', ': b\r', ': c\n\n'), Array(7).fill(false));
    assert.equal(heard('data: x\r', ': a', '\r', 'x'), [true, false, false, true]);
  });

  check('says the same, whatever pieces it comes in', () => {
    const bytes = fc.stringMatching(/^[:ax\r\n]{0,20}$/);
    fc.assert(
      fc.property(bytes, fc.nat(20), (text, cut) => {
        const [left = false, right = false] = heard(text.slice(0, cut), text.slice(cut));
        const [whole] = heard(text);
        assert.is(whole, left || right);
        assert.is(
          whole,
          text.split(/[\r\n]/).some((line) => line !== '' && !line.startsWith(':')),
        );
      }),
    );
  });
});

import { property as given, assert as property, string } from 'fast-check';
import * as assert from 'uvu/assert';
import { isBlank, NORMALISER_VERSION, normalise } from '../../../src/gateway/text/normalize.ts';
import { describe, thorough } from '../../check.ts';
import { codePoint } from '../../code-points.ts';

const point = (code: number): string => String.fromCodePoint(code);
const INVISIBLE = [
  0x00ad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f,
  0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2061, 0x2064, 0x2065, 0x2066, 0x2069, 0x206a, 0x206f, 0x3164,
  0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0xfff9, 0xfffa, 0xfffb, 0xfffe, 0x1bca0, 0x1d173, 0xe0001, 0xe0020, 0xe007f,
  0xe0100, 0xe01ef, 0x00, 0x01, 0x07, 0x08, 0x0e, 0x1b, 0x1f, 0x7f, 0x80, 0x84, 0x86, 0x9f,
];

describe('normalise', (check) => {
  check('gives plain text back as it is', () => {
    const text = 'How to bake bread:\n\t1. Flour & water <b>~</b>';
    assert.is(normalise(text), text);
  });
  check('has a version', () => assert.is(NORMALISER_VERSION, '6'));
  for (const code of INVISIBLE) {
    check(`removes U+${code.toString(16).padStart(4, '0').toUpperCase()}`, () => {
      assert.is(normalise(`b${point(code)}omb`), 'bomb');
      assert.ok(isBlank(` ${point(code)}\n`));
    });
  }
  check('folds compatibility forms', () => {
    assert.is(normalise('ｂｏｍｂ 𝐛𝐨𝐦𝐛 ⓑⓞⓜⓑ ᵇᵒᵐᵇ 🄱🄾🄼🄱 ﬁ'), 'bomb bomb bomb bomb BOMB fi');
  });
  check('composes letters that an invisible character kept apart', () => {
    assert.is(normalise('e\u200b\u0301'), 'é');
  });
  check('writes every line break as a line feed', () => {
    assert.is(normalise('a\r\nb\rc\u2028d\u2029e\vf\fg\x85h\ti'), 'a\nb\nc\nd\ne\nf\ng\nh\ti');
  });
  check('replaces lone surrogates and keeps pairs', () => {
    assert.is(normalise('a\ud800b\udc00c😀'), 'a\ufffdb\ufffdc😀');
  });
  for (const sign of ['\uff9e', '\uff9f', '\u0e33', '\u0eb3']) {
    check(`takes linear time on marks amid U+${sign.charCodeAt(0).toString(16).toUpperCase()}`, () => {
      const startedAt = performance.now();
      normalise(`\u0316${sign}\u0300`.repeat(33_000));
      assert.ok(performance.now() - startedAt < 1000);
    });
  }
  check('does not let one ligature become a sentence', () => {
    assert.is(normalise('\ufdfa'.repeat(1000)).length, 1000);
  });
  check('keeps what is seen in other scripts', () => {
    for (const text of ['你好，世界', 'नमस्ते', 'สวัสดี', 'שָׁלוֹם', 'مرحبا'])
      assert.is(normalise(text).replaceAll(',', '，'), text.normalize('NFKC').replaceAll(',', '，'));
  });
  check('twice is once, whatever the text', () => {
    property(
      given(string({ unit: codePoint, maxLength: 60 }), (text) => normalise(normalise(text)) === normalise(text)),
      { numRuns: thorough(333, 2000) },
    );
  });
});

describe('isBlank', (check) => {
  check('sees nothing in blanks of all kinds', () => {
    assert.ok(isBlank(''));
    assert.ok(isBlank(' \t\r\n\u00a0\u3000\u2003\u2800\u3164\ufeff\u200b\u{e0041}\0'));
  });
  check('sees any letter, sign or lone surrogate', () => {
    for (const text of ['a', '.', '\u200b。', '😀', '\ud800', '\u0301'])
      assert.not.ok(isBlank(text), JSON.stringify(text));
  });
});

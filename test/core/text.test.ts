import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { redactedLine } from '../../src/core/text.ts';
import { describe } from '../check.ts';
import { codePoint } from '../code-points.ts';

const UNSEEN = {
  'a line break': '\n',
  'a null': '\u0000',
  'an escape': '\u001b[31m',
  'a zero-width space': '\u200b',
  'a zero-width joiner': '\u200d',
  'a soft hyphen': '\u00ad',
  'a right-to-left override': '\u202e',
  'an isolate': '\u2066',
  'a byte order mark': '\ufeff',
  'a line separator': '\u2028',
  'a variation selector': '\ufe0f',
  'a variation selector of the supplement': '\u{e0101}',
  'a Mongolian selector': '\u180b',
  'a grapheme joiner': '\u034f',
  'a Hangul filler': '\u3164',
  'a Braille blank': '\u2800',
  'a tag character': '\u{e0041}',
  'a private character': '\ue000',
  'half a pair': '\ud800',
};

describe('a text of the relay', (check) => {
  for (const [what, character] of Object.entries(UNSEEN)) {
    check(`loses ${what}`, () => assert.match(redactedLine(`bob${character}smith`), /^bob (?:\[31m)?smith$/));
  }
  check('keeps letters of every script', () => {
    for (const text of ['naïve', '日本語', 'Привет', 'שלום', 'नमस्ते', '👍🏽']) assert.is(redactedLine(text), text);
  });
  check('stands on one line, with single blanks', () => assert.is(redactedLine('  a\r\n\tb \u3000 c  '), 'a b c'));
  check('ends in a sign that it goes on when it is too long', () => {
    assert.is(redactedLine('abcdef', 5), 'abcd…');
    assert.is(redactedLine('abcde', 5), 'abcde');
  });
  check('says that it goes on also when nothing but unseen characters came first', () => {
    assert.is(redactedLine(`${'\u200b'.repeat(100)}secret`, 5), '…');
    assert.is(redactedLine(`ab${' '.repeat(100)}c`, 5), 'ab…');
  });
  check('is never cut through a character', () => {
    assert.is(redactedLine('👍'.repeat(10), 4), '👍👍👍…');
    for (let limit = 1; limit < 9; limit++) assert.not.match(redactedLine('👍'.repeat(99), limit), /\p{Cs}/u);
  });
  check('is bounded, visible and the same when cleaned again, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 200 }), fc.integer({ min: 1, max: 60 }), (text, limit) => {
        const clean = redactedLine(text, limit);
        assert.ok([...clean].length <= limit);
        assert.not.match(clean, /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}]|^\s|\s$|\s\s/u);
        assert.is(redactedLine(clean, limit), clean);
      }),
    );
  });
});

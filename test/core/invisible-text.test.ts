import * as assert from 'uvu/assert';
import { INVISIBLE_CHARACTERS } from '../../src/core/text.ts';
import { describe } from '../check.ts';

const UNSEEN = {
  'a line break': '\n',
  'a tab': '\t',
  'a null': '\u0000',
  'an escape': '\u001b',
  'a control of the upper half': '\u0085',
  'a soft hyphen': '\u00ad',
  'a grapheme joiner': '\u034f',
  'an Arabic letter mark': '\u061c',
  'a Hangul filler of the beginning': '\u115f',
  'a Hangul filler of the middle': '\u1160',
  'a Khmer vowel that is not shown': '\u17b4',
  'a Mongolian selector': '\u180b',
  'a Mongolian separator of vowels': '\u180e',
  'a zero-width space': '\u200b',
  'a zero-width joiner': '\u200d',
  'a right-to-left mark': '\u200f',
  'a line separator': '\u2028',
  'a paragraph separator': '\u2029',
  'a right-to-left override': '\u202e',
  'an invisible plus': '\u2064',
  'an isolate': '\u2066',
  'a Braille blank': '\u2800',
  'a Hangul filler': '\u3164',
  'a private character': '\ue000',
  'a variation selector': '\ufe0f',
  'a byte order mark': '\ufeff',
  'a half-width Hangul filler': '\uffa0',
  'an interlinear anchor': '\ufff9',
  'a character that is none': '\uffff',
  'a tag character': '\u{e0041}',
  'a variation selector of the supplement': '\u{e0101}',
  'a private character of a far plane': '\u{100000}',
  'a first half without its second': '\ud800',
  'a second half without its first': '\udc00',
};
const marked = (text: string): string => text.replace(INVISIBLE_CHARACTERS, '#');

describe('characters that no one sees', (check) => {
  for (const [what, character] of Object.entries(UNSEEN)) {
    check(`are ${what}, each found as one`, () => {
      assert.is(marked(`a${character}b`), 'a#b');
      assert.is(marked(`${character}b${character.repeat(2)}`), '#b##');
    });
  }
  check('are none of the blanks, letters, marks and signs that are seen', () => {
    for (const text of [
      'a b',
      'a\u00a0b',
      'a\u3000b',
      'nai\u0308ve',
      '日本語',
      'Привет',
      'שָׁלוֹם',
      'नमस्ते',
      '한국어',
      '⠓⠊',
      '👍🏽',
      '€',
    ])
      assert.is(marked(text), text);
  });
});

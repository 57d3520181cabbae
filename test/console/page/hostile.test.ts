import * as assert from 'uvu/assert';
import { firstPart, plainLine, textRuns } from '../../../src/console/page/format/hostile.ts';
import { describe } from '../../check.ts';

/** A text as it is shown, hidden characters in brackets. */
const shown = (text: string): string =>
  textRuns(text)
    .map((run) => (run.kind === 'plain' ? run.text : `[${run.name}${run.count > 1 ? `x${run.count}` : ''}]`))
    .join('');

describe('a text of others on the page', (check) => {
  check('shows what nobody would see by its code point', () => {
    assert.is(shown('a\u202eb\u0000c\u001b[31m'), 'a[U+202E]b[U+0000]c[U+001B][31m');
    assert.is(shown('pass\u200bword\ufeff\u00ad'), 'pass[U+200B]word[U+FEFF][U+00AD]');
    assert.is(shown('\u{e0041}\u{e0042}'), '[U+E0041][U+E0042]');
    assert.is(shown('half \ud800 of one'), 'half [U+D800] of one');
  });

  check('counts the same hidden character in a row once', () => {
    assert.equal(textRuns('\u200b'.repeat(5000)), [
      { kind: 'hidden', name: 'U+200B', meaning: 'zero width space', count: 5000 },
    ]);
    assert.is(shown('\u200ba\u200b'), '[U+200B]a[U+200B]');
  });

  check('keeps line breaks, tabs, emoji that are joined, and other scripts', () => {
    for (const text of ['one\ntwo\tthree', '👩‍👩‍👧 ✈️ 👍🏽', 'Grüße, שלום, 你好, e\u0301']) assert.is(shown(text), text);
    assert.is(shown('one\r\ntwo'), 'one\ntwo');
    assert.is(shown('one\rtwo'), 'one[U+000D]two');
    assert.is(shown('a\u200db'), 'a[U+200D]b');
  });

  check('is cut between characters, never inside one', () => {
    assert.is(firstPart('ab👍', 3), 'ab');
    assert.is(firstPart('ab👍', 4), 'ab👍');
    assert.is(firstPart('abc', 3), 'abc');
  });

  check('is one line without hidden characters where no element can stand', () => {
    assert.is(plainLine(' a\u202e \n\u0007 b ', 80), 'a b');
    assert.is(plainLine('x'.repeat(1_000_000), 10), 'xxxxxxxxx…');
  });
});

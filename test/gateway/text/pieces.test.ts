import * as assert from 'uvu/assert';
import { neutralise, normalise } from '../../../src/gateway/text/normalize.ts';
import { splitPieces } from '../../../src/gateway/text/pieces.ts';
import { describe } from '../../check.ts';

const TEXTS: Readonly<Record<string, string>> = {
  words: 'a river ran by the ｔｏｗｎ\u0301 '.repeat(20_000),
  'one long word': 'ab'.repeat(200_000),
  'surrogate pairs': `x${'😀'.repeat(200_000)}`,
  'beginnings of control tokens': '<|'.repeat(100_000),
  'control tokens': '<|end|>[INST]'.repeat(30_000),
};

describe('pieces of a very long text', (check) => {
  check('are one piece up to the longest text that is accepted by default', () => {
    assert.is(splitPieces('').length, 1);
    assert.is(splitPieces('x'.repeat(100_000)).length, 1);
  });
  for (const [name, text] of Object.entries(TEXTS)) {
    check(`join to the text again, with pairs whole: ${name}`, () => {
      const pieces = splitPieces(text);
      assert.is(pieces.join(''), text);
      assert.ok(pieces.every((piece) => piece.isWellFormed()));
    });
    check(`change nothing of what normalising and neutralising make of it: ${name}`, () => {
      for (const change of [normalise, neutralise]) assert.is(splitPieces(text).map(change).join(''), change(text));
    });
  }
  check('are more than one where the text is longer than a piece', () => {
    assert.ok(splitPieces(TEXTS.words ?? '').length > 1);
    assert.ok(splitPieces(TEXTS['surrogate pairs'] ?? '').length > 1);
  });
});

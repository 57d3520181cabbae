import * as assert from 'uvu/assert';
import { nodeDigest } from '../../../src/adapter/node/crypto.ts';
import {
  EMPTY_FINGERPRINT,
  extendFingerprint,
  hashTail,
  normalizeMessages,
} from '../../../src/bridge/conversation/fingerprint.ts';
import type { HistoryMessage } from '../../../src/bridge/request.ts';
import { describe } from '../../check.ts';
import { assistant, user } from './world.ts';

const fingerprintFor = (...messages: readonly HistoryMessage[]) =>
  extendFingerprint(EMPTY_FINGERPRINT, normalizeMessages(messages), nodeDigest);
const textOf = (messages: HistoryMessage) => normalizeMessages([messages])[0]?.text;

describe('what counts as the same words', (check) => {
  check('leaves white space and the way accents are written out of account', () => {
    assert.is(textOf(assistant('  one\n\n\ttwo \u00a0 three ')), 'one two three');
    assert.is(textOf(user('one\ntwo \tthree four\u2003five')), 'one two three four five');
    assert.is(textOf(user('cafe\u0301')), 'caf\u00e9');
  });

  check('drops the thoughts of an answer, however a client shows them', () => {
    assert.is(textOf(assistant('<think>hm\nhm</think>\n\nYes. <think>so</think>Really.')), 'Yes. Really.');
    const shown =
      '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n> hm\n</details>\nYes.';
    assert.is(textOf(assistant(shown)), 'Yes.');
  });

  check('keeps thoughts that have no end, other details, and what a user writes of thoughts', () => {
    assert.is(textOf(assistant('a <think>b')), 'a <think>b');
    assert.is(
      textOf(assistant('<details><summary>s</summary>x</details>')),
      '<details><summary>s</summary>x</details>',
    );
    assert.is(textOf(user('what is <think>x</think>?')), 'what is <think>x</think>?');
  });

  check('takes adjacent messages of one role for one entry, and answers without text for none', () => {
    assert.equal(
      normalizeMessages([user('a'), assistant(' '), user('b'), assistant('c'), assistant(''), assistant('d')]),
      [user('a b'), assistant('c d')],
    );
    assert.equal(normalizeMessages([assistant('<think>x</think>')]), []);
    assert.equal(normalizeMessages([user('')]), [user('')]);
  });

  check('takes time in proportion to a text of a million characters that only begins thoughts', () => {
    const start = performance.now();
    normalizeMessages([assistant('<think>'.repeat(150_000)), assistant('<details type="reasoning"'.repeat(40_000))]);
    normalizeMessages(Array.from({ length: 100_000 }, () => user('some words')));
    assert.ok(performance.now() - start < 2000);
  });
});

describe('where a conversation stands', (check) => {
  check('is the same whether it is counted from the start or from where it stood', () => {
    const whole = fingerprintFor(user('a'), assistant('b'), user('c'), assistant('d'));
    const half = fingerprintFor(user('a'), assistant('b'));
    assert.equal(extendFingerprint(half, normalizeMessages([user('c'), assistant('d')]), nodeDigest), whole);
    assert.is(whole.entries, 4);
    assert.is(whole.opening, fingerprintFor(user('a')).head);
  });

  check('differs with every word, role and order', () => {
    const heads = [
      fingerprintFor(user('a'), assistant('b')),
      fingerprintFor(user('a'), assistant('c')),
      fingerprintFor(user('c'), assistant('b')),
      fingerprintFor(user('b'), assistant('a')),
      fingerprintFor(assistant('a'), user('b')),
      fingerprintFor(user('a')),
      fingerprintFor(user('a'), assistant('b'), user('')),
      fingerprintFor(),
    ].map(({ head }) => head);
    assert.is(new Set(heads).size, heads.length);
  });

  check('has the last two questions with their answers as its tail', () => {
    const [a, b, c, d] = [user('a'), assistant('b'), user('c'), assistant('d')] as const;
    assert.is(hashTail([a, b, c, d, a, b], nodeDigest).length, 2);
    assert.equal(hashTail([user('x'), assistant('y'), c, d, a, b], nodeDigest), hashTail([c, d, a, b], nodeDigest));
    assert.equal(hashTail([assistant('summary'), c, d], nodeDigest), hashTail([c, d], nodeDigest));
    assert.equal(hashTail([a, b, c], nodeDigest), []);
    assert.equal(hashTail([], nodeDigest), []);
  });
});

import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createNodeHash, nodeDigest } from '../../../src/adapter/node/crypto.ts';
import {
  EMPTY_FINGERPRINT,
  extendFingerprint as extendInSteps,
  type HistoryFingerprint,
  hashTail as hashTailInSteps,
  normalizeMessages as normalizeInSteps,
} from '../../../src/bridge/conversation/fingerprint.ts';
import { extendHistory } from '../../../src/bridge/conversation/match.ts';
import type { HistoryMessage } from '../../../src/bridge/request.ts';
import { runAtOnce } from '../../../src/core/time-slices.ts';
import { describe, thorough } from '../../check.ts';
import { assistant, user } from './world.ts';

const normalizeMessages = (messages: readonly HistoryMessage[]) => runAtOnce(normalizeInSteps(messages));
const hashTail = (entries: readonly HistoryMessage[]) => runAtOnce(hashTailInSteps(entries, createNodeHash));
const extendFingerprint = (before: HistoryFingerprint, entries: readonly HistoryMessage[]) =>
  runAtOnce(extendInSteps(before, entries, createNodeHash));
const fingerprintFor = (...messages: readonly HistoryMessage[]) =>
  extendFingerprint(EMPTY_FINGERPRINT, normalizeMessages(messages));
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
    assert.equal(extendFingerprint(half, normalizeMessages([user('c'), assistant('d')])), whole);
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
    assert.is(hashTail([a, b, c, d, a, b]).length, 2);
    assert.equal(hashTail([user('x'), assistant('y'), c, d, a, b]), hashTail([c, d, a, b]));
    assert.equal(hashTail([assistant('summary'), c, d]), hashTail([c, d]));
    assert.equal(hashTail([a, b, c]), []);
    assert.equal(hashTail([]), []);
  });
});

/** As all versions up to 0.9 have made them at once: stored conversations have these hashes. */
const asStored = (messages: readonly HistoryMessage[]): { readonly head: string; readonly tail: readonly string[] } => {
  const without = (text: string): string =>
    text.replace(/<think>[\s\S]*?<\/think>/g, '').replace(/<details type="reasoning"[\s\S]*?<\/details>/g, '');
  const entries: { role: string; text: string; files: readonly string[] }[] = [];
  for (const { role, text, files = [] } of messages) {
    const shown = role === 'user' ? text : without(text);
    const words = shown
      .normalize('NFC')
      .replace(/\s{2,}|[^\S ]/g, ' ')
      .trim();
    if (role === 'assistant' && words === '') continue;
    const last = entries.at(-1);
    const urls = role === 'user' ? files.map(({ url }) => url) : [];
    if (last?.role !== role) entries.push({ role, text: words, files: urls });
    else {
      last.text = [last.text, words].filter((one) => one !== '').join(' ');
      last.files = [...last.files, ...urls];
    }
  }
  const contentOf = ({ text, files }: (typeof entries)[number]) => [text, ...files.map(nodeDigest)].join('\n');
  const head = entries.reduce((before, entry) => nodeDigest(`${before}\n${entry.role}\n${contentOf(entry)}`), '');
  const [prompt, answer] = entries.slice(-2);
  const isPair = prompt?.role === 'user' && answer?.role === 'assistant';
  return { head, tail: isPair ? [nodeDigest(`${contentOf(prompt)}\n${answer.text}`)] : [] };
};

describe('a stored conversation', (check) => {
  const piece = fc.constantFrom(
    ...[
      'word ',
      '\n',
      '\t \n',
      'cafe\u0301',
      '\u0301\u0316',
      '\uac00\u11a8',
      '\ud83d',
      '\udc4d',
      '\u6f22',
      '\u2028',
      '\u{1f44d}',
    ],
    ...['<think>', '</think>', '<details type="reasoning"', '</details>'],
  );
  const text = fc
    .array(
      fc.tuple(piece, fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(20_000) })),
      {
        maxLength: 12,
      },
    )
    // No stack of marks is taller than in any language.
    .map((parts) => parts.map(([one, times]) => one.repeat(/^\u0301/.test(one) ? 1 : times)).join(''));
  const file = text.map((url) => ({ type: 'file' as const, mime: 'image/png', url }));
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const),
    text,
    files: fc.array(file, { maxLength: 2 }),
  });

  check('is found by the same hashes as before texts were read in steps', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const { head, tail } = asStored(messages);
        assert.is(fingerprintFor(...messages).head, head);
        assert.is(hashTail(normalizeMessages(messages)).at(-1), tail.at(-1));
      }),
      { numRuns: thorough(40, 3000) },
    );
  });

  check('is the same whether an exchange is added to it or read in a history', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 3 }), text, text, (messages, promptText, answerText) => {
        const entries = normalizeMessages(messages);
        const last = entries.slice(-1);
        const fingerprint = extendFingerprint(EMPTY_FINGERPRINT, entries.slice(0, -1));
        const base = { fingerprint, last, tail: hashTail(entries) };
        const extended = runAtOnce(extendHistory(base, { promptText, files: [], answerText }, createNodeHash));
        assert.equal(extended.fingerprint, fingerprintFor(...messages, user(promptText), assistant(answerText)));
      }),
      { numRuns: thorough(30, 1000) },
    );
  });

  check('keeps the text of a stopped answer without thoughts and with single blanks', () => {
    const base = { fingerprint: EMPTY_FINGERPRINT, last: [], tail: [] };
    const exchange = { promptText: 'a', files: [], answerText: '<think>hm</think> One\n two' };
    assert.is(runAtOnce(extendHistory(base, exchange, createNodeHash)).answerText, 'One two');
  });
});

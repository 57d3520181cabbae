import * as assert from 'uvu/assert';
import { errorTextFor } from '../../../src/relay-admin/errors/error-text.ts';
import { RelayError, type RelayErrorDetail } from '../../../src/relay-admin/errors/errors.ts';
import { formatErrorText } from '../../../src/relay-admin/errors/format.ts';
import { describe } from '../../check.ts';
import { EVERY_PROBLEM } from '../harness/every-error.ts';

const SENTENCE = /^[A-Z_]{3,40}: .+\. outcome=(not_applied|unknown) retry=(no|same_call|after_\d+s)\. Next: .+$/;
const ENDING = / Next: [^.].*\.(?: ref=rc_[0-9a-f]{16})?$/;
/** What a client could take for markup, or for a line of its own. */
const MARKUP = /[<>`*#|[\]{}\\]|[^\x20-\x7e]/;
const LIMIT_CHARS = 600;

/** Kinds that share a code, because whoever reads it does the same about them. */
const SHARED: Readonly<Record<string, string>> = { 'no-such-user': 'NOT_FOUND' };

const details: readonly RelayErrorDetail[] = Object.values(EVERY_PROBLEM).flat();
const sentenceFor = (detail: RelayErrorDetail): string => formatErrorText(errorTextFor(detail));

describe('the sentence of a problem', (check) => {
  for (const [kind, variants] of Object.entries(EVERY_PROBLEM)) {
    check(`of the kind ${kind} says what happened, what became of the change, whether to retry, and one step`, () => {
      assert.ok(variants.length > 0);
      for (const detail of variants) {
        const sentence = sentenceFor(detail);
        assert.is(detail.kind, kind);
        assert.match(sentence, SENTENCE);
        assert.match(sentence, ENDING);
        assert.not.match(sentence, MARKUP);
        assert.not.match(sentence, /undefined|NaN|null|Infinity|\[object|\.\.|\. \.|,\./);
        assert.ok(sentence.length <= LIMIT_CHARS, `${sentence.length} characters`);
      }
    });
  }

  check('begins with a code of its own kind', () => {
    const kindsOf = new Map<string, Set<string>>();
    for (const detail of details) {
      const { code } = errorTextFor(detail);
      if (SHARED[detail.kind] !== undefined) assert.is(code, SHARED[detail.kind]);
      else kindsOf.set(code, (kindsOf.get(code) ?? new Set()).add(detail.kind));
    }
    for (const [code, kinds] of kindsOf) assert.is(kinds.size, 1, `${code}: ${[...kinds].join(', ')}`);
  });

  check('is the same code for every variant of a kind, and another sentence for each', () => {
    for (const [kind, variants] of Object.entries(EVERY_PROBLEM)) {
      assert.is(new Set(variants.map((detail) => errorTextFor(detail).code)).size, 1, kind);
      assert.is(new Set(variants.map(sentenceFor)).size, variants.length, kind);
    }
  });

  check('calls the outcome unknown for a change that was sent and for a bug after it, and for nothing else', () => {
    const unknown = details.filter((detail) => errorTextFor(detail).outcome === 'unknown');
    assert.equal(
      unknown.map(({ kind }) => kind),
      ['change-unknown', 'bug'],
    );
  });

  check('of an unknown outcome never invites to try again', () => {
    for (const detail of details) {
      const { outcome, retry } = errorTextFor(detail);
      if (outcome === 'unknown') assert.is(retry, 'no', detail.kind);
    }
  });

  check('rounds a wait up to whole seconds, and never to none', () => {
    const retryOf = (retryAfterMs: number) => errorTextFor({ kind: 'upstream-rate-limit', retryAfterMs }).retry;
    assert.equal([0, 1, 999, 1000, 1001, 59_500].map(retryOf), [
      'after_1s',
      'after_1s',
      'after_1s',
      'after_1s',
      'after_2s',
      'after_60s',
    ]);
  });

  check('gives the reference of a recharge where there is one', () => {
    for (const detail of details)
      assert.is(sentenceFor(detail).endsWith(' ref=rc_0123456789abcdef'), 'reference' in detail, detail.kind);
  });

  check('names the ids of a few users, and says so when there are more', () => {
    const sentence = (count: number) =>
      sentenceFor({ kind: 'ambiguous-user', ids: Array.from({ length: count }, (_, index) => index + 1) });
    assert.match(sentence(2), '2 users have this e-mail when case and blanks are ignored: ids 1, 2. ');
    assert.match(sentence(10), ': ids 1, 2, 3, 4, 5, 6, 7, 8, 9, 10. ');
    assert.match(sentence(11), '11 users have this e-mail when case and blanks are ignored: ids 1, 2, 3,');
    assert.match(sentence(11), ', 9, 10 and more. ');
  });

  check('sends anyone who was refused for the key or the terms to a person, and not into another preview', () => {
    for (const status of [401, 403, 423]) {
      const { next } = errorTextFor({ kind: 'recharge-refused', status, reference: 'rc_x' });
      assert.match(next, /^ask (the operator|an administrator) to /);
    }
  });
});

describe('a problem', (check) => {
  check('has nothing but its kind for a message, so that a stray log line shows nothing', () => {
    for (const detail of details) {
      const problem = new RelayError(detail);
      assert.is(problem.message, detail.kind);
      assert.is(problem.name, 'RelayError');
      assert.is(problem.cause, undefined);
    }
  });
});

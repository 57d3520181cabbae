import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createAppendOnlyText } from '../../../src/bridge/turn/log-text.ts';
import { describe } from '../../check.ts';

/** What is told because of each: a text to add, or one that it reads now. */
const withPartsOf = (...steps: readonly (string | { readonly now: string })[]): readonly string[] => {
  const appendOnly = createAppendOnlyText();
  return steps.map((step) => (typeof step === 'string' ? appendOnly.add(step) : appendOnly.replace(step.now)));
};

describe('a text that is reported', (check) => {
  check('is reported piece by piece', () => {
    assert.equal(withPartsOf({ now: '' }, 'Hel', '', 'lo', { now: 'Hello' }), ['', 'Hel', '', 'lo', '']);
    assert.equal(withPartsOf({ now: 'Hel' }, { now: 'Hello' }, ' you'), ['Hel', 'lo', ' you']);
  });

  check('goes on where it was when it begins anew with the same words', () => {
    assert.equal(withPartsOf('Hello wor', { now: '' }, 'Hel', 'lo', ' world', '!'), [
      'Hello wor',
      '',
      '',
      '',
      'ld',
      '!',
    ]);
    assert.equal(withPartsOf('Hello', { now: 'He' }, 'llo', ' you'), ['Hello', '', '', ' you']);
    assert.equal(withPartsOf('Hel', { now: '' }, { now: 'Hello' }), ['Hel', '', 'lo']);
  });

  check('is reported in a paragraph of its own as soon as it says something else', () => {
    assert.equal(withPartsOf('Hello wor', { now: '' }, 'Hel', 'p is', ' near'), [
      'Hello wor',
      '',
      '',
      '\n\nHelp is',
      ' near',
    ]);
    assert.equal(withPartsOf('Hello', { now: 'Bye' }), ['Hello', '\n\nBye']);
  });

  check('is not reported again when only its end was taken off, or all of it', () => {
    assert.equal(withPartsOf('Hello \n', { now: 'Hello' }), ['Hello \n', '']);
    assert.equal(withPartsOf('Hello', { now: '' }), ['Hello', '']);
  });

  check('can begin anew more than once', () => {
    assert.equal(withPartsOf('abc', { now: 'x' }, { now: '' }, 'abc', '\n\n', 'x', 'y'), [
      'abc',
      '\n\nx',
      '',
      '',
      '',
      '',
      'y',
    ]);
    assert.equal(withPartsOf('abc', { now: '' }, 'a', { now: '' }, 'ab', 'cd'), ['abc', '', '', '', '', 'd']);
  });

  check('that has caught up can begin anew like any other', () => {
    const reported = withPartsOf('Hello', { now: '' }, 'Hello', ' you', { now: 'Hello' }, ' you', '!', { now: 'Bye' });
    assert.equal(reported, ['Hello', '', '', ' you', '', '', '!', '\n\nBye']);
  });

  check('knows whether anything of it was sent', () => {
    const appendOnly = createAppendOnlyText();
    appendOnly.replace('');
    assert.not.ok(appendOnly.hasSent());
    appendOnly.add('Hello');
    assert.ok(appendOnly.hasSent());
    appendOnly.replace('');
    assert.ok(appendOnly.hasSent());
  });

  check('ends as it reads now, whatever it was before', () => {
    const step = fc.oneof(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 }).map((text) => ({ text })));
    const steps = fc.array(fc.tuple(step, fc.boolean()), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (given) => {
        const appendOnly = createAppendOnlyText();
        let now = '';
        let reported = '';
        let hasBegunAnew = false;
        for (const [{ text }, isWhole] of given) {
          hasBegunAnew ||= isWhole && !text.startsWith(now);
          now = isWhole ? text : now + text;
          reported += isWhole ? appendOnly.replace(text) : appendOnly.add(text);
          // Either its last words are what it says now, or it has said nothing yet that was not told before.
          assert.ok(reported.endsWith(now) || reported.includes(now));
          if (!hasBegunAnew) assert.is(reported, now);
        }
      }),
    );
  });
});

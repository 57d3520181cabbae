import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createAppendOnlyText } from '../../../src/bridge/turn/log-text.ts';
import { describe } from '../../check.ts';

/** What is told because of each: a text to add, or one that it reads now. */
const toldOf = (...steps: readonly (string | { readonly now: string })[]): readonly string[] => {
  const teller = createAppendOnlyText();
  return steps.map((step) => (typeof step === 'string' ? teller.add(step) : teller.replace(step.now)));
};

describe('a text that is told', (check) => {
  check('is told piece by piece', () => {
    assert.equal(toldOf({ now: '' }, 'Hel', '', 'lo', { now: 'Hello' }), ['', 'Hel', '', 'lo', '']);
    assert.equal(toldOf({ now: 'Hel' }, { now: 'Hello' }, ' you'), ['Hel', 'lo', ' you']);
  });

  check('goes on where it was when it begins anew with the same words', () => {
    assert.equal(toldOf('Hello wor', { now: '' }, 'Hel', 'lo', ' world', '!'), ['Hello wor', '', '', '', 'ld', '!']);
    assert.equal(toldOf('Hello', { now: 'He' }, 'llo', ' you'), ['Hello', '', '', ' you']);
    assert.equal(toldOf('Hel', { now: '' }, { now: 'Hello' }), ['Hel', '', 'lo']);
  });

  check('is told in a paragraph of its own as soon as it says something else', () => {
    assert.equal(toldOf('Hello wor', { now: '' }, 'Hel', 'p is', ' near'), [
      'Hello wor',
      '',
      '',
      '\n\nHelp is',
      ' near',
    ]);
    assert.equal(toldOf('Hello', { now: 'Bye' }), ['Hello', '\n\nBye']);
  });

  check('is not told again when only its end was taken off, or all of it', () => {
    assert.equal(toldOf('Hello \n', { now: 'Hello' }), ['Hello \n', '']);
    assert.equal(toldOf('Hello', { now: '' }), ['Hello', '']);
  });

  check('can begin anew more than once', () => {
    assert.equal(toldOf('abc', { now: 'x' }, { now: '' }, 'abc', '\n\n', 'x', 'y'), [
      'abc',
      '\n\nx',
      '',
      '',
      '',
      '',
      'y',
    ]);
    assert.equal(toldOf('abc', { now: '' }, 'a', { now: '' }, 'ab', 'cd'), ['abc', '', '', '', '', 'd']);
  });

  check('that has caught up can begin anew like any other', () => {
    const told = toldOf('Hello', { now: '' }, 'Hello', ' you', { now: 'Hello' }, ' you', '!', { now: 'Bye' });
    assert.equal(told, ['Hello', '', '', ' you', '', '', '!', '\n\nBye']);
  });

  check('knows whether anything was told of it', () => {
    const teller = createAppendOnlyText();
    teller.replace('');
    assert.not.ok(teller.hasSent());
    teller.add('Hello');
    assert.ok(teller.hasSent());
    teller.replace('');
    assert.ok(teller.hasSent());
  });

  check('ends as it reads now, whatever it was before', () => {
    const step = fc.oneof(fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 }).map((text) => ({ text })));
    const steps = fc.array(fc.tuple(step, fc.boolean()), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (given) => {
        const teller = createAppendOnlyText();
        let now = '';
        let told = '';
        let hasBegunAnew = false;
        for (const [{ text }, isWhole] of given) {
          hasBegunAnew ||= isWhole && !text.startsWith(now);
          now = isWhole ? text : now + text;
          told += isWhole ? teller.replace(text) : teller.add(text);
          // Either its last words are what it says now, or it has said nothing yet that was not told before.
          assert.ok(told.endsWith(now) || told.includes(now));
          if (!hasBegunAnew) assert.is(told, now);
        }
      }),
    );
  });
});

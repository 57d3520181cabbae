import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { bearerToken, matchingKeyIndex } from '../../../src/core/http/auth.ts';
import { describe } from '../../check.ts';

const presenting = (authorization?: string): Request =>
  new Request('http://gateway.test/', authorization === undefined ? {} : { headers: { authorization } });
/** A runtime whose headers let more through than the standard's. */
const presentingRaw = (authorization: string): Request =>
  ({ headers: { get: () => authorization } }) as unknown as Request;

describe('the bearer token', (check) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    check(`is found after ${scheme}, since schemes have no case`, () => {
      assert.is(bearerToken(presenting(`${scheme} key-1`)), 'key-1');
    });
  }

  check('may stand behind several blanks and before some', () => {
    assert.is(bearerToken(presenting('Bearer    key-1')), 'key-1');
    assert.is(bearerToken(presentingRaw('Bearer key-1   ')), 'key-1');
  });

  check('keeps its own case and its punctuation', () => {
    assert.is(bearerToken(presenting('Bearer sk-A.b_c~d+e/f==')), 'sk-A.b_c~d+e/f==');
  });

  const malformed: Readonly<Record<string, string>> = {
    'an empty header': '',
    'a bare scheme': 'Bearer',
    'a scheme and blanks': 'Bearer   ',
    'a bare key': 'key-1',
    'another scheme': 'Basic key-1',
    'a scheme that only ends in Bearer': 'XBearer key-1',
    'a scheme that only begins with Bearer': 'BearerX key-1',
    'no blank after the scheme': 'Bearerkey-1',
    'a colon after the scheme': 'Bearer: key-1',
    'a tab after the scheme': 'Bearer\tkey-1',
    'two tokens': 'Bearer key-1 key-1',
    'two headers joined into one': 'Bearer key-1, Bearer key-1',
    'two schemes': 'Bearer Bearer key-1',
    'the token in quotes and blanks': 'Bearer "key 1"',
    'a letter beyond ASCII': 'Bearer key-é',
    'a no-break space': 'Bearer\u00a0key-1',
  };
  for (const [what, header] of Object.entries(malformed)) {
    check(`is absent with ${what}`, () => assert.is(bearerToken(presenting(header)), undefined));
  }

  check('is absent without the header', () => assert.is(bearerToken(presenting()), undefined));

  check('is absent with control characters or letters that no standard header could hold', () => {
    for (const stray of ['\0', '\n', '\r\n', '\u007f', '\u0131', '\ud83d\ude00']) {
      assert.is(bearerToken(presentingRaw(`Bearer key${stray}1`)), undefined, JSON.stringify(stray));
      assert.is(bearerToken(presentingRaw(`Bearer key-1${stray}`)), undefined, JSON.stringify(stray));
    }
  });

  check('may have 512 characters and no more', () => {
    assert.is(bearerToken(presenting(`Bearer ${'k'.repeat(512)}`))?.length, 512);
    assert.is(bearerToken(presenting(`Bearer ${'k'.repeat(513)}`)), undefined);
    assert.is(bearerToken(presenting(`Bearer ${'k'.repeat(10_240)}`)), undefined);
  });
});

describe('the keys of a service', (check) => {
  const KEYS = ['key-one', 'key-two', 'key-three'];
  const found = (token: string, keys: readonly string[] = KEYS): number =>
    matchingKeyIndex(presenting(`Bearer ${token}`), keys);

  check('are distinguished by their place in the list', () => {
    assert.equal(
      KEYS.map((key) => found(key)),
      [0, 1, 2],
    );
  });

  check('do not know a beginning, an extension, another case or a repetition of one', () => {
    const near = ['key-on', 'key-one-', 'key-onekey-one', 'KEY-ONE', 'ey-one', 'key-onf', 'ley-one', 'key-ona'];
    for (const token of near) assert.is(found(token), -1, token);
  });

  check('do not know the letters of one in another order', () => assert.is(found('yek-one'), -1));

  check('do not know a token whose differences would cancel each other out', () => {
    assert.is(found('bb', ['aa']), -1);
    assert.is(found('ba', ['ab']), -1);
  });

  check('that repeat themselves fit only at their own length', () => {
    assert.is(found('abab', ['ab']), -1);
    assert.is(found('ab', ['abab']), -1);
    assert.is(found('abab', ['abab']), 0);
  });

  check('fit no one when there are none, or when one is empty', () => {
    assert.is(found('key-one', []), -1);
    assert.is(found('key-one', ['']), -1);
    assert.is(matchingKeyIndex(presenting('Bearer '), ['']), -1);
    assert.is(matchingKeyIndex(presenting(), ['']), -1);
  });

  check('do not know a token of 10 kB, not even one that is a key', () => {
    const long = 'k'.repeat(10_240);
    assert.is(found(long, [long]), -1);
  });

  const token = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 40,
  });
  check('know exactly the tokens that they hold', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 5 }), token, (keys, other) => {
        for (const key of keys) assert.is(keys[found(key, keys)], key);
        assert.is(found(other, keys) !== -1, keys.includes(other));
      }),
      { numRuns: 300 },
    );
  });
});

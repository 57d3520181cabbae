import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { hasBasicCredentials } from '../../../src/core/http/auth.ts';
import { describe } from '../../check.ts';

const encoded = (words: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(words)));
const asks = (authorization?: string): Request =>
  new Request('http://host/', authorization === undefined ? {} : { headers: { authorization } });
const ANN = { username: 'ann', password: 'secret' };

describe('Basic authentication', (check) => {
  check('knows its user by name and password', () => {
    assert.ok(hasBasicCredentials(asks(`Basic ${encoded('ann:secret')}`), ANN));
    assert.ok(hasBasicCredentials(asks(`basic   ${encoded('ann:secret')}  `), ANN));
    assert.ok(hasBasicCredentials(asks(`Basic ${encoded('ann:secret').replace(/=+$/, '')}`), ANN));
  });

  check('takes any text for a password: colons, blanks, every alphabet', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        (password, other) => {
          const credentials = { username: 'ann', password };
          assert.ok(hasBasicCredentials(asks(`Basic ${encoded(`ann:${password}`)}`), credentials));
          assert.is(hasBasicCredentials(asks(`Basic ${encoded(`ann:${other}`)}`), credentials), other === password);
        },
      ),
    );
  });

  check('knows no one else', () => {
    for (const words of [
      'ann:Secret',
      'ann:secre',
      'ann:secrets',
      'ANN:secret',
      'ann',
      ':',
      '',
      'ann:',
      '\ufeffann:secret',
    ])
      assert.not.ok(hasBasicCredentials(asks(`Basic ${encoded(words)}`), ANN), words);
    for (const header of [
      undefined,
      '',
      'Basic',
      'Basic ',
      'Bearer YW5uOnNlY3JldA==',
      'Basic @@@',
      'Basic YW5u OnNlY3JldA==',
    ])
      assert.not.ok(hasBasicCredentials(asks(header), ANN), header ?? 'none');
    assert.not.ok(
      hasBasicCredentials(asks(`Basic ${btoa('ann:s\xe9cret')}`), { ...ANN, password: 'sécret' }),
      'Latin-1',
    );
    assert.not.ok(hasBasicCredentials(asks(`Basic ${encoded('ann:secret')}, Basic ${encoded('ann:secret')}`), ANN));
  });

  check('does not read what is too long to be anyone', () => {
    const password = 'x'.repeat(2000);
    assert.not.ok(hasBasicCredentials(asks(`Basic ${encoded(`ann:${password}`)}`), { ...ANN, password }));
  });
});

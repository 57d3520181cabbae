import * as assert from 'uvu/assert';
import { errorResponse } from '../../src/core/http/response.ts';
import { notConfiguredText, notFoundText, shownIdentifier } from '../../src/core/identifier.ts';
import { describe } from '../check.ts';

describe('an identifier', (check) => {
  for (const text of ['a', 'fake/ghost', 'gpt-oss:120b', 'ses_01H.x', 'x'.repeat(128)]) {
    check(`${text.slice(0, 20)} may be shown`, () => assert.is(shownIdentifier(text), text));
  }
  for (const text of ['', 'two words', 'a"b', 'a\nb', 'a\u200bb', 'é', '<b>', 'x'.repeat(129)]) {
    check(`${JSON.stringify(text.slice(0, 20))} may not be shown`, () => assert.is(shownIdentifier(text), undefined));
  }
});

describe('the error about a name that is not there', (check) => {
  check('quotes the name and the nearest one', () => {
    assert.is(
      notConfiguredText('model', 'fake/ghost', ['fake/main', 'other/x']),
      'model "fake/ghost" is not configured; the nearest is "fake/main"',
    );
    assert.is(notConfiguredText('agent', 'biuld', []), 'agent "biuld" is not configured');
    assert.is(notFoundText('session', 'ses_1'), 'session "ses_1" was not found');
  });

  check('never quotes what may be a text of a user', () => {
    const text = 'my secret diary';
    assert.is(notConfiguredText('model', text, ['main']), 'this model is not configured; the nearest is "main"');
    assert.is(notConfiguredText('model', text, []), 'this model is not configured');
    assert.is(notFoundText('session', text), 'this session was not found');
  });

  check('takes no time to speak of over a name of a million characters', () => {
    assert.is(notConfiguredText('model', 'x'.repeat(1_000_000), ['y']).includes('xx'), false);
  });
});

describe('the answer to an unknown model', (check) => {
  const messageFor = async (asked: string | undefined): Promise<string> =>
    (await errorResponse({ kind: 'model-not-found', asked, valid: ['fake/main', 'fake/small'] }).json()).error.message;

  check('names it, the nearest one and all others', async () => {
    const all = 'Valid models: fake/main, fake/small';
    assert.is(await messageFor('fake/mian'), `model "fake/mian" is not configured; the nearest is "fake/main". ${all}`);
    assert.is(await messageFor(undefined), `No such model. ${all}`);
  });
});

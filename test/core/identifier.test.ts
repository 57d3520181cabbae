import * as assert from 'uvu/assert';
import { errorResponse } from '../../src/core/http/response.ts';
import { nearName, notConfiguredText, notFoundText, shownIdentifier } from '../../src/core/identifier.ts';
import { describe } from '../check.ts';

const KNOWN = ['fake/main', 'fake/small', 'moderation-fast', 'omni-moderation-latest', 'build', 'my-tools'];

describe('a name that a model or a service sent', (check) => {
  for (const text of ['a', 'relay-admin_read', 'x'.repeat(128)]) {
    check(`${text.slice(0, 20)} may be shown`, () => assert.is(shownIdentifier(text), text));
  }
  for (const text of ['', 'two words', 'a"b', 'a\nb', 'a\u200bb', 'é', 'x'.repeat(129), 'sk-abcdefgh']) {
    check(`${JSON.stringify(text.slice(0, 20))} may not be shown`, () => assert.is(shownIdentifier(text), undefined));
  }
});

describe('a name that a caller sent', (check) => {
  for (const [name, meant] of [
    ['fake/mian', 'fake/main'],
    ['fkae/main', 'fake/main'],
    ['FAKE/MAIN', 'fake/main'],
    ['moderation-fsat', 'moderation-fast'],
    ['moderation', 'moderation-fast'],
    ['biuld', 'build'],
    ['fake/ghost', 'fake/main'],
    ['fake/llama-3.3:70b-instruct', 'fake/main'],
    ['fake/claude-sonnet-4-5-20250929', 'fake/main'],
  ] as const) {
    check(`is near to a known one: ${name}`, () => {
      assert.is(nearName(name, KNOWN)?.split('/')[0], meant.split('/')[0]);
      assert.match(notConfiguredText('model', name, KNOWN), `model "${name}" is not configured; the nearest is "`);
    });
  }

  /** What has been sent in place of a name: keys, numbers of people, texts. */
  const STRANGE = [
    '',
    'Kp9xQ2mN7vB4tL8wR3yZ',
    'bk-9f8e7d6c5b4a',
    'br-key-1',
    'canary-model',
    'd41d8cd98f00b204e9800998ecf8427',
    'AbCdEf123456GhIjKl78',
    'fw_3ZaBcD4eFgH5iJkL6mNoPqR',
    'tvly-dev-abcdef',
    'SG.abc.def',
    '123456789:AAEabc',
    'apikey-2f8c9d1e',
    'Bearer:abc',
    'admin-Zx9kQ2',
    '4111-1111-1111-1111',
    '123-45-6789',
    'DE89370400440532013000',
    'I-want-to-kill-myself',
    '/home/alice/diagnosis.pdf',
    'https://intranet.example/patients/4711',
    'two words',
    'fake/two words',
    'fake/ma"n',
    'mai\u200bn',
    'fake/4111-1111-1111-1111',
    'fake/Kp9xQ2mN7vB4tL8wR3yZ',
    'fake/apikey-2f8c9d1e',
    'fake/sk-abcdefgh',
    'other/main-model-of-mine',
    `fake/${'x'.repeat(124)}`,
    'x'.repeat(1_000_000),
  ];
  for (const name of STRANGE) {
    check(`is not quoted: ${JSON.stringify(name.slice(0, 40))}`, () => {
      assert.is(nearName(name, KNOWN), undefined);
      assert.is(notConfiguredText('model', name, KNOWN), 'this model is not configured');
    });
  }

  check('is not quoted where nothing is known', () => {
    assert.is(notConfiguredText('agent', 'biuld', []), 'this agent is not configured');
  });

  check('is not quoted when it contains a secret, however near', () => {
    for (const [name, secret] of [
      ['fake/br-key-1', 'br-key-1'],
      ['fake/ghost', 'fake/ghost'],
      ['moderation-fsat', 'moderation-fsat'],
    ] as const) {
      assert.is(notConfiguredText('model', name, KNOWN, ['other', secret]), 'this model is not configured');
      assert.match(notConfiguredText('model', name, KNOWN, ['other', '']), `"${name}"`);
    }
  });

  check('is cut where it is long', () => {
    const name = `fake/${'long-'.repeat(20)}`;
    const shown = `model "${name.slice(0, 60)}..." is not configured; the nearest is "fake/small"`;
    assert.is(notConfiguredText('model', name, ['fake/small']), shown);
  });
});

describe('the error about something that is not stored', (check) => {
  check('names its id, if it has one', () => {
    assert.is(notFoundText('session', 'ses_1'), 'session "ses_1" was not found');
    assert.is(notFoundText('session', undefined), 'this session was not found');
  });
});

describe('the answer to an unknown model', (check) => {
  const valid = ['moderation-fast', 'moderation-standard', 'moderation-accurate', 'omni-moderation-latest'];
  const messageFor = async (message?: string): Promise<string> => {
    const detail = { kind: 'model-not-found', valid, ...(message === undefined ? {} : { message }) } as const;
    return (await errorResponse(detail).json()).error.message;
  };

  check('says what is wrong, and which ones there are', async () => {
    assert.is(await messageFor(), `No such model. Valid models: ${valid.join(', ')}`);
    assert.is(await messageFor('this model is x'), `this model is x. Valid models: ${valid.join(', ')}`);
  });

  check('has room for all of a few models beside the longest name', async () => {
    const own = `own/${'long-'.repeat(16)}`;
    const message = await messageFor(notConfiguredText('model', `${own}longer`, [own]));
    assert.ok(message.endsWith('omni-moderation-latest'), message);
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { responseID } from '../world.ts';
import { asked, refusedWith } from './world.ts';

const reference = (id: string) => ({ type: 'item_reference', id });

const LEFT_OUT = [
  { role: 'user', content: 'Hello' },
  reference(`msg_0_${responseID()}`),
  { role: 'user', content: 'More' },
];

const STRANGE = [{ role: 'user', content: 'Hello' }, reference('msg_68f0c0ffee'), { role: 'user', content: 'More' }];
const TITLE_JOB = 'Provide a concise, 5-word-or-less title for the conversation, using its language.';

describe('the conversation that a response belongs to', (check) => {
  check('goes on after the response that the client names', () => {
    assert.equal(asked({ previous_response_id: 'resp_1' }).conversation, { kind: 'after', responseID: 'resp_1' });
    assert.equal(asked({ previous_response_id: '' }).conversation, { kind: 'unnamed' });
  });

  check('is the one that the client names, and is remembered for it', () => {
    for (const conversation of ['one', { id: 'one' }, ' one '])
      assert.equal(asked({ conversation }).conversation, { kind: 'named', id: 'one', isIncremental: true });
  });

  check('is named once', () => {
    assert.is(
      refusedWith({ conversation: 'one', previous_response_id: 'resp_1' }),
      'mutually_exclusive_parameters at previous_response_id',
    );
    assert.is(refusedWith({ conversation: 'x'.repeat(201) }), 'invalid_value at conversation');
    assert.is(refusedWith({ conversation: 'a\u0000b' }), 'invalid_value at conversation');
  });

  check('is not what a template left', () => {
    assert.equal(asked({ conversation: '{{ $json.id }}' }).conversation, { kind: 'unnamed' });
    assert.is(asked({ conversation: '{{ $json.id }}' }).echo.conversation, null);
  });

  check('is named by headers and other members where it is not named outright', () => {
    const headers = { 'x-session-id': 'two' };
    assert.equal(asked({}, headers).conversation, { kind: 'named', id: 'two', isIncremental: true });
    assert.equal(asked({ conversation: 'one' }, headers).conversation, {
      kind: 'named',
      id: 'one',
      isIncremental: true,
    });
    assert.equal(asked({ metadata: { session_id: 'three' } }).conversation, {
      kind: 'named',
      id: 'three',
      isIncremental: true,
    });
    assert.equal(asked({ prompt_cache_key: 'four' }).conversation, { kind: 'named', id: 'four', isIncremental: false });
  });

  check('is known by the ids of items that the client left out', () => {
    const after = { kind: 'after', responseID: responseID() };
    assert.equal(asked({ input: LEFT_OUT }).conversation, after);
    assert.equal(asked({ input: LEFT_OUT, prompt_cache_key: 'four' }).conversation, after);
    assert.equal(asked({ input: LEFT_OUT }, { 'x-session-id': 'two' }).conversation, {
      kind: 'named',
      id: 'two',
      isIncremental: true,
    });
    assert.equal(asked({ input: LEFT_OUT, previous_response_id: 'resp_1' }).conversation, {
      kind: 'after',
      responseID: 'resp_1',
    });
  });

  check('is not guessed where the client left out a message that no one knows here', () => {
    assert.is(refusedWith({ input: STRANGE }), 'item_not_found at input[1].id');
    assert.is(refusedWith({ input: STRANGE, prompt_cache_key: 'four' }), 'item_not_found at input[1].id');
    assert.equal(asked({ input: STRANGE, previous_response_id: 'resp_1' }).conversation.kind, 'after');
  });

  check("is none for a front end's own job, unless it names one outright", () => {
    const { isBackgroundTask: isTask, conversation: place } = asked({
      input: TITLE_JOB,
      metadata: { session_id: 'three' },
    });
    assert.equal([isTask, place], [true, { kind: 'unnamed' }]);
    const named = asked({ input: TITLE_JOB, conversation: 'one' });
    assert.equal([named.isBackgroundTask, named.conversation.kind], [false, 'named']);
  });
});

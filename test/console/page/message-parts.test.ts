import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { errorSentence, readPart, readParts } from '../../../src/console/page/format/message-parts.ts';
import { describe } from '../../check.ts';

describe('a part of a message', (check) => {
  check('of a tool says how far its call is, with what, and how it ended', () => {
    const time = { start: 5, end: 30 };
    const state = { status: 'completed', input: { a: 1 }, output: 'done', time };
    assert.equal(readPart({ id: 'prt_1', type: 'tool', tool: 'pay', state }, 0), {
      kind: 'tool',
      id: 'prt_1',
      tool: 'pay',
      state: 'completed',
      input: { a: 1 },
      output: 'done',
      durationMs: 25,
    });
    assert.equal(readPart({ id: 'prt_1', type: 'tool', tool: 'pay', state: { status: 'error', error: 'no' } }, 0), {
      kind: 'tool',
      id: 'prt_1',
      tool: 'pay',
      state: 'error',
      error: 'no',
    });
  });

  check('of a task says which session it is, and no other tool may name one', () => {
    const state = { status: 'completed', output: 'x', metadata: { sessionId: 'ses_2' } };
    const taskOf = (part: object) => (readPart({ type: 'tool', ...part }, 0) as { task?: string }).task;
    assert.is(taskOf({ tool: 'task', state }), 'ses_2');
    assert.is(taskOf({ tool: 'other', state }), undefined);
    assert.is(taskOf({ tool: 'task', state: { metadata: { sessionId: '../../settings' } } }), undefined);
  });

  check('that only marks a step is not shown, and an unknown one as it came', () => {
    const odd = { id: 'prt_2', type: 'painting', colours: 3 };
    assert.equal(readParts([{ id: 'prt_1', type: 'step-start' }, odd, { type: 'step-finish' }]), [
      { kind: 'unknown', id: 'prt_2', value: odd },
    ]);
  });

  check('is read whatever the server sends, and has a key of its own', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.jsonValue(), (parts, error) => {
        const ids = readParts(parts.map((value) => ({ type: 'tool', state: value, data: error }))).map(({ id }) => id);
        assert.is(new Set(ids).size, parts.length);
        for (const value of parts) readPart(value, 0);
        assert.type(errorSentence(error) ?? '', 'string');
      }),
      { numRuns: 100 },
    );
  });

  check('that failed has a sentence', () => {
    assert.is(errorSentence({ name: 'APIError', data: { message: 'status 503' } }), 'status 503');
    assert.is(errorSentence({ name: 'MessageOutputLengthError', data: {} }), 'MessageOutputLengthError');
    assert.is(errorSentence(undefined), undefined);
  });
});

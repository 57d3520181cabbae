import * as assert from 'uvu/assert';
import type { ShownMessage } from '../../../src/console/page/api/types.ts';
import { sessionTurns } from '../../../src/console/page/views/chat/session-turns.ts';
import { describe } from '../../check.ts';

const text = (words: string, more: object = {}) => ({ type: 'text', id: words, text: words, ...more });
const message = (role: string, parts: readonly unknown[], more: object = {}): ShownMessage => ({
  info: { id: 'msg_1', role, ...more },
  parts,
});
const wordsIn = (turn: ReturnType<typeof sessionTurns>[number] | undefined) =>
  turn?.parts.map((part) => ('text' in part ? part.text : part.kind));

describe('a chat that is read from its session', (check) => {
  check('has each prompt with all that was answered, in order', () => {
    const turns = sessionTurns([
      message('assistant', [text('of an earlier page')]),
      message('user', [text('hello'), text('for the model', { synthetic: true })]),
      message('assistant', [text('I look.'), { type: 'tool', id: 'p', tool: 'x', state: { status: 'completed' } }]),
      message('assistant', [text('Found.')]),
      message('user', [{ type: 'file', id: 'f', filename: 'a.png', mime: 'image/png' }]),
    ]);
    assert.equal(
      turns.map(({ prompt }) => prompt),
      ['hello', 'a.png'],
    );
    assert.equal([wordsIn(turns[0]), wordsIn(turns[1])], [['I look.', 'tool', 'Found.'], []]);
  });

  check('knows a stop from a failure, and an answer that went on after either', () => {
    const failed = (name: string) => ({ error: { name, data: { message: 'no credit' } } });
    const endOf = (...infos: readonly object[]) => {
      const [turn] = sessionTurns([message('user', [text('hello')]), ...infos.map((i) => message('assistant', [], i))]);
      return [turn?.isStopped, turn?.error];
    };
    assert.equal(endOf(failed('MessageAbortedError')), [true, undefined]);
    assert.equal(endOf(failed('APIError')), [false, 'no credit']);
    assert.equal(endOf(failed('APIError'), {}), [false, undefined]);
  });

  check('has no summary that was made for the model, and no prompt that nobody wrote', () => {
    const turns = sessionTurns([
      message('user', [text('hello')]),
      message('user', [{ type: 'compaction', id: 'c' }]),
      message('assistant', [text('Summary of it all')], { summary: true }),
      message('user', [text('Continue.', { synthetic: true })]),
      message('assistant', [text('Done.')]),
    ]);
    assert.equal([turns.length, wordsIn(turns[0])], [1, ['compaction', 'Done.']]);
  });
});

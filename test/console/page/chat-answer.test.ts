import * as assert from 'uvu/assert';
import { NO_ANSWER, takeChunk } from '../../../src/console/page/format/chat-answer.ts';
import { describe } from '../../check.ts';

const chunk = (delta: unknown, finish: string | null = null, more: object = {}): string =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more });
const answerOf = (...events: readonly string[]) =>
  events.reduce((answer, event) => takeChunk(answer, event, true), NO_ANSWER);
const shown = (...events: readonly string[]) =>
  answerOf(...events).parts.map((part) =>
    part.kind === 'tool' ? `${part.tool} ${part.state}` : 'text' in part ? `${part.kind}: ${part.text}` : part.kind,
  );

describe('an answer of the bridge', (check) => {
  check('is put together from its pieces, in their order', () => {
    const events = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'I look ' }),
      chunk({ reasoning_content: 'first.' }),
      chunk({ content: 'Two' }),
      chunk({ content: ' left.' }),
      chunk({}, 'stop'),
      '[DONE]',
    ];
    assert.equal(shown(...events), ['reasoning: I look first.', 'text: Two left.']);
    assert.is(answerOf(...events).finish, 'stop');
    assert.is(answerOf(...events.slice(0, -2)).finish, undefined);
  });

  check('shows calls of tools as they begin and end, each of those of one name', () => {
    const lines = ['[tool find] started', '[tool find] started', '[tool find] finished', '[tool pay] started'];
    const events = lines.flatMap((line) => [chunk({ reasoning_content: '\n\n' }), chunk({ reasoning_content: line })]);
    assert.equal(shown(...events), ['find completed', 'find running', 'pay running']);
    const ended = [...events, chunk({ reasoning_content: '[tool pay] failed' }), chunk({ content: 'Sorry.' })];
    assert.equal(shown(...ended), ['find completed', 'find running', 'pay error', 'text: Sorry.']);
  });

  check('leaves a text of the model that only resembles such a line a text', () => {
    assert.equal(shown(chunk({ content: '[tool pay] finished' })), ['text: [tool pay] finished']);
    assert.equal(shown(chunk({ reasoning_content: 'then [tool pay] started' })), [
      'reasoning: then [tool pay] started',
    ]);
  });

  check('names the requests that it ended with, whose words are shown as a card', () => {
    const words = 'The agent asks for approval: pay\n```text\n{}\n```\nReply "approve x"';
    const end = chunk({}, 'stop', { gatehouse: { approvals: [{ id: 'per_1' }, { id: 7 }, null] } });
    const answer = answerOf(chunk({ content: `I pay.\n\n${words}` }), end);
    assert.equal(answer.approvals, ['per_1']);
    assert.equal(shown(chunk({ content: `I pay.\n\n${words}` }), end), ['text: I pay.']);
    assert.equal(shown(chunk({ content: words }), end), []);
    // Without a request these are words of the model.
    assert.equal(shown(chunk({ content: words }), chunk({}, 'stop')), [`text: ${words}`]);
  });

  check('shows a call that goes on behind a decision as one that waits, and one that failed before as failed', () => {
    const line = (text: string): readonly string[] => [
      chunk({ reasoning_content: '\n\n' }),
      chunk({ reasoning_content: text }),
    ];
    const events = [
      ...[...line('[tool look] started'), ...line('[tool look] failed'), chunk({ content: 'Then so.' })],
      ...[...line('[tool pay] started'), ...line('[tool task] started')],
      ...[...line('[tool pay] waiting'), ...line('[tool task] waiting')],
      chunk({ content: '\n\n' }),
      chunk({ content: 'The agent asks for approval: pay' }),
    ];
    const asking = chunk({}, 'stop', { gatehouse: { approvals: [{ id: 'per_1' }] } });
    assert.equal(shown(...events, asking), ['look error', 'text: Then so.', 'pay pending', 'task pending']);
  });

  check('keeps the words of a request where the page cannot show it, so that a message can answer it', () => {
    const words = 'The agent asks for approval: pay\n\nReply "approve ab12cd" or "reject ab12cd".';
    const asking = chunk({}, 'stop', { gatehouse: { approvals: [{ id: 'per_1' }] } });
    const { parts, approvals } = [chunk({ content: words }), asking].reduce(
      (answer, event) => takeChunk(answer, event, false),
      NO_ANSWER,
    );
    assert.equal([parts, approvals], [[{ kind: 'text', id: '0', text: words }], []]);
    assert.equal(shown(chunk({ content: words }), asking), []);
  });

  check('keeps what came before an error, and takes nothing for an event that is none', () => {
    const answer = answerOf(chunk({ content: 'Two' }), JSON.stringify({ error: { message: 'gone' } }));
    assert.equal([answer.error, answer.finish, answer.parts.length], ['gone', undefined, 1]);
    for (const odd of ['', '{', 'null', '[]', '7', '{"choices":7}', '{"choices":[null]}', '{"choices":[{"delta":[]}]}'])
      assert.equal(answerOf(odd), NO_ANSWER);
    assert.is(answerOf('{"error":null}').error, 'Error');
  });
});

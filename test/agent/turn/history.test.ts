import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { ModelMessage } from '../../../src/agent/model/types.ts';
import type { FilePart, Part, ToolState } from '../../../src/agent/protocol/types.ts';

import type { MessageWithParts } from '../../../src/agent/store/store.ts';
import { toModelHistory } from '../../../src/agent/turn/history.ts';
import { describe } from '../../check.ts';
import { answer as answerMessage, userMessage } from '../store/samples.ts';

const placed = (messageID: string, id = `${messageID}-part`) => ({ id, sessionID: 's', messageID });
const text = (messageID: string, words: string): Part => ({ ...placed(messageID), type: 'text', text: words });
const tool = (messageID: string, callID: string, state: ToolState): Part => ({
  ...placed(messageID, callID),
  type: 'tool',
  callID,
  tool: 'look',
  state,
});
const user = (id: string, ...parts: readonly Part[]): MessageWithParts => ({
  info: userMessage(id, 's'),
  parts: parts.length === 0 ? [text(id, id)] : parts,
});
const answer = (id: string, parentID: string, ...parts: readonly Part[]): MessageWithParts => ({
  info: answerMessage(id, 's', { parentID }),
  parts: parts.length === 0 ? [text(id, id)] : parts,
});
const span = { start: 1, end: 2 };
const byID = (messages: readonly MessageWithParts[]) =>
  [...messages].sort((left, right) => (left.info.id < right.info.id ? -1 : 1));
const promptTexts = (messages: readonly ModelMessage[]): readonly string[] =>
  messages.map((outputText) => {
    if (outputText.role === 'user')
      return outputText.content.map((piece) => (piece.kind === 'text' ? piece.text : 'file')).join();
    return outputText.role === 'assistant' ? outputText.text : outputText.results.map(({ output }) => output).join();
  });

describe('the history of a session', (check) => {
  check('puts each answer behind its prompt, and leaves out the prompts that wait', () => {
    const messages = [user('1'), user('2'), user('3'), answer('4', '1'), answer('5', '2')];
    assert.equal(promptTexts(toModelHistory(messages, '2', [])), ['1', '4', '2', '5']);
    assert.equal(promptTexts(toModelHistory(messages, '1', [])), ['2', '5', '1', '4']);
    assert.equal(promptTexts(toModelHistory(messages, '3', [])), ['1', '4', '2', '5', '3']);
  });

  check('takes no summary for an answer whose request was removed, and what it covers stays covered', () => {
    const summary = (id: string, parentID: string): MessageWithParts => {
      const { info, parts } = answer(id, parentID);
      return { info: { ...info, summary: true } as MessageWithParts['info'], parts };
    };
    const request = user('7', { ...placed('7'), type: 'compaction', auto: true });
    const messages = [user('1'), answer('2', '1'), user('3'), answer('4', '3')];
    const sent = toModelHistory(
      [...messages, summary('6', '5'), request, summary('8', '7'), answer('9', '3')],
      '3',
      [],
    );
    assert.equal(promptTexts(sent).slice(1), ['3', '4', '9']);
  });

  check('has only the newest of the files that tools answered with, and a line for each older one', () => {
    const shot = (id: string) => {
      const url = `data:image/png;base64,${id.repeat(4_000_000)}`;
      const attachments = [{ ...placed('2', `f${id}`), type: 'file' as const, mime: 'image/png', url }];
      const state = { status: 'completed' as const, input: {}, output: id, title: '', metadata: {}, time: span };
      return tool('2', `c${id}`, { ...state, attachments });
    };
    const messages = [user('1'), answer('2', '1', shot('A'), shot('B')), answer('3', '1', shot('C'))];
    const sent = toModelHistory(messages, '1', ['image']);
    const urls = sent.flatMap((message) =>
      message.role === 'user'
        ? message.content.flatMap((piece) => (piece.kind === 'file' ? piece.url.at(-1) : []))
        : [],
    );
    assert.equal(urls, ['B', 'C']);
    const outputs = sent.flatMap((message) =>
      message.role === 'tool' ? message.results.map((one) => one.output) : [],
    );
    assert.equal(outputs, ['A\n\n[image/png, 3001 kB: only newer files are sent again]', 'B', 'C']);
  });

  check(
    'consists of the same objects as long as the stored parts are the same, so that they need not be written again',
    () => {
      const done = { status: 'completed', input: {}, output: 'out', title: '', metadata: {}, time: span } as const;
      const messages = [user('1'), answer('2', '1', text('2', 'a'), tool('2', 'c', done))];
      const objects = (): readonly unknown[] =>
        toModelHistory(messages, '1', []).flatMap((message): readonly unknown[] =>
          message.role === 'user' ? message.content : message.role === 'tool' ? message.results : [message],
        );
      const [first, again] = [objects(), objects()];
      assert.is(first.length, 3);
      for (const [place, object] of first.entries()) assert.is(again[place], object);
    },
  );

  check('ends with the prompt that is answered, whatever clocks the ids come from', () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^[0-9a-f]{4}$/), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(ids, (chosen) => {
        let messages: readonly MessageWithParts[] = [];
        for (const [index, id] of chosen.entries()) {
          messages = byID([...messages, user(id)]);
          const words = promptTexts(toModelHistory(messages, id, []));
          assert.is(words.at(-1), id);
          assert.equal(
            [...words].sort(),
            [...chosen.slice(0, index + 1), ...chosen.slice(0, index).map((one) => `z${one}`)].sort(),
          );
          messages = byID([...messages, answer(`z${id}`, id)]);
        }
      }),
    );
  });

  check('has a result for every call, also for one that never ended', () => {
    const states: readonly ToolState[] = [
      { status: 'completed', input: { a: 1 }, output: 'out', title: '', metadata: {}, time: span },
      { status: 'error', input: {}, error: 'bad', time: span },
      { status: 'running', input: {}, time: { start: 1 } },
      { status: 'pending', input: {}, raw: '' },
    ];
    const parts = states.map((state, index) => tool('2', `c${index}`, state));
    const [, outputText, results] = toModelHistory([user('1'), answer('2', '1', text('2', 'wait'), ...parts)], '1', []);
    assert.equal(outputText?.role === 'assistant' && outputText.calls.map(({ id }) => id), ['c0', 'c1', 'c2', 'c3']);
    assert.equal(results?.role === 'tool' && results.results, [
      { id: 'c0', name: 'look', output: 'out', isError: false },
      { id: 'c1', name: 'look', output: 'bad', isError: true },
      { id: 'c2', name: 'look', output: 'The call was interrupted', isError: true },
      { id: 'c3', name: 'look', output: 'The call was interrupted', isError: true },
    ]);
  });

  check('has the files of a result after it, for a model that reads them, and a note for any other', () => {
    const file = (mime: string, data: string): FilePart => {
      return { ...placed('2', data), type: 'file', mime, url: `data:${mime};base64,${data}` };
    };
    const attachments = [file('image/png', 'AAAA'), file('audio/wav', 'AAAB')];
    const state = { status: 'completed', input: {}, output: 'a chart', title: '', metadata: {}, time: span } as const;
    const messages = [user('1'), answer('2', '1', tool('2', 'c0', { ...state, attachments }))];
    const seen = (media: readonly string[]) => toModelHistory(messages, '1', media).slice(2);
    const result = (output: string) => ({
      role: 'tool',
      results: [{ id: 'c0', name: 'look', output, isError: false }],
    });
    const [image, audio] = attachments.map(({ mime, url }) => ({ kind: 'file', mime, url }));
    const notes = {
      image: '[image/png, 1 kB: this model cannot read it]',
      audio: '[audio/wav, 1 kB: this model cannot read it]',
    };
    const title = { kind: 'text', text: 'Files from the result of look:' };
    assert.equal(seen(['text']), [result(`a chart\n\n${notes.image}\n\n${notes.audio}`)]);
    assert.equal(seen(['text', 'image']), [
      result(`a chart\n\n${notes.audio}`),
      { role: 'user', content: [title, image] },
    ]);
    assert.equal(seen(['image', 'audio']), [result('a chart'), { role: 'user', content: [title, image, audio] }]);
    const bare = [user('1'), answer('2', '1', tool('2', 'c0', { ...state, output: '', attachments }))];
    assert.equal(toModelHistory(bare, '1', ['image', 'audio']).slice(2, 3), [result('[files, which follow]')]);
  });

  check('has an empty result where a tool gave nothing', () => {
    const state = { status: 'completed', input: {}, output: '', title: '', metadata: {}, time: span } as const;
    const messages = [user('1'), answer('2', '1', tool('2', 'c0', state))];
    assert.equal(toModelHistory(messages, '1', ['text', 'image']).slice(2), [
      { role: 'tool', results: [{ id: 'c0', name: 'look', output: '', isError: false }] },
    ]);
  });

  check('has the audio of a prompt only for a model that takes audio', () => {
    const audio: Part = {
      ...placed('1', 'f'),
      type: 'file',
      mime: 'audio/wav',
      url: 'data:audio/wav;base64,AAAA',
      filename: 'a<b.wav',
    };
    const contentFor = (media: readonly string[]) => toModelHistory([user('1', audio)], '1', media);
    assert.equal(contentFor(['text']), [
      { role: 'user', content: [{ kind: 'text', text: '[attached a?b.wav: this model takes no audio]' }] },
    ]);
    assert.is(JSON.stringify(contentFor(['audio'])).includes('base64,AAAA'), true);
  });

  check('leaves out what says nothing: empty texts, thoughts, and calls that were withdrawn', () => {
    const withdrawn = tool('2', 'c0', {
      status: 'error',
      input: {},
      error: 'x',
      metadata: { withdrawn: true },
      time: span,
    });
    const thought: Part = { ...placed('2', 'r'), type: 'reasoning', text: 'hm', time: { start: 1 } };
    const empty = text('2', '');
    assert.equal(toModelHistory([user('1', text('1', '')), answer('2', '1', withdrawn, thought, empty)], '1', []), []);
    const messages = [user('1'), answer('2', '1', empty, text('2', 'a'), empty, text('2', 'b'))];
    assert.equal(promptTexts(toModelHistory(messages, '1', [])), ['1', 'a\nb']);
  });
});

import * as assert from 'uvu/assert';
import { finishedMessages, toForkTitle } from '../../../src/agent/session/fork.ts';
import {
  findRevertedContent,
  messagesBefore,
  resolveRevert,
  revertWithout,
} from '../../../src/agent/session/revert.ts';
import type { MessageWithParts } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { answer, textPart, toolPart, userMessage } from '../store/samples.ts';

const SESSION = 'ses_1';
const asked = (id: string): MessageWithParts => ({ info: userMessage(id, SESSION), parts: [part(`${id}_1`, id)] });
const part = (id: string, messageID: string) => textPart({ id, messageID, sessionID: SESSION }, id);
const answered = (id: string, parentID: string, isOver = true): MessageWithParts => ({
  info: answer(id, SESSION, { parentID, time: { created: 1, ...(isOver ? { completed: 2 } : {}) } }),
  parts: [
    { id: `${id}_1`, messageID: id, sessionID: SESSION, type: 'step-start' },
    toolPart({ id: `${id}_2`, messageID: id, sessionID: SESSION }),
    part(`${id}_3`, id),
  ],
});
const idsOf = (messages: readonly MessageWithParts[]): readonly string[] => messages.map(({ info }) => info.id);

/** The second prompt came while the first was being answered: its id stands before the last of the first one's answers. */
const CHAT = [
  asked('msg_a'),
  answered('msg_b', 'msg_a'),
  asked('msg_c'),
  answered('msg_d', 'msg_a'),
  answered('msg_e', 'msg_c'),
  asked('msg_f'),
];

describe('the conversation before a message', (check) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    msg_a: [],
    msg_b: ['msg_a'],
    msg_d: ['msg_a', 'msg_b'],
    msg_c: ['msg_a', 'msg_b', 'msg_d'],
    msg_e: ['msg_a', 'msg_b', 'msg_c', 'msg_d'],
    msg_f: ['msg_a', 'msg_b', 'msg_c', 'msg_d', 'msg_e'],
  };
  for (const [id, before] of Object.entries(cases))
    check(`is ${before.join(', ') || 'nothing'} before ${id}`, () => {
      assert.equal(idsOf(messagesBefore(CHAT, id)), before);
    });
  check('is everything before one that there is not', () => {
    assert.equal(messagesBefore(CHAT, 'msg_z'), CHAT);
  });
  check('counts an answer to a prompt that is gone by its own place', () => {
    assert.equal(idsOf(messagesBefore(CHAT.slice(1), 'msg_c')), ['msg_b']);
  });
});

describe('where a session is turned back to, once something is removed', (check) => {
  for (const [what, from, removed, to] of [
    ['stays where that is another message', 'msg_c', { messageID: 'msg_e' }, 'msg_c'],
    ['stays where that is a part of it', 'msg_c', { messageID: 'msg_c', partID: 'msg_c_1' }, 'msg_c'],
    ['is the next message', 'msg_a', { messageID: 'msg_a' }, 'msg_b'],
    ['is the next message in the order of models', 'msg_b', { messageID: 'msg_b' }, 'msg_d'],
    ['is the answer behind a prompt', 'msg_c', { messageID: 'msg_c' }, 'msg_e'],
    ['is nothing behind the last message', 'msg_f', { messageID: 'msg_f' }, undefined],
  ] as const)
    check(what, () => assert.is(revertWithout(CHAT, { messageID: from }, removed)?.messageID, to));
  check('is the next part, or all that follows the message', () => {
    const at = (partID: string) => ({ messageID: 'msg_d', partID });
    assert.equal(revertWithout(CHAT, at('msg_d_2'), at('msg_d_2')), at('msg_d_3'));
    const last = revertWithout(CHAT, at('msg_d_3'), at('msg_d_3')) ?? { messageID: '' };
    const cut = CHAT.map((one) => ({ ...one, parts: one.parts.filter(({ id }) => id !== 'msg_d_3') }));
    assert.equal(findRevertedContent(cut, last), { messageIDs: ['msg_c', 'msg_e', 'msg_f'], parts: [] });
  });
});

describe('where a session is turned back to', (check) => {
  check('is the prompt, whichever of its messages somebody points at', () => {
    assert.equal(resolveRevert(CHAT, { messageID: 'msg_c' }), { messageID: 'msg_c' });
    assert.equal(resolveRevert(CHAT, { messageID: 'msg_d' }), { messageID: 'msg_a' });
  });
  check('is the part, if the answer says something before it', () => {
    assert.equal(resolveRevert(CHAT, { messageID: 'msg_d', partID: 'msg_d_3' }), {
      messageID: 'msg_d',
      partID: 'msg_d_3',
    });
    assert.equal(resolveRevert(CHAT, { messageID: 'msg_d', partID: 'msg_d_2' }), { messageID: 'msg_a' });
  });
  check('is the answer where its prompt is gone', () => {
    assert.equal(resolveRevert(CHAT.slice(1), { messageID: 'msg_d' }), { messageID: 'msg_d' });
  });
  check('is nowhere where there is no such message or part', () => {
    assert.is(resolveRevert(CHAT, { messageID: 'msg_z' }), undefined);
    assert.is(resolveRevert(CHAT, { messageID: 'msg_d', partID: 'msg_b_3' }), undefined);
  });
});

describe('what goes when a session goes on from there', (check) => {
  check('is the prompt and all that came after it', () => {
    assert.equal(findRevertedContent(CHAT, { messageID: 'msg_c' }), {
      messageIDs: ['msg_c', 'msg_e', 'msg_f'],
      parts: [],
    });
  });
  check('is the rest of the answer and all that came after it', () => {
    const { messageIDs, parts } = findRevertedContent(CHAT, { messageID: 'msg_b', partID: 'msg_b_3' });
    assert.equal(messageIDs, ['msg_c', 'msg_d', 'msg_e', 'msg_f']);
    assert.equal(
      parts.map(({ id }) => id),
      ['msg_b_3'],
    );
  });
  check('is nothing of a message whose part is gone, and nothing at all where the message is', () => {
    assert.equal(findRevertedContent(CHAT, { messageID: 'msg_e', partID: 'msg_z_1' }), {
      messageIDs: ['msg_f'],
      parts: [],
    });
    assert.equal(findRevertedContent(CHAT, { messageID: 'msg_z' }), { messageIDs: [], parts: [] });
  });
});

describe('what a fork has', (check) => {
  check('is everything where nothing is under way', () => {
    assert.equal(finishedMessages(CHAT, false), CHAT);
  });
  check('is neither what is under way, nor what waits behind it', () => {
    const busy = [...CHAT.slice(0, 4), answered('msg_e', 'msg_c', false), asked('msg_f')];
    assert.equal(idsOf(finishedMessages(busy, true)), ['msg_a', 'msg_b', 'msg_d']);
  });
  check('is a prompt that no one was to answer, of those before the ones that wait', () => {
    const quiet = [asked('msg_0'), ...CHAT];
    assert.equal(idsOf(finishedMessages(quiet, true)), ['msg_0', ...idsOf(CHAT.slice(0, -1))]);
  });
  check('is named after its session, with a number', () => {
    assert.is(toForkTitle('Plan'), 'Plan (fork #1)');
    assert.is(toForkTitle('Plan (fork #9)'), 'Plan (fork #10)');
    assert.is(toForkTitle('(fork #9)'), '(fork #9) (fork #1)');
    assert.is(toForkTitle('a\nb (fork #1)'), 'a\nb (fork #2)');
  });
});

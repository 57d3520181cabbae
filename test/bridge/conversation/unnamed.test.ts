import * as assert from 'uvu/assert';
import type { PromptFile } from '../../../src/bridge/request.ts';
import { describe } from '../../check.ts';
import { asking, assistant, createWorld, named, remembered, user } from './world.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const HISTORY = [user('Hello'), assistant('Hi!')];
const LONGER = [...HISTORY, user('And?'), assistant('Well.')];

describe('a conversation without a name', (check) => {
  check('goes on in its session when the whole conversation is sent again', async () => {
    const { report, fake } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    const second = await report(asking({ words: 'And?', history: HISTORY }), { reported: 'Well.' });
    const third = await report(asking({ words: 'So?', history: LONGER }));
    assert.equal([second.sessionID, third.sessionID], [first.sessionID, first.sessionID]);
    assert.equal([second.name, third.name], [first.name, first.name]);
    assert.match(first.name, /^chat_[A-Za-z0-9]{20}$/);
    assert.equal(third.replay, []);
    assert.is(fake.sessions.size, 1);
  });

  check('begins a new one each time when nothing was said', async () => {
    const { report } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    const second = await report(asking(), { reported: 'Hi!' });
    assert.is.not(second.sessionID, first.sessionID);
    assert.is.not(second.name, first.name);
  });

  check('is not guessed between two in which the same was said', async () => {
    const { report } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    const second = await report(asking(), { reported: 'Hi!' });
    const next = await report(asking({ history: HISTORY }));
    assert.not.ok([first.sessionID, second.sessionID].includes(next.sessionID));
    assert.not.ok([first.name, second.name].includes(next.name));
    assert.equal(next.replay, HISTORY);
  });

  check('is never found by another owner', async () => {
    const { report } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    const other = await report(asking({ history: HISTORY }), { owner: 'other' });
    assert.is.not(other.sessionID, first.sessionID);
    assert.equal(other.replay, HISTORY);
  });

  check('goes on in a new session after an edit and for another answer, and the old one can still go on', async () => {
    const { report } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    await report(asking({ words: 'And?', history: HISTORY }), { reported: 'Well.' });
    const again = await report(asking({ words: 'And?', history: HISTORY }), { reported: 'Hm.' });
    assert.is.not(again.sessionID, first.sessionID);
    assert.is.not(again.name, first.name);
    const edited = await report(asking({ history: [user('Hello!'), assistant('Hi!')] }));
    assert.is.not(edited.sessionID, first.sessionID);
    assert.is((await report(asking({ history: LONGER }))).sessionID, first.sessionID);
    const other = [...HISTORY, user('And?'), assistant('Hm.')];
    assert.is((await report(asking({ history: other }))).sessionID, again.sessionID);
  });

  check('goes on in a new session while it is busy', async () => {
    const { report, hold, exchange } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    const held = await hold(asking({ words: 'And?', history: HISTORY }));
    const other = await hold(asking({ words: 'But?', history: HISTORY }));
    assert.is(held.session.sessionID, first.sessionID);
    assert.is.not(other.session.sessionID, first.sessionID);
    assert.is.not(other.name, first.name);
    await exchange(held, asking({ words: 'And?' }), { reported: 'Well.' });
    assert.is.not((await hold(asking({ history: LONGER }))).name, first.name, 'it is not given back yet');
  });

  check('can be named by the name that its answers carry', async () => {
    const { report } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    assert.is((await report(asking({ conversation: remembered(first.name) }))).sessionID, first.sessionID);
  });

  check('does not lead into one that its client has named', async () => {
    const { report } = createWorld();
    const first = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    assert.is.not((await report(asking({ history: HISTORY }))).sessionID, first.sessionID);
  });

  check('is always a new session where only names count', async () => {
    const { report } = createWorld({ matching: 'named' });
    const first = await report(asking(), { reported: 'Hi!' });
    const next = await report(asking({ words: 'And?', history: HISTORY }));
    assert.is.not(next.sessionID, first.sessionID);
    assert.equal(next.replay, HISTORY);
    assert.is((await report(asking({ conversation: remembered(first.name) }))).sessionID, first.sessionID);
  });
});

describe('what is not to be kept', (check) => {
  for (const [what, given] of [
    ['a task of a chat front end', { isBackgroundTask: true }],
    ['a task that names the chat it is about', { isBackgroundTask: true, conversation: named('chat 1') }],
    ['a request that is not to be stored', { isStored: false }],
  ] as const) {
    check(`${what} has a session of its own, which is deleted`, async () => {
      const { report, fake, conversations } = createWorld();
      const chat = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
      const task = await report(asking({ ...given, words: 'Title?', history: HISTORY }), { reported: 'T' });
      await turn();
      assert.equal([...fake.sessions.keys()], [chat.sessionID]);
      assert.equal(task.replay, HISTORY);
      assert.is(conversations().count(), 1);
      assert.is(await conversations().deleteResponse(task.responseID, 'owner', new AbortController().signal), false);
      const next = await report(asking({ history: HISTORY, conversation: named('chat 1') }));
      assert.is(next.sessionID, chat.sessionID);
    });
  }

  check('a named conversation is kept even so', async () => {
    const { report, fake } = createWorld();
    await report(asking({ isStored: false, conversation: remembered('s') }));
    await turn();
    assert.is(fake.sessions.size, 1);
  });

  check('a session is deleted once, however often it is given back', async () => {
    const { hold, fake } = createWorld();
    const held = await hold(asking({ isBackgroundTask: true }));
    held.release();
    held.release();
    await turn();
    assert.is(fake.calls('deleteSession'), 1);
  });

  check('a session that could not be deleted is a line in the log, and no more', async () => {
    const { report, fake, lines } = createWorld();
    fake.failNext('deleteSession', { kind: 'backend-error', reason: 'gone' });
    await report(asking({ isBackgroundTask: true }));
    await turn();
    assert.equal(
      lines.filter(({ event }) => event === 'session-not-deleted').map(({ fields }) => fields?.reason),
      ['backend-error'],
    );
  });
});

describe('files in the conversation', (check) => {
  const picture = (data: string): PromptFile => ({
    type: 'file',
    mime: 'image/png',
    url: `data:image/png;base64,${data}`,
  });
  const [cat, dog] = [picture('CATCATCA'), picture('DOGDOGDO')];
  const withFiles = (...files: PromptFile[]) => [
    { ...user('What is it?'), ...(files.length === 0 ? {} : { files }) },
    assistant('A picture.'),
  ];

  check('are the same in a conversation that goes on, also after a restart', async () => {
    const { report, restart } = createWorld();
    const prompt = [{ type: 'text' as const, text: 'What is it?' }, cat, dog];
    const first = await report(asking({ prompt }), { reported: 'A picture.' });
    const again = asking({ words: 'And?', history: withFiles(cat, dog) });
    assert.is((await report(again, { reported: 'Well.' })).sessionID, first.sessionID);
    restart();
    const more = [...withFiles(cat, dog), user('And?'), assistant('Well.')];
    assert.is((await report(asking({ words: 'So?', history: more }))).sessionID, first.sessionID);
  });

  check('make another conversation when they are others, fewer, more or in another order', async () => {
    const others = [[], [dog], [cat, dog], [dog, cat], [cat, cat]];
    for (const place of [undefined, named('n')])
      for (const files of others) {
        const { report } = createWorld();
        const where = place === undefined ? {} : { place };
        const prompt = [{ type: 'text' as const, text: 'What is it?' }, cat];
        const first = await report(asking({ ...where, prompt }), { reported: 'A picture.' });
        const next = await report(asking({ ...where, words: 'And?', history: withFiles(...files) }));
        assert.is.not(next.sessionID, first.sessionID);
        assert.equal(next.replay, withFiles(...files));
      }
  });

  check('of a question without an answer count with those of the next one', async () => {
    const { report } = createWorld();
    const unanswered = [{ ...user('What is it?'), files: [cat] }];
    const prompt = [{ type: 'text' as const, text: 'Well?' }, dog];
    const first = await report(asking({ prompt, history: unanswered }), { reported: 'A picture.' });
    const history = [...unanswered, { ...user('Well?'), files: [dog] }, assistant('A picture.')];
    assert.is((await report(asking({ history }))).sessionID, first.sessionID);
  });
});

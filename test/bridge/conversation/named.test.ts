import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { asking, assistant, createWorld, named, never, remembered, user } from './world.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const place = named('chat 1');

/** A named chat of which this much has been said: `q1`, `a1`, `q2`, `a2`... */
const chatOf = async (exchanges: number) => {
  const world = createWorld();
  const history = [];
  let sessionID = '';
  for (let number = 1; number <= exchanges; number += 1) {
    const asked = asking({ words: `q${number}`, history: [...history], conversation: place });
    ({ sessionID } = await world.report(asked, { reported: `a${number}` }));
    history.push(user(`q${number}`), assistant(`a${number}`));
  }
  return { ...world, history, sessionID };
};

describe('a conversation that its client names', (check) => {
  check('goes on in one session while the client repeats the conversation', async () => {
    const { report, history, sessionID, fake } = await chatOf(3);
    const next = await report(asking({ words: 'q4', history, conversation: place }));
    assert.is(next.sessionID, sessionID);
    assert.is(next.name, 'chat 1');
    assert.equal(next.replay, []);
    assert.is(fake.sessions.size, 1);
  });

  check('is recognised when the client shows answers otherwise', async () => {
    const { report, sessionID } = await chatOf(1);
    const history = [user(' q1 '), assistant('<think>hm</think>\n\na1\n')];
    assert.is((await report(asking({ history, conversation: place }))).sessionID, sessionID);
  });

  check('begins with the conversation before it came here', async () => {
    const { report } = createWorld();
    const history = [user('q'), assistant('a')];
    assert.equal((await report(asking({ history, conversation: place }))).replay, history);
  });

  check('is another one under another owner', async () => {
    const { report, history, sessionID } = await chatOf(2);
    const other = await report(asking({ history, conversation: place }), { owner: 'other' });
    assert.is.not(other.sessionID, sessionID);
    assert.equal(other.replay, history);
    const reliant = await report(asking({ conversation: remembered('chat 1') }), { owner: 'third' });
    assert.is.not(reliant.sessionID, sessionID);
    assert.is((await report(asking({ words: 'q3', history, conversation: place }))).sessionID, sessionID);
  });

  check('goes on for a client that relies on us for the conversation', async () => {
    const { report } = createWorld();
    const first = await report(asking({ conversation: remembered('s') }));
    const again = await report(asking({ conversation: remembered('s') }));
    assert.is(again.sessionID, first.sessionID);
    assert.equal(again.replay, []);
  });

  check('is begun anew by a client that sends the whole history and expects nothing to be known', async () => {
    const { report, sessionID } = await chatOf(1);
    const anew = await report(asking({ words: 'q1', conversation: place }), { reported: 'b1' });
    assert.is.not(anew.sessionID, sessionID);
    const next = await report(asking({ words: 'q2', history: [user('q1'), assistant('b1')], conversation: place }));
    assert.is(next.sessionID, anew.sessionID);
  });

  for (const [what, history] of [
    ['the last answer was edited', [user('q1'), assistant('a1'), user('q2'), assistant('x')]],
    ['a word of the middle was edited', [user('q1'), assistant('x'), user('q2'), assistant('a2')]],
    ['an answer is wanted again', [user('q1'), assistant('a1')]],
    [
      'something was said elsewhere meanwhile',
      [user('q1'), assistant('a1'), user('q2'), assistant('a2'), user('q'), assistant('a')],
    ],
  ] as const) {
    check(`goes on in a new session, which gets everything, when ${what}`, async () => {
      const { report, sessionID } = await chatOf(2);
      const next = await report(asking({ words: 'next', history, conversation: place }), { reported: 'answer' });
      assert.is.not(next.sessionID, sessionID);
      assert.is(next.name, 'chat 1');
      assert.equal(next.replay, history);
      const longer = [...history, user('next'), assistant('answer')];
      assert.is((await report(asking({ history: longer, conversation: place }))).sessionID, next.sessionID);
    });
  }

  check('keeps its session when a new one for an edit came to nothing, and that is deleted', async () => {
    const { report, hold, history, sessionID, fake } = await chatOf(2);
    const held = await hold(asking({ history: history.slice(0, 2), conversation: place }));
    held.release();
    await turn();
    assert.equal([...fake.sessions.keys()], [sessionID]);
    assert.is((await report(asking({ history, conversation: place }))).sessionID, sessionID);
  });

  check('has a title of its first words, so that the agent asks no model for one', async () => {
    const { report, fake } = createWorld();
    await report(
      asking({
        words: 'What\u200b is\n the matter with the very long question that nobody wants to read?',
        conversation: place,
      }),
    );
    await report(asking({ prompt: [{ type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' }] }));
    const titles = [...fake.sessions.values()].map(({ title }) => title);
    assert.equal(titles, ['What is the matter with the very long question that nobody…', 'Conversation']);
  });
});

describe('a named conversation whose last answer was stopped', (check) => {
  const stopped = async (reported: string) => {
    const world = await chatOf(1);
    const { sessionID } = await world.report(asking({ words: 'q2', history: world.history, conversation: place }), {
      reported,
      isStopped: true,
    });
    return { ...world, sessionID, before: [...world.history, user('q2')] };
  };

  for (const kept of ['One two thr', 'One  two', '', 'One two three.']) {
    check(`goes on when its client kept "${kept}" of the answer`, async () => {
      const { report, sessionID, before } = await stopped('One two three.');
      const history = [...before, assistant(kept)];
      const next = await report(asking({ words: 'q3', history, conversation: place }), { reported: 'a3' });
      assert.is(next.sessionID, sessionID);
      const longer = [...history, user('q3'), assistant('a3')];
      assert.is((await report(asking({ words: 'q4', history: longer, conversation: place }))).sessionID, sessionID);
    });
  }

  check('goes on in a new session when its client kept other words, or another question', async () => {
    const { report, sessionID, before, history } = await stopped('One two three.');
    const other = await report(asking({ history: [...before, assistant('Two')], conversation: place }));
    assert.is.not(other.sessionID, sessionID);
    const question = await stopped('One two three.');
    const edited = [...history, user('q'), assistant('One')];
    assert.is.not(
      (await question.report(asking({ history: edited, conversation: place }))).sessionID,
      question.sessionID,
    );
  });

  check('does not take a beginning for the whole once an answer was not stopped', async () => {
    for (const kept of ['a', '']) {
      const { report, sessionID } = await chatOf(1);
      assert.is.not(
        (await report(asking({ history: [user('q1'), assistant(kept)], conversation: place }))).sessionID,
        sessionID,
      );
    }
  });
});

describe('a named conversation that its client shortens', (check) => {
  const shortened = (length: number) =>
    [user('Summary of it'), assistant('I see.')].concat(
      [2, 3, 4].flatMap((number) => [user(`q${number}`), assistant(`a${number}`)]).slice(-length),
    );

  check('goes on when the last two questions are still there with their answers', async () => {
    const { report, sessionID } = await chatOf(4);
    const history = shortened(4);
    const next = await report(asking({ words: 'q5', history, conversation: place }), { reported: 'a5' });
    assert.is(next.sessionID, sessionID);
    const longer = [...history, user('q5'), assistant('a5')];
    assert.is((await report(asking({ words: 'q6', history: longer, conversation: place }))).sessionID, sessionID);
  });

  check('goes on when only the latest exchanges are sent each time', async () => {
    const { report, history, sessionID } = await chatOf(4);
    for (let number = 5; number < 9; number += 1) {
      const next = await report(asking({ words: `q${number}`, history: history.slice(-4), conversation: place }), {
        reported: `a${number}`,
      });
      assert.is(next.sessionID, sessionID);
      history.push(user(`q${number}`), assistant(`a${number}`));
    }
  });

  check('goes on in a new session when one exchange is left, which may be the same by chance', async () => {
    const { report, sessionID } = await chatOf(4);
    assert.is.not((await report(asking({ history: shortened(2), conversation: place }))).sessionID, sessionID);
  });

  check('goes on in a new session when something was taken out of the middle, or the beginning edited', async () => {
    for (const edit of [
      (outputText: ReturnType<typeof user>[]) => outputText.toSpliced(2, 2),
      (outputText: ReturnType<typeof user>[]) => outputText.with(0, user('edited')),
    ]) {
      const { report, history, sessionID } = await chatOf(5);
      assert.is.not((await report(asking({ history: edit(history), conversation: place }))).sessionID, sessionID);
    }
  });

  check('is begun anew, and not shortened, when nothing is left of it', async () => {
    const { report, sessionID } = await chatOf(5);
    assert.is.not((await report(asking({ conversation: place }))).sessionID, sessionID);
  });
});

describe('requests for one named conversation at a time', (check) => {
  check('take their turns when the client relies on us for the conversation', async () => {
    const { conversations, fake, exchange } = createWorld();
    const order: string[] = [];
    const one = async (words: string) => {
      const asked = asking({ words, conversation: remembered('s') });
      const { lock: hold } = await conversations().resolve(asked, 'owner', never);
      const held = await hold(never);
      order.push(`${words} begins`);
      await exchange(held, asked);
      order.push(`${words} ends`);
      held.release();
      return held.session.sessionID;
    };
    const sessions = await Promise.all(['a', 'b', 'c'].map(one));
    assert.equal(order, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    assert.is(new Set(sessions).size, 1);
    assert.is(fake.sessions.size, 1);
  });

  check('that go on differently from the same words neither wait nor mix', async () => {
    const { hold, report, exchange, history, sessionID } = await chatOf(1);
    const first = await hold(asking({ words: 'one way', history, conversation: place }));
    const second = await hold(asking({ words: 'another', history, conversation: place }));
    assert.is(first.session.sessionID, sessionID);
    assert.is.not(second.session.sessionID, sessionID);
    assert.is.not(second.name, 'chat 1');
    assert.equal(second.replay, history);
    await exchange(second, asking({ words: 'another' }));
    await exchange(first, asking({ words: 'one way' }), { reported: 'yes' });
    first.release();
    second.release();
    const longer = [...history, user('one way'), assistant('yes')];
    assert.is((await report(asking({ history: longer, conversation: place }))).sessionID, sessionID);
  });

  check('begin one each when both are the first, unless they rely on us', async () => {
    const { hold, fake } = createWorld();
    const first = await hold(asking({ conversation: place }));
    const second = await hold(asking({ conversation: place }));
    assert.is.not(first.session.sessionID, second.session.sessionID);
    assert.is.not(second.name, 'chat 1');
    assert.is(fake.sessions.size, 2);
  });

  check('wait for the rest of an answer that the client has received already', async () => {
    const { hold, exchange, history, conversations, sessionID } = await chatOf(1);
    const first = await hold(asking({ words: 'q2', history, conversation: place }));
    await exchange(first, asking({ words: 'q2' }), { reported: 'a2' });
    const longer = [...history, user('q2'), assistant('a2')];
    const next = await conversations().resolve(asking({ history: longer, conversation: place }), 'owner', never);
    const other = await conversations().resolve(asking({ history: longer, conversation: place }), 'owner', never);
    const held = next.lock(never);
    first.release();
    assert.is((await held).session.sessionID, sessionID);
    assert.is(next.name, 'chat 1');
    assert.is.not(other.name, 'chat 1', 'two that go on from the same words do not mix');
  });

  check('are turned away when too many wait', async () => {
    const { conversations } = createWorld({ queueLimit: 2 });
    const asked = asking({ conversation: remembered('s') });
    for (const _ of [1, 2, 3]) await conversations().resolve(asked, 'owner', never);
    const fault = await rejection(conversations().resolve(asked, 'owner', never));
    assert.is(fault instanceof Fault && fault.detail.kind, 'overloaded');
    await conversations().resolve(asked, 'other', never);
  });

  check('are forgotten when the client leaves while it waits', async () => {
    const { hold, conversations, fake } = createWorld();
    const asked = asking({ conversation: remembered('s') });
    const first = await hold(asked);
    const left = new AbortController();
    const waiting = (await conversations().resolve(asked, 'owner', left.signal)).lock(left.signal);
    const last = (await conversations().resolve(asked, 'owner', never)).lock(never);
    left.abort(new Fault({ kind: 'client-left' }));
    const fault = await rejection(waiting);
    assert.is(fault instanceof Fault && fault.detail.kind, 'client-left');
    assert.is(fake.sessions.size, 1);
    first.release();
    first.release();
    await last;
  });

  check('let the next one begin the conversation when the first came to nothing', async () => {
    const { hold, conversations, fake, exchange } = createWorld();
    const asked = asking({ conversation: remembered('s') });
    const first = await hold(asked);
    const next = (await conversations().resolve(asked, 'owner', never)).lock(never);
    first.release();
    const held = await next;
    assert.is.not(held.session.sessionID, first.session.sessionID);
    await exchange(held, asked);
    held.release();
    assert.equal([...fake.sessions.keys()], [held.session.sessionID]);
  });

  check('let the next one in when no session could be made', async () => {
    const { hold, conversations, fake } = createWorld();
    const asked = asking({ conversation: remembered('s') });
    fake.failNext('createSession', { kind: 'backend-error', reason: 'gone' });
    const first = (await conversations().resolve(asked, 'owner', never)).lock(never);
    const next = hold(asked);
    await rejection(first);
    await next;
  });
});

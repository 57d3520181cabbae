import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { after, asking, assistant, createWorld, named, never, remembered, user } from './world.ts';

const HISTORY = [user('Hello'), assistant('Hi!')];
const LONGER = [...HISTORY, user('And?'), assistant('Well.')];
const ANSWER = { reported: 'Hi!' };

/** Two bridges over one agent. Each request goes to the other one. */
const twoBridges = () => createWorld({}, 2);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  await turn();
  return Promise.race([promise.then(() => true), turn().then(() => false)]);
};

describe('a conversation that another bridge has begun', (check) => {
  for (const [when, isLate] of [
    ['once its events have come', false],
    ['before any event has come', true],
  ] as const)
    check(`goes on, ${when}`, async () => {
      const { report, fake } = twoBridges();
      // Both know all sessions of the agent now.
      for (const words of ['one', 'other']) await report(asking({ words, conversation: remembered(words) }));
      if (isLate) fake.holdEvents();
      for (const [first, more] of [
        [{}, { history: HISTORY }],
        [{ conversation: named('chat 1') }, { history: HISTORY, conversation: named('chat 1') }],
        [{ conversation: remembered('chat 2') }, { conversation: remembered('chat 2') }],
      ]) {
        const begun = await report(asking(first), ANSWER);
        const next = await report(asking({ words: 'And?', ...more }), { reported: 'Well.' });
        assert.equal([next.sessionID, next.name], [begun.sessionID, begun.name]);
        assert.equal(next.replay, []);
      }
      const begun = await report(asking(), ANSWER);
      const next = await report(asking({ conversation: after(begun.responseID) }), ANSWER);
      assert.is(next.sessionID, begun.sessionID);
      assert.is((await report(asking({ conversation: after(next.responseID) }), ANSWER)).sessionID, begun.sessionID);
    });

  check('and went on with since is not taken for what it was', async () => {
    for (const conversation of [{ kind: 'unnamed' } as const, named('chat 1')]) {
      const { report, fake } = twoBridges();
      const begun = await report(asking({ conversation }), ANSWER);
      const gone = await report(asking({ words: 'And?', history: HISTORY, conversation }), { reported: 'Well.' });
      assert.is(gone.sessionID, begun.sessionID);
      fake.holdEvents();
      await report(asking({ words: 'So?', history: LONGER, conversation }), ANSWER);
      const again = await report(asking({ words: 'Or?', history: LONGER, conversation }), ANSWER);
      assert.is.not(again.sessionID, begun.sessionID);
      assert.equal(again.replay, LONGER);
    }
  });

  check('and went on with is not what an earlier response leads to', async () => {
    const { report, fake } = twoBridges();
    const first = await report(asking(), ANSWER);
    const second = await report(asking({ words: 'And?', conversation: after(first.responseID) }), ANSWER);
    fake.holdEvents();
    await report(asking({ words: 'So?', conversation: after(second.responseID) }), ANSWER);
    const fork = await report(asking({ words: 'Or?', conversation: after(second.responseID) }), ANSWER);
    assert.is.not(fork.sessionID, first.sessionID);
    assert.equal(
      fork.replay.map(({ text }) => text),
      ['Hello', 'Hi!', 'And?', 'Hi!'],
    );
  });

  check('is not read again where another bridge has seen all of it', async () => {
    const { report, fake } = twoBridges();
    await report(asking({ words: 'other' }));
    await report(asking(), ANSWER);
    await report(asking({ words: 'And?', history: HISTORY }), { reported: 'Well.' });
    await report(asking({ history: LONGER }));
    assert.is(fake.calls('messages'), 0);
  });

  check('goes on, and is stored, although another program has written a revision that cannot be counted', async () => {
    for (const revision of [1e300, -1, 'x']) {
      const { report, fake, restart, lines } = twoBridges();
      const conversation = remembered('s');
      const begun = await report(asking({ conversation }), ANSWER);
      const session = fake.sessions.get(begun.sessionID);
      assert.ok(session);
      session.metadata = { gatehouse: { ...(session.metadata.gatehouse as object), revision } };
      restart();
      for (const words of ['two', 'three', 'four'])
        assert.is((await report(asking({ words, conversation }))).sessionID, begun.sessionID);
      assert.is((session.metadata.gatehouse as { exchanges: unknown[] }).exchanges.length, 4);
      assert.equal(
        lines.filter(({ event }) => event === 'conversation-not-kept'),
        [],
      );
    }
  });

  check('is not found any more once that has deleted it', async () => {
    const { report, conversations } = twoBridges();
    const { responseID } = await report(asking(), ANSWER);
    await report(asking({ words: 'other' }));
    assert.ok(await conversations().deleteResponse(responseID, 'owner', never));
    await turn();
    assert.not.ok(await conversations().deleteResponse(responseID, 'owner', never));
    const fault = await rejection(report(asking({ conversation: after(responseID) })));
    assert.is(fault instanceof Fault && fault.detail.kind, 'bad-input');
  });
});

describe('a conversation in which another bridge answers', (check) => {
  check('is left alone: a new session gets the history, under another name', async () => {
    for (const conversation of [{ kind: 'unnamed' } as const, named('chat 1')])
      for (const isLate of [false, true]) {
        const { report, hold, exchange, fake } = twoBridges();
        const begun = await report(asking({ conversation }), ANSWER);
        await report(asking({ words: 'And?', history: HISTORY, conversation }), { reported: 'Well.' });
        if (isLate) fake.holdEvents();
        const asked = asking({ words: 'So?', history: LONGER, conversation });
        const held = await hold(asked);
        const other = await report(asked, ANSWER);
        assert.is.not(other.sessionID, begun.sessionID);
        assert.equal(other.replay, LONGER);
        await exchange(held, asked, { reported: 'So.' });
        held.release();
        const next = await report(
          asking({ history: [...LONGER, user('So?'), assistant('So.')], conversation }),
          ANSWER,
        );
        assert.is(next.sessionID, begun.sessionID);
      }
  });

  check('is waited for by a client that relies on it', async () => {
    for (const isLate of [false, true]) {
      const { report, hold, exchange, clock, fake } = twoBridges();
      const asked = asking({ conversation: remembered('s') });
      const begun = await report(asked, ANSWER);
      await report(asked, ANSWER);
      if (isLate) fake.holdEvents();
      const held = await hold(asked);
      const { promise: answered, resolve: answer } = Promise.withResolvers<string>();
      fake.answer = () => answered;
      const exchanging = exchange(held, asked);
      const next = hold(asked);
      await clock.advance(60_000);
      assert.not.ok(await isSettled(next));
      answer('At last.');
      await exchanging;
      held.release();
      await clock.advance(1000);
      const { session } = await next;
      assert.is(session.sessionID, begun.sessionID);
      assert.is(session.knownMessageIDs.size, 3);
    }
  });

  check('is begun once where clients that rely on it ask both bridges at the same moment', async () => {
    for (const isLate of [false, true]) {
      const { report, clock, fake } = twoBridges();
      await report(asking({ words: 'before', conversation: remembered('before') }));
      if (isLate) fake.holdEvents();
      const asked = asking({ conversation: remembered('s') });
      const reports = Promise.all([report(asked), report(asked), report(asked)]);
      await clock.advance(10_000);
      const sessions = new Set((await reports).map(({ sessionID }) => sessionID));
      assert.is(sessions.size, 1);
      assert.is(fake.sessions.size, 2);
      assert.is(fake.sessions.get([...sessions][0] ?? '')?.messages.length, 6);
    }
  });

  check('is taken over when that bridge says no more and nothing runs', async () => {
    const { report, hold, clock } = twoBridges();
    const asked = asking({ conversation: remembered('s') });
    const begun = await report(asked, ANSWER);
    await report(asked, ANSWER);
    await hold(asked);
    const next = hold(asked);
    await clock.advance(1000);
    assert.not.ok(await isSettled(next));
    await clock.advance(3000);
    assert.is((await next).session.sessionID, begun.sessionID);
  });

  check('is free again when that came to nothing', async () => {
    const { report, hold, fake } = twoBridges();
    const begun = await report(asking(), ANSWER);
    const held = await hold(asking({ words: 'And?', history: HISTORY }));
    assert.is(held.session.sessionID, begun.sessionID);
    held.release();
    await turn();
    assert.is((await report(asking({ words: 'And?', history: HISTORY }))).sessionID, begun.sessionID);
    assert.is(fake.sessions.size, 1);
  });

  check('is not deleted with its last response while that answers', async () => {
    const { report, hold, conversations, fake } = twoBridges();
    const begun = await report(asking(), ANSWER);
    await report(asking({ words: 'other' }));
    fake.holdEvents();
    const held = await hold(asking({ words: 'And?', history: HISTORY }));
    assert.is(held.session.sessionID, begun.sessionID);
    assert.ok(await conversations().deleteResponse(begun.responseID, 'owner', never));
    assert.ok(fake.sessions.has(begun.sessionID));
  });

  check('keeps what the other one changes meanwhile', async () => {
    const { report, hold, exchange, conversations, fake } = twoBridges();
    const asked = asking({ conversation: remembered('s') });
    const first = await report(asked, ANSWER);
    await report(asked, ANSWER);
    fake.holdEvents();
    const held = await hold(asked);
    assert.ok(await conversations().deleteResponse(first.responseID, 'owner', never));
    const third = await exchange(held, asked);
    held.release();
    for (let each = 0; each < 2; each += 1) {
      assert.is(await conversations().findResponse(first.responseID, 'owner', never), undefined);
      assert.ok(await conversations().findResponse(third, 'owner', never));
    }
  });
});

describe('conversations that are not read yet', (check) => {
  check('are read at the start, before the first request', async () => {
    const { fake, restart } = createWorld();
    restart();
    await turn();
    assert.is(fake.calls('sessions'), 2);
  });

  check('are waited for only where one is searched for', async () => {
    const { report, fake, restart } = createWorld();
    const begun = await report(asking(), ANSWER);
    restart();
    const letThrough = fake.hold('sessions');
    await report(asking({ words: 'another' }));
    assert.is((await report(asking({ conversation: after(begun.responseID) }), ANSWER)).sessionID, begun.sessionID);
    const searched = report(asking({ words: 'Thanks', history: [...HISTORY, user('Hello'), assistant('Hi!')] }));
    assert.not.ok(await isSettled(searched));
    letThrough();
    assert.is((await searched).sessionID, begun.sessionID);
  });

  check('are not put over what has happened since', async () => {
    const { report, fake, restart } = createWorld();
    const begun = await report(asking(), ANSWER);
    restart();
    const session = fake.sessions.get(begun.sessionID);
    assert.ok(session);
    const before = session.metadata;
    const letThrough = fake.hold('sessions');
    await report(asking({ words: 'And?', conversation: after(begun.responseID) }), { reported: 'Well.' });
    const since = session.metadata;
    // The list is as old as its request.
    session.metadata = before;
    letThrough();
    await report(asking({ conversation: remembered('searched') }));
    session.metadata = since;
    assert.is((await report(asking({ history: LONGER }))).sessionID, begun.sessionID);
  });
});

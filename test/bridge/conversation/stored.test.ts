import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { after, asking, assistant, createWorld, named, never, remembered, user } from './world.ts';

const HISTORY = [user('Hello'), assistant('Hi!')];
const LONGER = [...HISTORY, user('And?'), assistant('Well.')];
const DAY_MS = 24 * 3_600_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a bridge that is started anew', (check) => {
  check('knows every conversation by its name, its words and its responses', async () => {
    const { report, restart, conversations, fake } = createWorld();
    const chat = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    const reliant = await report(asking({ conversation: remembered('s') }), { reported: 'Hi!' });
    const unnamed = await report(asking(), { reported: 'Hi!' });
    const response = await report(asking({ words: 'Hm' }), { reported: 'Hi!' });
    restart();
    const asked = asking({ words: 'And?', history: HISTORY });
    assert.is((await report({ ...asked, conversation: named('chat 1') })).sessionID, chat.sessionID);
    assert.is((await report(asking({ conversation: remembered('s') }))).sessionID, reliant.sessionID);
    const found = await report(asked);
    assert.equal([found.sessionID, found.name], [unnamed.sessionID, unnamed.name]);
    assert.is((await report(asking({ conversation: after(response.responseID) }))).sessionID, response.sessionID);
    assert.is(fake.sessions.size, 4);
    assert.is(conversations().count(), 4);
    assert.is(fake.calls('sessions'), 2, 'once for each start');
  });

  check('keeps owners apart', async () => {
    const { report, restart } = createWorld();
    const chat = await report(asking({ conversation: remembered('s') }), { reported: 'Hi!' });
    const unnamed = await report(asking(), { reported: 'Hi!' });
    restart();
    const other = { owner: 'other' };
    assert.is.not((await report(asking({ conversation: remembered('s') }), other)).sessionID, chat.sessionID);
    assert.is.not((await report(asking({ history: HISTORY }), other)).sessionID, unnamed.sessionID);
  });

  check('takes the newer of two sessions for the one that has the name, whichever was used last', async () => {
    const { report, restart, fake } = createWorld();
    const old = await report(asking({ words: 'old', conversation: named('chat 1') }), { reported: 'Hi!' });
    const fresh = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    const there = fake.sessions.get(old.sessionID);
    if (there !== undefined) there.time.updated += DAY_MS;
    restart();
    const next = await report(asking({ history: HISTORY, conversation: named('chat 1') }));
    assert.is(next.sessionID, fresh.sessionID);
  });

  check('does not go on with a session in which something was begun that no client has learned of', async () => {
    const { report, hold, restart, fake } = createWorld();
    const unnamed = await report(asking(), { reported: 'Hi!' });
    const chat = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    const other = await report(asking({ words: 'Hm', conversation: named('chat 2') }), { reported: 'Hi!' });
    for (const { sessionID } of [unnamed, chat]) fake.addPrompt(sessionID, [{ type: 'text', text: 'And?' }]);
    restart();
    const asked = asking({ history: HISTORY });
    assert.is.not((await report(asked)).sessionID, unnamed.sessionID);
    assert.is.not((await report({ ...asked, conversation: named('chat 1') })).sessionID, chat.sessionID);
    const history = [user('Hm'), assistant('Hi!')];
    assert.is((await hold(asking({ history, conversation: named('chat 2') }))).session.sessionID, other.sessionID);
    const looks = fake.calls('messages');
    await report(asking({ history: LONGER }));
    assert.is(fake.calls('messages'), looks, 'what is sure is not looked at again');
  });

  check('goes on from the response before what no client has learned of', async () => {
    const { report, restart, fake } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    fake.addPrompt(first.sessionID, [{ type: 'text', text: 'And?' }]);
    restart();
    const fork = await report(asking({ conversation: after(first.responseID) }));
    assert.is.not(fork.sessionID, first.sessionID);
    assert.equal(fork.replay, HISTORY);
  });

  check('keeps new output while another request still checks whether all is known', async () => {
    const { report, restart, fake, conversations } = createWorld();
    const first = await report(asking(), { reported: 'Hi!' });
    restart();
    const letThrough = fake.hold('messages');
    const looking = conversations().resolve(asking({ history: HISTORY }), 'owner', never);
    await turn();
    const letOther = fake.hold('messages');
    letOther();
    await report(asking({ words: 'And?', conversation: remembered(first.name) }), { reported: 'Well.' });
    letThrough();
    assert.is.not((await looking).name, first.name);
    const next = await report(asking({ history: LONGER, conversation: named(first.name) }));
    assert.is(next.sessionID, first.sessionID);
  });

  check('goes on with what was begun in a first exchange that no one has received the end of', async () => {
    const { hold, restart, fake } = createWorld();
    const { session: conversation } = await hold(asking({ conversation: remembered('s') }));
    fake.addPrompt(conversation.sessionID, [{ type: 'text', text: 'Hello' }]);
    restart();
    const held = await hold(asking({ conversation: remembered('s') }));
    assert.is(held.session.sessionID, conversation.sessionID);
    assert.is(held.session.knownMessageIDs.size, 1);
    const named = await hold(asking({ conversation: { kind: 'named', id: 's', isIncremental: false } }));
    assert.is.not(named.session.sessionID, conversation.sessionID);
  });

  check('lets a client that relies on it go on even so, and knows the prompts of others', async () => {
    const { report, hold, restart, fake } = createWorld();
    const { sessionID } = await report(asking({ conversation: remembered('s') }));
    const promptID = fake.addPrompt(sessionID, [
      { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AA==' },
    ]);
    restart();
    const held = await hold(asking({ conversation: remembered('s') }));
    assert.is(held.session.sessionID, sessionID);
    assert.is(held.session.knownMessageIDs.size, 2);
    assert.ok(held.session.knownMessageIDs.has(promptID));
  });

  check('lets a client that left before the first word of an answer go on', async () => {
    const { report, restart } = createWorld();
    const first = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi there', isStopped: true });
    restart();
    const history = [user('Hello'), assistant('')];
    assert.is((await report(asking({ history, conversation: named('chat 1') }))).sessionID, first.sessionID);
    const second = createWorld();
    const reported = await second.report(asking({ conversation: named('chat 1') }), {
      reported: 'Hi there',
      isStopped: true,
    });
    second.restart();
    const cut = [user('Hello'), assistant('Hi')];
    const next = await second.report(asking({ history: cut, conversation: named('chat 1') }));
    assert.is(next.sessionID, reported.sessionID, 'the agent has what was told');
  });

  check('leaves alone what it did not write, and sessions that are none of its own', async () => {
    const { report, restart, fake, conversations } = createWorld();
    const { sessionID } = await report(asking({ conversation: remembered('s') }));
    const session = fake.sessions.get(sessionID);
    if (session !== undefined) session.metadata = { ...session.metadata, theirs: { a: 1 } };
    const signal = never;
    const record = session?.metadata.gatehouse;
    for (const gatehouse of [
      undefined,
      'x',
      { version: 2 },
      { ...(record as object), version: 2 },
      { ...(record as object), head: 1 },
    ])
      await fake.agent.createSession({ title: 'x', metadata: { gatehouse } }, signal);
    restart();
    assert.is((await report(asking({ conversation: remembered('s') }))).sessionID, sessionID);
    assert.is(conversations().count(), 1);
    assert.equal(session?.metadata.theirs, { a: 1 });
  });

  check('says so when it cannot ask the agent, and asks again for the next request', async () => {
    const { report, restart, fake } = createWorld();
    const { sessionID } = await report(asking({ conversation: remembered('s') }));
    restart();
    fake.failNext('sessions', { kind: 'backend-error', reason: 'gone' });
    const fault = await rejection(report(asking({ conversation: remembered('s') })));
    assert.is(fault instanceof Fault && fault.detail.kind, 'backend-error');
    assert.is((await report(asking({ conversation: remembered('s') }))).sessionID, sessionID);
  });

  const TOO_LARGE = { kind: 'agent-failed', status: 502, code: 'agent_answer_too_large', message: '' } as const;
  const TOO_SLOW = { kind: 'backend-timeout' } as const;

  check('knows the latest conversations where the agent cannot report all of them', async () => {
    for (const [detail, tries] of [
      [{ ...TOO_LARGE, isRetryable: true }, 7],
      [TOO_SLOW, 2],
    ] as const) {
      const { report, restart, fake, clock, conversations, lines } = createWorld();
      const reported: string[] = [];
      for (let number = 0; number < 103; number += 1) {
        reported.push((await report(asking({ conversation: remembered(`s${number}`) }))).sessionID);
        if (number === 0) await clock.advance(60_000);
      }
      restart();
      fake.failNext('sessions', detail, tries);
      const before = fake.calls('sessions');
      assert.is((await report(asking({ conversation: remembered('s102') }))).sessionID, reported[102]);
      assert.is(fake.calls('sessions') - before, tries + 1);
      assert.is(conversations().count(), 100);
      assert.equal(lines.at(-1), { event: 'conversations-known', fields: { count: 100 } });
      assert.is.not((await report(asking({ conversation: remembered('s0') }))).sessionID, reported[0]);
    }
  });

  check('asks for fewer no more than that, and at no other failure', async () => {
    const { report, fake } = createWorld();
    fake.failNext('sessions', TOO_SLOW, 3);
    const searched = asking({ conversation: remembered('s') });
    const slow = await rejection(report(searched));
    assert.is(slow instanceof Fault && slow.detail.kind, 'backend-timeout');
    assert.is(fake.calls('sessions'), 3);
    fake.failNext('sessions', { ...TOO_LARGE, code: 'agent_refused', isRetryable: true });
    const refused = await rejection(report(searched));
    assert.is(refused instanceof Fault && refused.detail.kind, 'agent-failed');
    assert.is(fake.calls('sessions'), 4);
  });

  check('does not stop asking because the first who wanted to know has left', async () => {
    const { fake, conversations, report } = createWorld();
    const letThrough = fake.hold('sessions');
    const left = new AbortController();
    const searched = asking({ history: HISTORY });
    const gone = conversations().resolve(searched, 'owner', left.signal);
    const next = report(searched);
    left.abort(new Fault({ kind: 'client-left' }));
    await rejection(gone);
    letThrough();
    await next;
    assert.is(fake.calls('sessions'), 1);
  });
});

describe('what is remembered of conversations', (check) => {
  check('holds no words of theirs', async () => {
    const { report, fake } = createWorld();
    const { sessionID } = await report(asking({ words: 'wordasked', conversation: named('s') }), {
      reported: 'wordtold',
      isStopped: true,
    });
    const kept = JSON.stringify(fake.sessions.get(sessionID)?.metadata);
    assert.not.match(kept, 'wordasked');
    assert.not.match(kept, 'wordtold');
  });

  check('is there before the first prompt is given to the agent', async () => {
    const { hold, fake } = createWorld();
    const held = await hold(asking({ conversation: named('chat 1') }));
    const metadata = fake.sessions.get(held.session.sessionID)?.metadata;
    assert.match(JSON.stringify(metadata), '"name":"chat 1"');
  });

  check('is bounded: the one that was used longest ago is forgotten first', async () => {
    const { report, conversations } = createWorld({ limit: 2 });
    const [a, b] = [
      await report(asking({ conversation: remembered('a') })),
      await report(asking({ conversation: remembered('b') })),
    ];
    await report(asking({ conversation: remembered('a') }));
    await report(asking({ conversation: remembered('c') }));
    assert.is(conversations().count(), 2);
    assert.is((await report(asking({ conversation: remembered('a') }))).sessionID, a.sessionID);
    assert.is.not((await report(asking({ conversation: remembered('b') }))).sessionID, b.sessionID);
  });

  check('is in the order of its last use also after a restart', async () => {
    const { report, restart } = createWorld({ limit: 2 });
    const [a, b] = [
      await report(asking({ conversation: remembered('a') })),
      await report(asking({ conversation: remembered('b') })),
    ];
    await report(asking({ conversation: remembered('a') }));
    restart();
    await report(asking({ conversation: remembered('c') }));
    assert.is((await report(asking({ conversation: remembered('a') }))).sessionID, a.sessionID);
    assert.is.not((await report(asking({ conversation: remembered('b') }))).sessionID, b.sessionID);
  });

  check('is forgotten after a lifetime in which no one used it, and stays at the agent', async () => {
    const { report, clock, fake, restart, conversations } = createWorld();
    const old = await report(asking({ conversation: remembered('s') }), { reported: 'Hi!' });
    await clock.advance(6 * DAY_MS);
    assert.is((await report(asking({ conversation: remembered('s') }))).sessionID, old.sessionID);
    await clock.advance(8 * DAY_MS);
    for (const _ of ['at once', 'restarted']) {
      assert.is.not(
        (await report(asking({ conversation: remembered('s') }), { reported: 'x' })).sessionID,
        old.sessionID,
      );
      restart();
    }
    assert.is(fake.sessions.size, 2);
    assert.is(conversations().count(), 0);
  });

  check('is a line in the log when the agent does not take it, and holds as long as the bridge runs', async () => {
    const { report, fake, lines } = createWorld();
    fake.failNext('setMetadata', { kind: 'backend-error', reason: 'gone' });
    const { sessionID } = await report(asking({ conversation: remembered('s') }));
    assert.equal(
      lines.filter(({ event }) => event === 'conversation-not-kept').map(({ fields }) => fields),
      [{ session: sessionID, reason: 'backend-error' }],
    );
    assert.is((await report(asking({ conversation: remembered('s') }))).sessionID, sessionID);
  });

  check('is given up when the agent does not answer in time', async () => {
    const { hold, exchange, fake, clock, lines } = createWorld();
    const held = await hold(asking({ conversation: remembered('s') }));
    fake.hold('setMetadata');
    const noting = exchange(held, asking());
    await clock.advance(10_000);
    await noting;
    assert.is(lines.at(-1)?.fields?.reason, 'backend-timeout');
  });
});

describe('a session that the agent does not know any more', (check) => {
  check('is forgotten when that shows', async () => {
    const { hold, exchange, fake, report, conversations } = createWorld();
    const held = await hold(asking({ conversation: named('chat 1') }));
    fake.failNext('setMetadata', { kind: 'not-found', hint: '' });
    await exchange(held, asking(), { reported: 'Hi!' });
    held.release();
    assert.is(conversations().count(), 0);
    const next = await report(asking({ history: HISTORY, conversation: named('chat 1') }));
    assert.equal(next.replay, HISTORY);
  });

  check('is replaced when the prompt is refused: the same name, and the whole history of the client', async () => {
    const { hold, exchange, fake, report, conversations } = createWorld();
    const old = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    fake.forget(old.sessionID);
    const held = await hold(asking({ words: 'And?', history: HISTORY, conversation: named('chat 1') }));
    assert.is(held.session.sessionID, old.sessionID);
    assert.ok(await rejection(exchange(held, asking())));
    const renewed = await held.renew(never);
    assert.is.not(renewed.session.sessionID, old.sessionID);
    assert.equal(renewed.replay, HISTORY);
    await exchange(renewed, asking({ words: 'And?' }), { reported: 'Well.' });
    renewed.release();
    held.release();
    const next = await report(asking({ history: LONGER, conversation: named('chat 1') }));
    assert.is(next.sessionID, renewed.session.sessionID);
    assert.is(conversations().count(), 1);
  });

  check('is found out before an unnamed conversation goes on after a restart', async () => {
    const { report, restart, fake, hold } = createWorld();
    const old = await report(asking(), { reported: 'Hi!' });
    restart();
    await report(asking({ conversation: remembered('other') }));
    fake.forget(old.sessionID);
    const held = await hold(asking({ history: HISTORY }));
    assert.is.not(held.name, old.name);
    assert.equal(held.replay, HISTORY);
  });
});

describe('an exchange of which nothing is noted', (check) => {
  check('checks the session before a history is taken for the whole conversation in it', async () => {
    const { report, hold, fake } = createWorld();
    const chat = await report(asking({ conversation: named('chat 1') }), { reported: 'Hi!' });
    const again = asking({ history: HISTORY, conversation: named('chat 1') });
    const refused = await hold(again);
    refused.release();
    const held = await hold(again);
    assert.is(held.session.sessionID, chat.sessionID, 'the agent was told nothing');
    fake.addPrompt(chat.sessionID, [{ type: 'text', text: 'And?' }]);
    held.release();
    assert.is.not((await report(again)).sessionID, chat.sessionID);
  });

  check('leaves the conversation to be sent again when the agent was not prompted', async () => {
    const { hold, conversations, newResponseID } = createWorld();
    const held = await hold(asking({ words: 'approve', history: HISTORY }));
    const responseID = newResponseID(held.session);
    await held.record({
      promptText: 'approve',
      files: [],
      answerText: 'No such question.',
      responseID,
      promptID: undefined,
      isStopped: false,
      isUnread: false,
      paused: undefined,
    });
    held.release();
    const history = [...HISTORY, user('approve'), assistant('No such question.')];
    assert.is(await conversations().findResponse(responseID, 'owner', never), undefined);
    const next = await hold(asking({ history }));
    assert.is(next.session.sessionID, held.session.sessionID);
    assert.equal(next.replay, history);
  });
});

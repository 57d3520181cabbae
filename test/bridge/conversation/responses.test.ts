import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { after, asking, assistant, createWorld, never, remembered, user, type World } from './world.ts';

/** Three exchanges of one conversation, each after the response before. */
const threeResponses = async (world: World = createWorld()) => {
  const first = await world.report(asking({ words: 'q1' }), { reported: 'a1' });
  const second = await world.report(asking({ words: 'q2', conversation: after(first.responseID) }), { reported: 'a2' });
  const third = await world.report(asking({ words: 'q3', conversation: after(second.responseID) }), { reported: 'a3' });
  return { ...world, first, second, third };
};
const notFound = (fault: unknown): boolean =>
  fault instanceof Fault &&
  fault.detail.kind === 'bad-input' &&
  fault.detail.code === 'previous_response_not_found' &&
  fault.detail.param === 'previous_response_id';

describe('a request after a response', (check) => {
  check('goes on in its session when it was the last one', async () => {
    const { first, second, third, fake } = await threeResponses();
    assert.equal([second.sessionID, third.sessionID], [first.sessionID, first.sessionID]);
    assert.equal([second.name, third.name], [first.name, first.name]);
    assert.is(fake.sessions.size, 1);
    assert.match(third.responseID, /^resp_[A-Za-z0-9]+_[A-Za-z0-9]{12}$/);
  });

  check('goes on in a new session, which gets everything until then, when it was an earlier one', async () => {
    const { report, first, second, third } = await threeResponses();
    const fork = await report(asking({ words: 'q', conversation: after(second.responseID) }), { reported: 'a' });
    assert.is.not(fork.sessionID, first.sessionID);
    assert.is.not(fork.name, first.name);
    assert.equal(fork.replay, [user('q1'), assistant('a1'), user('q2'), assistant('a2')]);
    assert.is((await report(asking({ conversation: after(third.responseID) }))).sessionID, first.sessionID);
    assert.is((await report(asking({ conversation: after(fork.responseID) }))).sessionID, fork.sessionID);
  });

  check('loses nothing when what it forks was a fork itself', async () => {
    const { report, second } = await threeResponses();
    const fork = await report(asking({ words: 'f1', conversation: after(second.responseID) }), { reported: 'b1' });
    await report(asking({ words: 'f2', conversation: after(fork.responseID) }), { reported: 'b2' });
    const next = await report(asking({ conversation: after(fork.responseID) }));
    const [earlier, ...rest] = next.replay;
    for (const words of ['q1', 'a1', 'q2', 'a2', 'f1']) assert.match(earlier?.text ?? '', words);
    assert.equal(rest, [assistant('b1')]);
  });

  check('adds the history that it sends to a new session only', async () => {
    const { report, first, third } = await threeResponses();
    const more = [user('said elsewhere'), assistant('yes')];
    assert.equal((await report(asking({ history: more, conversation: after(third.responseID) }))).replay, []);
    const fork = await report(asking({ history: more, conversation: after(first.responseID) }));
    assert.equal(fork.replay, [user('q1'), assistant('a1'), ...more]);
  });

  check('leaves out what the agent has said to itself, and not what it said to the user after that', async () => {
    const { report, first, fake } = await threeResponses();
    const messages = fake.sessions.get(first.sessionID)?.messages ?? [];
    const { sessionID } = first;
    let parts = 0;
    const text = (words: string, how: { synthetic?: boolean; ignored?: boolean } = {}) => {
      parts += 1;
      const placed = { id: `p${parts}`, sessionID, messageID: 'm', time: undefined };
      return { ...placed, type: 'text' as const, text: words, synthetic: undefined, ignored: undefined, ...how };
    };
    const answered = { providerID: '', modelID: '', time: { created: 1, completed: 1 }, tokens: undefined };
    messages[0]?.parts.push(text('A file of the user', { synthetic: true }));
    messages[1]?.parts.push(text('Not shown', { ignored: true }));
    messages.splice(
      2,
      0,
      { info: { id: 'm1', sessionID, role: 'user' }, parts: [{ id: 'p', sessionID, messageID: 'm1', type: 'other' }] },
      {
        info: { id: 'm2', sessionID, role: 'assistant', parentID: 'm1', summary: true, ...answered },
        parts: [text('A summary')],
      },
      { info: { id: 'm3', sessionID, role: 'user' }, parts: [text('Continue', { synthetic: true })] },
      {
        info: { id: 'm4', sessionID, role: 'assistant', parentID: 'm3', summary: undefined, ...answered },
        parts: [text('More')],
      },
    );
    const fork = await report(asking({ conversation: after(first.responseID) }));
    assert.equal(fork.replay, [user('q1'), assistant('a1'), assistant('More')]);
  });

  check('loses nothing when the first prompt of what it forks was only a file', async () => {
    const { report, second } = await threeResponses();
    const prompt = [{ type: 'file' as const, mime: 'image/png', url: 'data:image/png;base64,AA==' }];
    const fork = await report(asking({ prompt, conversation: after(second.responseID) }), { reported: 'b1' });
    await report(asking({ words: 'f2', conversation: after(fork.responseID) }), { reported: 'b2' });
    const next = await report(asking({ conversation: after(fork.responseID) }));
    assert.match(next.replay[0]?.text ?? '', 'q1');
    assert.equal(next.replay.slice(1), [assistant('b1')]);
  });

  check('goes on in a new session while another goes on from the same response', async () => {
    const { hold, third } = await threeResponses();
    const one = await hold(asking({ conversation: after(third.responseID) }));
    const other = await hold(asking({ conversation: after(third.responseID) }));
    assert.is(one.session.sessionID, third.sessionID);
    assert.is.not(other.session.sessionID, third.sessionID);
    assert.is(other.replay.length, 6);
  });

  check('waits for the rest of the response that it comes after', async () => {
    const { hold, exchange, conversations, third } = await threeResponses();
    const held = await hold(asking({ conversation: after(third.responseID) }));
    const responseID = await exchange(held, asking());
    const next = (await conversations().resolve(asking({ conversation: after(responseID) }), 'owner', never)).lock(
      never,
    );
    held.release();
    assert.is((await next).session.sessionID, third.sessionID);
  });

  check('is turned down when the response is forgotten while it waits for the rest of it', async () => {
    const { hold, exchange, conversations, third } = await threeResponses();
    const held = await hold(asking({ conversation: after(third.responseID) }));
    const responseID = await exchange(held, asking());
    const next = (await conversations().resolve(asking({ conversation: after(responseID) }), 'owner', never)).lock(
      never,
    );
    await conversations().deleteResponse(responseID, 'owner', never);
    held.release();
    assert.ok(notFound(await rejection(next)));
  });

  check('is turned down when the response is unknown, of another owner, forgotten, or none of ours', async () => {
    const { conversations, third } = await threeResponses();
    await conversations().deleteResponse(third.responseID, 'owner', never);
    const unknown = third.responseID.replace(/.$/, '!');
    for (const id of [
      third.responseID,
      unknown,
      'resp_1',
      'resp_ses_..%2F_abcdefghijkl',
      'resp_nobody_abcdefghijkl',
      '',
    ]) {
      assert.ok(
        notFound(await rejection(conversations().resolve(asking({ conversation: after(id) }), 'owner', never))),
        id,
      );
    }
    const { second } = await threeResponses();
    assert.ok(
      notFound(
        await rejection(conversations().resolve(asking({ conversation: after(second.responseID) }), 'other', never)),
      ),
    );
  });

  check('is turned down when the agent has lost its session, or that turn of it', async () => {
    const { conversations, fake, first } = await threeResponses();
    fake.sessions.get(first.sessionID)?.messages.splice(0);
    assert.ok(
      notFound(
        await rejection(conversations().resolve(asking({ conversation: after(first.responseID) }), 'owner', never)),
      ),
    );
    fake.forget(first.sessionID);
    assert.ok(
      notFound(
        await rejection(conversations().resolve(asking({ conversation: after(first.responseID) }), 'owner', never)),
      ),
    );
    assert.is(conversations().count(), 0);
  });

  check('that was the last one but is forgotten leaves the one before to go on from', async () => {
    const { conversations, report, second, third } = await threeResponses();
    await conversations().deleteResponse(third.responseID, 'owner', never);
    const next = await report(asking({ conversation: after(second.responseID) }));
    assert.is.not(next.sessionID, third.sessionID, 'the session has heard what is forgotten');
    assert.is(next.replay.length, 4);
  });
});

describe('a response that is remembered', (check) => {
  check('leads to its session and its prompt, after a restart too', async () => {
    const { conversations, restart, fake, first, second } = await threeResponses();
    const expected = {
      sessionID: first.sessionID,
      promptID: fake.sessions.get(first.sessionID)?.messages[2]?.info.id,
    };
    const placeOf = async () => {
      const found = await conversations().findResponse(second.responseID, 'owner', never);
      return found && { sessionID: found.sessionID, promptID: found.promptID };
    };
    assert.equal(await placeOf(), expected);
    restart();
    assert.equal(await placeOf(), expected);
  });

  check('is found at the agent when there were too many to keep it in mind', async () => {
    const world = createWorld({ limit: 2 });
    const { conversations, report, first, second, third } = await threeResponses(world);
    for (const id of ['a', 'b', 'c']) await report(asking({ conversation: remembered(id) }));
    assert.is(conversations().count(), 2);
    assert.is((await report(asking({ conversation: after(third.responseID) }))).sessionID, first.sessionID);
    for (const id of ['a', 'b', 'c']) await report(asking({ conversation: remembered(id) }));
    assert.is((await conversations().findResponse(second.responseID, 'owner', never))?.sessionID, first.sessionID);
  });

  check('is unknown to others, and when it is none', async () => {
    const { conversations, restart, second } = await threeResponses();
    for (const _ of ['known', 'restarted']) {
      assert.is(await conversations().findResponse(second.responseID, 'other', never), undefined);
      assert.is(await conversations().findResponse(second.responseID.replace(/.$/, '!'), 'owner', never), undefined);
      assert.is(await conversations().findResponse('resp_nobody_abcdefghijkl', 'owner', never), undefined);
      assert.is(await conversations().findResponse('chatcmpl-1', 'owner', never), undefined);
      restart();
    }
  });

  check('is one of the last twenty', async () => {
    const { report, conversations } = createWorld();
    const reported = [];
    for (let number = 0; number < 22; number += 1)
      reported.push(await report(asking({ conversation: remembered('s') })));
    const known = await Promise.all(
      reported.map(({ responseID }) => conversations().findResponse(responseID, 'owner', never)),
    );
    assert.equal(known.map((found) => found !== undefined).lastIndexOf(false), 1);
  });
});

describe('a response that is forgotten', (check) => {
  check('is gone, also after a restart, and its session stays for the others', async () => {
    const { conversations, restart, fake, second, third } = await threeResponses();
    assert.is(await conversations().deleteResponse(second.responseID, 'other', never), false);
    assert.is(await conversations().deleteResponse(second.responseID, 'owner', never), true);
    for (const _ of ['at once', 'restarted']) {
      assert.is(await conversations().deleteResponse(second.responseID, 'owner', never), false);
      assert.is(await conversations().findResponse(second.responseID, 'owner', never), undefined);
      assert.ok(await conversations().findResponse(third.responseID, 'owner', never));
      restart();
    }
    assert.is(fake.sessions.size, 1);
  });

  check('takes its session with it when it was the last one', async () => {
    const { conversations, fake, first, second, third } = await threeResponses();
    for (const { responseID } of [third, first, second])
      assert.is(await conversations().deleteResponse(responseID, 'owner', never), true);
    assert.is(fake.sessions.size, 0);
    assert.is(conversations().count(), 0);
  });

  check('stays forgotten when it was forgotten during the exchange after it', async () => {
    const { conversations, hold, exchange, restart, fake } = createWorld();
    const asked = asking({ conversation: remembered('s') });
    const first = await hold(asked);
    const responseID = await exchange(first, asked);
    first.release();
    const next = await hold(asked);
    assert.is(await conversations().deleteResponse(responseID, 'owner', never), true);
    assert.is(fake.sessions.size, 1, 'somebody is in it');
    await exchange(next, asked);
    next.release();
    for (const _ of ['at once', 'restarted']) {
      assert.is(await conversations().findResponse(responseID, 'owner', never), undefined);
      restart();
    }
  });

  check('stays forgotten when it is forgotten while the exchange before is being written', async () => {
    const { conversations, hold, exchange, restart, fake, first, third } = await threeResponses();
    const held = await hold(asking({ conversation: after(third.responseID) }));
    const letThrough = fake.hold('setMetadata');
    const noting = exchange(held, asking());
    await new Promise((resolve) => setImmediate(resolve));
    fake.hold('setMetadata')();
    const forgetting = conversations().deleteResponse(first.responseID, 'owner', never);
    await new Promise((resolve) => setImmediate(resolve));
    letThrough();
    await Promise.all([noting, forgetting]);
    restart();
    assert.is(await conversations().findResponse(first.responseID, 'owner', never), undefined);
  });

  check('is forgotten when the agent has lost its session', async () => {
    const { conversations, fake, first, second, third } = await threeResponses();
    fake.forget(first.sessionID);
    assert.is(await conversations().deleteResponse(first.responseID, 'owner', never), true);
    assert.is(await conversations().findResponse(second.responseID, 'owner', never), undefined);
    assert.is(await conversations().findResponse(third.responseID, 'owner', never), undefined);
  });

  check('is not said to be deleted when the agent was not reached', async () => {
    const { conversations, fake, first } = await threeResponses();
    fake.failNext('setMetadata', { kind: 'backend-error', reason: 'gone' });
    await rejection(conversations().deleteResponse(first.responseID, 'owner', never));
  });
});

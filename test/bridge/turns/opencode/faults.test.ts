import * as assert from 'uvu/assert';
import { replying, type Script } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { begun, faultOf, readUntilPause, textOf, untilSo, withTurns } from './world.ts';

/** Says one text, and the next one once it is let go. */
const inTwoParts = () => {
  const gate = Promise.withResolvers<void>();
  const script: Script = async function* (request, signal) {
    yield { kind: 'text', delta: 'one ' };
    await gate.promise;
    yield* replying('two')(request, signal);
  };
  return { script, release: gate.resolve };
};

describe('turns at an OpenCode server: faults', (check) => {
  check('what was lost while the events were cut is read from the messages', () => {
    const { script, release } = inTwoParts();
    return withTurns({ scripts: [script] }, async ({ begin, turns, by, cutFeed }) => {
      const { turn, events } = begun(await begin());
      await untilSo(async () => textOf((await turns.read(turn.id, by)).entries) === 'one ');
      const reading = readUntilPause(events);
      const reopen = cutFeed();
      release();
      await new Promise((resolve) => setTimeout(resolve, 50));
      reopen();
      const { turn: last, entries } = await reading;
      assert.is(last?.status, 'completed');
      assert.is(textOf(entries), 'one two');
      assert.equal((await turns.read(turn.id, by)).entries.at(-1), entries.at(-1));
    });
  });

  check('events that come late change nothing: the response is read in their place', () => {
    const { script, release } = inTwoParts();
    return withTurns({ scripts: [replying('open'), script] }, async ({ ask, begin, holdFeed }) => {
      await ask();
      const letGo = holdFeed();
      const beginning = begin();
      release();
      const { events } = begun(await beginning);
      const { entries } = await readUntilPause(events);
      letGo();
      assert.is(textOf(entries), 'one two');
    });
  });

  check('a prompt whose connection breaks is followed to its end', () => {
    const { script, release } = inTwoParts();
    return withTurns({ scripts: [script] }, async ({ begin, breakOff }) => {
      const { events } = begun(await begin());
      breakOff();
      release();
      const { turn, entries } = await readUntilPause(events);
      assert.is(turn?.status, 'completed');
      assert.is(textOf(entries), 'one two');
    });
  });

  check('an agent that cannot be reached begins nothing, and the same request begins once it can', () =>
    withTurns({}, async ({ begin, ask, replace, agent, turns, by }) => {
      replace(undefined);
      const request = { key: 'mine', isKeyOfClient: true, digest: 'same', conversation: { name: 'chat' } };
      assert.is((await faultOf(begin(request))).kind, 'backend-error');
      assert.equal(await turns.waitingTurns(by), []);
      replace(agent.server.handler);
      assert.is((await ask(request)).text, 'hello');
    }),
  );

  check('a prompt that the agent refuses begins nothing and leaves no session', () =>
    withTurns({}, async ({ begin, agent }) => {
      const fault = await faultOf(begin({ model: { providerID: 'no', modelID: 'such' } }));
      assert.is(fault.kind, 'agent-failed');
      assert.equal(await agent.get('/session'), []);
    }),
  );

  check('a reader that ends its signal stops reading, and the turn goes on', () => {
    const { script, release } = inTwoParts();
    return withTurns({ scripts: [script] }, async ({ begin, turns, by }) => {
      const reading = new AbortController();
      const { turn, events } = begun(await begin({}, { ...by, signal: reading.signal }));
      const read = readUntilPause(events);
      reading.abort(new Error('enough'));
      assert.is(await read.catch((error: Error) => error.message), 'enough');
      release();
      await untilSo(async () => (await turns.view(turn.id, by)).status === 'completed');
    });
  });

  check('an event of another prompt in the session does not get into the answer', () => {
    const { script, release } = inTwoParts();
    return withTurns({ scripts: [script] }, async ({ begin, report }) => {
      const { turn, events } = begun(await begin());
      const info = { id: 'msg_zzz', sessionID: turn.sessionID, role: 'assistant', parentID: 'msg_other' };
      report({ type: 'message.updated', properties: { info: { ...info, time: { created: 1 } } } });
      const part = { id: 'prt_z', sessionID: turn.sessionID, messageID: 'msg_zzz', type: 'text', text: 'other' };
      report({ type: 'message.part.updated', properties: { part } });
      release();
      assert.is(textOf((await readUntilPause(events)).entries), 'one two');
    });
  });
});

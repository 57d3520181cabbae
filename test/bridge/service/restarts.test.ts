import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { type LiveStream, openStream } from '../harness/live-stream.ts';
import { answering, type Dictated, dictated, messagesTo } from '../harness/model-scripts.ts';
import { aborts, assistant, type BridgeWorld, sessionsMade, until, user, withBridge } from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const DESK = { 'x-session-id': 'desk' };

const respond = async (
  world: BridgeWorld,
  body: unknown,
): Promise<{ readonly id: string; readonly status: number }> => {
  const response = await world.send('/v1/responses', body);
  return { ...((await response.json()) as { id: string }), status: response.status };
};

describe('a bridge that is started anew', (check) => {
  check('knows conversations by their names', () =>
    withBridge({ scripts: [polite] }, async (before) => {
      await before.chat({ messages: [user('one')] }, DESK);
      const world = await before.restart();
      const reply = await world.chat({ messages: [user('two')] }, DESK);
      assert.is(reply.name, 'desk');
      assert.match(messagesTo(world.agent.asked.at(-1)), 're one');
      assert.is(sessionsMade(world).length, 0);
    }),
  );

  check('knows conversations by their words', () =>
    withBridge({ scripts: [polite] }, async (before) => {
      const first = await before.chat({ messages: [user('one')] });
      const world = await before.restart();
      const messages = [user('one'), assistant('re one'), user('two')];
      assert.is((await world.chat({ messages })).name, first.name);
      const again = await world.restart();
      const more = [...messages, assistant('re two'), user('three')];
      assert.is((await again.chat({ messages: more })).name, first.name);
      assert.is(sessionsMade(world).length + sessionsMade(again).length, 0);
    }),
  );

  check('still keeps equal ones apart', () =>
    withBridge({ scripts: [polite] }, async (before) => {
      const names = [await before.chat({ messages: [user('hi')] }), await before.chat({ messages: [user('hi')] })];
      const world = await before.restart();
      const third = await world.chat({ messages: [user('hi'), assistant('re hi'), user('mine')] });
      assert.not.ok(names.some(({ name }) => name === third.name));
    }),
  );

  check('goes on from a response, and shows it again', () =>
    withBridge({ scripts: [polite] }, async (before) => {
      const first = await respond(before, { input: 'one' });
      const world = await before.restart();
      const shown = await world.send(`/v1/responses/${first.id}`);
      assert.match(await shown.text(), 're one');
      const second = await respond(world, { input: 'two', previous_response_id: first.id });
      assert.is(second.status, 200);
      assert.match(messagesTo(world.agent.asked.at(-1)), 're one');
      const again = await world.restart();
      const fork = await respond(again, { input: 'else', previous_response_id: first.id });
      assert.is(fork.status, 200);
      assert.not.match(messagesTo(world.agent.asked.at(-1)), 'two');
    }),
  );

  check('sends listeners an event that says that it stops', async () => {
    const model = dictated();
    const clock = createFakeClock();
    await withBridge({ scripts: [model.script], clock }, async (world) => {
      const stream = await openStream(world, { messages: [user('hi')] });
      const waiting = world.send('/v1/chat/completions', { messages: [user('hi')] }, DESK);
      model.addReply('so far ');
      await stream.until('so far');
      const stopped = world.bridge.stop();
      await clock.advance(7500);
      assert.is(await stream.rest(), 'so far ');
      assert.match(stream.data.at(-1) ?? '', '"unavailable"');
      const refused = await waiting;
      assert.is(refused.status, 503);
      assert.match(await refused.text(), '"unavailable"');
      await clock.advance(2000);
      await stopped;
      await until(() => aborts(world).length === 2);
    });
  });
});

/** An answer that is under way, of which the beginning has come. */
const withPartialAnswer = (
  body: (half: { readonly model: Dictated; readonly world: BridgeWorld; readonly stream: LiveStream }) => Promise<void>,
): Promise<void> => {
  const model = dictated();
  return withBridge({ scripts: [model.script] }, async (world) => {
    const stream = await openStream(world, { messages: [user('tell me')] }, { headers: DESK });
    model.addReply('The beginning ');
    await stream.until('The beginning ');
    await body({ model, world, stream });
  });
};

describe('an agent that goes away in the middle of an answer', (check) => {
  check('and comes back ends it with an error that says so, and answers the next request', () =>
    withPartialAnswer(async ({ world, stream }) => {
      world.killAgent();
      const agent = await world.startAgent({ scripts: [polite] });
      assert.is(await stream.rest(), 'The beginning ');
      assert.match(stream.data.at(-1) ?? '', '"code":"agent_interrupted"');
      const reply = await world.chat({ messages: [user('and now')] }, DESK);
      assert.is(reply.text, 're and now');
      assert.match(messagesTo(agent.asked.at(-1)), 'tell me');
    }),
  );

  check('refuses further requests until it is back', () =>
    withPartialAnswer(async ({ world, stream }) => {
      world.killAgent();
      const body = { messages: [user('hello?')] };
      const refused = await world.send('/v1/chat/completions', body, { 'x-session-id': 'other' });
      assert.is(refused.status, 502);
      assert.match(await refused.text(), '"agent_unreachable"');
      await world.startAgent({ scripts: [polite] });
      await stream.rest();
      await until(() => world.readings().isAgentConnected);
      assert.is((await world.chat(body)).text, 're hello?');
    }),
  );

  check('asks a client that waits for the whole answer not to retry', async () => {
    const model = dictated();
    await withBridge({ scripts: [model.script] }, async (world) => {
      const answered = world.send('/v1/chat/completions', { messages: [user('tell me')] });
      await model.begun;
      world.killAgent();
      await world.startAgent({ scripts: [polite] });
      const response = await answered;
      assert.is(response.status, 502);
      assert.is(response.headers.get('x-should-retry'), 'false');
      assert.match(await response.text(), '"agent_interrupted"');
    });
  });

  check('and only breaks off the connection is followed to its end', () =>
    withPartialAnswer(async ({ model, world, stream }) => {
      world.breakOff();
      model.addReply('and the end');
      model.end();
      assert.is(await stream.rest(), 'The beginning and the end');
      assert.is(stream.data.at(-1), '[DONE]');
      assert.is(world.agent.asked.length, 1);
    }),
  );

  check('and has lost the session gets the history in a new one', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const first = await world.chat({ messages: [user('one')] });
      const [{ id } = { id: '' }] = await world.agent.store.sessions({});
      await world.agent.call('DELETE', `/session/${id}`);
      const reply = await world.chat({ messages: [user('one'), assistant(first.text), user('two')] });
      assert.is(reply.text, 're two');
      assert.match(messagesTo(world.agent.asked.at(-1)), 're one');
    }),
  );
});

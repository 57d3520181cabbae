import * as assert from 'uvu/assert';
import { calling, replying } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { messagesTo } from '../../harness/model-scripts.ts';
import { chatWith, QUESTION, resultsOf, TOOLS } from '../../harness/tools-world.ts';
import { quietTime, sessionsMade, user, withBridge } from '../../harness/world.ts';
import { callsTo, given, resultsTo, usual, weather } from './world.ts';

describe('functions of a client in a chat', (check) => {
  check('are refused with a result that belongs to no call, and count when they come without it', () =>
    withBridge(usual, async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const stray = { role: 'tool', tool_call_id: 'call_of_nobody', content: 'a stray result' };
      const refused = await chatWith(world, [...resultsOf(asked.calls), stray], { tools: TOOLS }, headers);
      assert.equal([refused.status, refused.error?.code], [400, 'invalid_value']);
      assert.is(world.agent.asked.length, 1);
      const answer = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.is(answer.message.content, 'It rains.');
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: weather is fine']);
    }),
  );

  check('count once: of two results for a call the first', () =>
    withBridge(given(calling(weather), replying('It rains.'), replying('Never.')), async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const first = await chatWith(
        world,
        resultsOf(asked.calls, () => 'rain'),
        {},
        headers,
      );
      const second = await chatWith(
        world,
        resultsOf(asked.calls, () => 'sun'),
        {},
        headers,
      );
      assert.equal([first.message.content, second.message.content], ['It rains.', 'It rains.']);
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: rain']);
      assert.is(world.agent.asked.length, 2);
    }),
  );

  check('may be followed by words of the user, which are a prompt', () =>
    withBridge(given(calling(weather), replying('Bye.'), replying('Again.')), async (world) => {
      const asked = await chatWith(world, QUESTION);
      const messages = [...QUESTION, asked.message, ...resultsOf(asked.calls), user('Never mind')];
      const answer = await chatWith(world, messages);
      assert.is(answer.message.content, 'Bye.');
      assert.match(messagesTo(world.agent.asked[1]), 'weather is fine');
      assert.match(messagesTo(world.agent.asked[1]), 'Never mind');
      await chatWith(world, [...messages, answer.message, user('Still there?')]);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('reach a new session with the whole history where no session waits for their results', () =>
    withBridge(given(replying('It rains.')), async (world) => {
      const call = { id: 'call_of_another', type: 'function', function: { name: 'weather', arguments: '{}' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const answer = await chatWith(world, [...QUESTION, message, ...resultsOf([call])]);
      assert.is(answer.message.content, 'It rains.');
      const [request] = world.agent.asked;
      assert.equal(callsTo(request), [{ id: 'call_of_another', name: 'weather' }]);
      assert.equal(resultsTo(request), ['weather: weather is fine']);
    }),
  );

  check('are found by the name of a conversation, with the results alone', () =>
    withBridge(usual, async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      const answer = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.is(answer.message.content, 'It rains.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );
});

describe('a call without its result', (check) => {
  check('ends with its time, and a result that comes later is still its result', () => {
    const short = { clientToolTimeoutMs: 20 };
    return withBridge({ ...usual, changes: short }, async (world) => {
      const asked = await chatWith(world, QUESTION);
      await quietTime(40);
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.is(answer.message.content, 'It rains.');
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: weather is fine']);
      assert.is(sessionsMade(world).length, 1);
    });
  });

  check('ends with the next words of the user, and a result that comes later is refused', () =>
    withBridge(given(calling(weather), replying('As you like.'), replying('Rain, I see.')), async (world) => {
      const headers = { 'x-session-id': 'chat-1' };
      const asked = await chatWith(world, QUESTION, { tools: TOOLS }, headers);
      await chatWith(world, [user('Never mind')], { tools: TOOLS }, headers);
      assert.match(messagesTo(world.agent.asked[1]), 'Never mind');
      const late = await chatWith(world, resultsOf(asked.calls), { tools: TOOLS }, headers);
      assert.equal([late.status, late.error?.code], [400, 'invalid_value']);
      assert.is(world.agent.asked.length, 2);
      const next = await chatWith(world, [user('It rained.')], { tools: TOOLS }, headers);
      assert.is(next.message.content, 'Rain, I see.');
    }),
  );
});

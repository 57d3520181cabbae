import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering, messagesTo } from '../harness/model-scripts.ts';
import { assistant, joinedIn, sessionsMade, system, user, withBridge } from '../harness/world.ts';

const WORLD = { scripts: [answering((_words, { messages }) => `${messages.length} told`)] };

describe('a request that does not end with words of the user', (check) => {
  check('is answered where it has instructions alone', () =>
    withBridge(WORLD, async (world) => {
      await world.chat({ messages: [system('Write a haiku.')] });
      const [asked] = world.agent.asked;
      assert.match(messagesTo(asked), 'Write a haiku.');
      assert.is(asked?.system.includes('haiku'), false);
      const input = [{ role: 'developer', content: 'Write a limerick.' }];
      assert.is((await world.send('/v1/responses', { input, instructions: 'Be brief.' })).status, 200);
      assert.match(messagesTo(world.agent.asked.at(-1)), 'limerick');
      assert.match(world.agent.asked.at(-1)?.system ?? '', 'Be brief.');
    }),
  );

  check('has the model continue the answer that it begins, and goes on with the whole of it', () =>
    withBridge(WORLD, async (world) => {
      const messages = [user('Tell a tale.'), assistant('Once upon')];
      assert.is((await world.chat({ messages })).text, '1 told');
      assert.match(messagesTo(world.agent.asked[0]), 'Tell a tale.');
      assert.match(world.agent.asked[0]?.system ?? '', /Write what comes right after.*Once upon/s);
      await world.chat({ messages: [user('Tell a tale.'), assistant('Once upon 1 told'), user('And then?')] });
      const [, next] = world.agent.asked;
      assert.match(messagesTo(next), 'Once upon 1 told');
      assert.match(messagesTo(next), 'And then?');
      assert.is(next?.system.includes('Write what comes right after'), false);
      assert.not.match(messagesTo(next), 'Write what comes right after');
    }),
  );

  check('is answered without its beginning by a model that repeats that', () => {
    const beginning = 'Once upon a time, there';
    return withBridge({ scripts: [answering(() => `${beginning} was a king.`)] }, async (world) => {
      const messages = [user('Tell a tale.'), assistant(beginning)];
      assert.is((await world.chat({ messages })).text, ' was a king.');
      assert.is(joinedIn(await world.chunks({ messages })), ' was a king.');
    });
  });

  check('is answered with a whole value, where it asks for one, by a model that repeats the beginning', () => {
    const value = '{"city":"Oslo","degrees":-3}';
    return withBridge({ scripts: Array(2).fill(answering(() => value)) }, async (world) => {
      const messages = [user('How cold is it in Oslo?'), assistant('{"city":"Oslo","degrees":')];
      const response_format = { type: 'json_object' };
      assert.is((await world.chat({ messages, response_format })).text, value);
      assert.is(joinedIn(await world.chunks({ messages, response_format })), value);
    });
  });

  check('is answered anew when the beginning is empty', () =>
    withBridge(WORLD, async (world) => {
      await world.chat({ messages: [user('Tell a tale.'), assistant('')] });
      const [asked] = world.agent.asked;
      assert.is(asked?.system.includes('Write what comes right after'), false);
      assert.not.match(messagesTo(asked), 'Write what comes right after');
    }),
  );

  check('has the model go on, where it names what it goes on with and nothing else', () =>
    withBridge({ scripts: [answering((words) => `re ${words}`)] }, async (world) => {
      const first = JSON.parse(await (await world.send('/v1/responses', { input: 'Tell a tale.' })).text());
      const next = await world.send('/v1/responses', { previous_response_id: first.id });
      const { id, output } = JSON.parse(await next.text());
      assert.equal([next.status, output[0].content[0].text], [200, 're Continue.']);
      assert.is(sessionsMade(world).length, 1);
      const { data } = JSON.parse(await (await world.send(`/v1/responses/${id}/input_items`)).text());
      assert.is(data[0].content[0].text, 'Continue.');
    }),
  );
});

describe('a chat of the assistant alone', (check) => {
  check('is refused with what is missing', () =>
    withBridge({}, async (world) => {
      const response = await world.send('/v1/chat/completions', {
        messages: [{ role: 'assistant', content: 'Hello' }],
      });
      assert.match(await response.text(), 'Expected a message to answer');
    }),
  );
});

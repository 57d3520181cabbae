import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, byPrompt, dictated, lastTextTo, messagesTo } from '../harness/model-scripts.ts';
import { aborts, assistant, begins, quietTime, sessionsMade, until, user, withBridge } from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const WORDS = ['one', 'two', 'three', 'four', 'five'];
const DESK = { 'x-session-id': 'desk' };

describe('requests for one conversation that come at once', (check) => {
  check('are answered in their order, each with its own answer, when they name it', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      await world.chat({ messages: [user('zero')] }, DESK);
      const replies = await Promise.all(WORDS.map((words) => world.chat({ messages: [user(words)] }, DESK)));
      assert.equal(
        replies.map(({ text, name }) => [text, name]),
        WORDS.map((words) => [`re ${words}`, 'desk']),
      );
      assert.equal(world.agent.asked.map(lastTextTo), ['zero', ...WORDS]);
      assert.match(messagesTo(world.agent.asked.at(-1)), 're four');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('are answered in their order as streams, too, and by the responses endpoint', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const streams = WORDS.map(async (words, index) => {
        const path = index % 2 === 0 ? '/v1/responses' : '/v1/chat/completions';
        const body = { messages: [user(words)], input: words, conversation: 'desk', session_id: 'desk' };
        return (await openStream(world, body, { path })).rest();
      });
      assert.equal(
        await Promise.all(streams),
        WORDS.map((words) => `re ${words}`),
      );
      assert.equal(world.agent.asked.map(lastTextTo), WORDS);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('never run at the same time', async () => {
    const model = dictated();
    await withBridge({ scripts: [byPrompt({ slow: model.script }, polite)] }, async (world) => {
      const slow = await openStream(world, { messages: [user('slow')] }, { headers: DESK });
      await model.begun;
      const next = openStream(world, { messages: [user('next')] }, { headers: DESK });
      // It is opened before its turn has come, and has nothing to say until then.
      const stream = await next;
      assert.is(stream.response.headers.get('x-session-id'), 'desk');
      await quietTime(50);
      assert.is(world.agent.asked.length, 1);
      model.addReply('done');
      model.end();
      assert.is(await slow.rest(), 'done');
      assert.is(await stream.rest(), 're next');
      assert.match(messagesTo(world.agent.asked.at(-1)), 'done');
    });
  });

  check('do not wait for each other where one brings a history of its own', async () => {
    const model = dictated();
    await withBridge({ scripts: [byPrompt({ slow: model.script }, polite)] }, async (world) => {
      const slow = world.chat({ messages: [user('slow')] }, DESK);
      await model.begun;
      const elsewhere = [user('from elsewhere'), assistant('I see'), user('next')];
      const other = await world.chat({ messages: elsewhere }, DESK);
      assert.is(other.text, 're next');
      assert.is(other.name, 'desk');
      assert.not.match(messagesTo(world.agent.asked.at(-1)), 'slow');
      model.addReply('done');
      model.end();
      assert.is((await slow).name, 'desk');
      const on = await world.chat({ messages: [user('slow'), assistant('done'), user('more')] }, DESK);
      assert.is(on.name, 'desk');
      assert.not.match(messagesTo(world.agent.asked.at(-1)), 'from elsewhere');
    });
  });

  check('go on in sessions of their own when only their words lead to it', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const first = await world.chat({ messages: [user('zero')] });
      const history = [user('zero'), assistant('re zero')];
      const replies = await Promise.all(WORDS.map((words) => world.chat({ messages: [...history, user(words)] })));
      assert.equal(
        replies.map(({ text }) => text),
        WORDS.map((words) => `re ${words}`),
      );
      assert.is(new Set(replies.map(({ name }) => name)).size, 5);
      assert.is(replies.filter(({ name }) => name === first.name).length, 1);
      for (const request of world.agent.asked.slice(1)) {
        const reported = messagesTo(request);
        assert.match(reported, 're zero');
        assert.is(WORDS.filter((words) => reported.includes(`"${words}"`)).length, 1, reported);
      }
    }),
  );

  check('go on in sessions of their own when they follow one response', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const respond = async (body: unknown) => {
        const response = await world.send('/v1/responses', body);
        const { id, output } = (await response.json()) as { id: string; output: { content: { text: string }[] }[] };
        return { id, text: output[0]?.content[0]?.text };
      };
      const { id } = await respond({ input: 'zero' });
      const replies = await Promise.all(WORDS.map((input) => respond({ input, previous_response_id: id })));
      assert.equal(
        replies.map(({ text }) => text),
        WORDS.map((words) => `re ${words}`),
      );
      for (const request of world.agent.asked.slice(1)) {
        assert.match(messagesTo(request), 're zero');
        assert.is(WORDS.filter((words) => messagesTo(request).includes(`"${words}"`)).length, 1);
      }
      const [third] = replies.slice(2);
      await respond({ input: 'on', previous_response_id: third?.id });
      assert.match(messagesTo(world.agent.asked.at(-1)), 're three');
      assert.not.match(messagesTo(world.agent.asked.at(-1)), 're four');
    }),
  );

  check('wait in a line that is not endless', async () => {
    const model = dictated();
    await withBridge({ scripts: [byPrompt({ slow: model.script }, polite)] }, async (world) => {
      const slow = world.chat({ messages: [user('slow')] }, DESK);
      await model.begun;
      const waiting = Array.from({ length: 16 }, (_, index) => world.chat({ messages: [user(`w${index}`)] }, DESK));
      // All have been sent, so that one more is the last in the line.
      await until(() => begins(world).length === 17);
      const refused = await world.send('/v1/chat/completions', { messages: [user('one more')] }, DESK);
      assert.is(refused.status, 503);
      assert.ok(Number(refused.headers.get('retry-after')) >= 1);
      assert.match(await refused.text(), '"overloaded"');
      model.end();
      await slow;
      assert.equal(
        (await Promise.all(waiting)).map(({ text }) => text),
        waiting.map((_, index) => `re w${index}`),
      );
      assert.equal(aborts(world), []);
    });
  });

  check('are no more than the bridge answers at a time', async () => {
    const model = dictated();
    await withBridge({ settings: { answersAtATime: 1 }, scripts: [model.script, polite] }, async (world) => {
      const slow = world.chat({ messages: [user('slow')] });
      await model.begun;
      const refused = await world.send('/v1/chat/completions', { messages: [user('more')] });
      assert.is(refused.status, 503);
      assert.match(await refused.text(), '"overloaded"');
      model.end();
      await slow;
      assert.is((await world.chat({ messages: [user('again')] })).text, 're again');
    });
  });
});

import * as assert from 'uvu/assert';
import { calling, outcome, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import type { FeedFaults } from '../harness/agent-link.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, dictated, messagesTo } from '../harness/model-scripts.ts';
import { assistant, callsTo, prompts, quietTime, until, user, withBridge } from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const WORDS = 'One 👩🏽‍💻 two three four five six seven eight nine ten. ';
const ENDS_WELL = /"finish_reason":"stop"/;

const FEEDS: readonly (readonly [string, FeedFaults])[] = [
  ['that tells what was missed', {}],
  ['that does not tell what was missed', { hasNoIDs: true }],
  ['that is late', { lateMs: 60 }],
];

describe('an answer', (check) => {
  for (const [kind, feed] of FEEDS) {
    check(`is sent once and whole when an event stream ${kind} is cut in the middle of it`, async () => {
      const model = dictated();
      await withBridge({ feed, scripts: [model.script] }, async (world) => {
        const stream = await openStream(world, { messages: [user('go')] });
        model.addReply(`1 ${WORDS}`);
        await stream.until('ten');
        const mend = world.cutFeed();
        model.addReply(`2 ${WORDS}`);
        await quietTime(50);
        mend();
        await until(() => world.readings().isAgentConnected);
        model.addReply(`3 ${WORDS}`);
        // Without ids nobody knows what is missing before it, so it is told with the end of its text.
        if (feed.hasNoIDs !== true) await stream.until('3 One');
        world.cutFeed()();
        model.addReply(`4 ${WORDS}`);
        model.end();
        assert.is(await stream.rest(), [1, 2, 3, 4].map((number) => `${number} ${WORDS}`).join(''));
        assert.is(stream.data.at(-1), '[DONE]');
      });
    });

    check(`is whole with its steps when an event stream ${kind} is cut again and again`, async () => {
      const model = dictated();
      const tools = [toolNamed('look', async () => outcome('seen'))];
      const scripts = [
        calling({ name: 'look', input: {} }),
        calling({ name: 'look', input: { again: 1 } }),
        model.script,
      ];
      await withBridge({ feed, tools, scripts }, async (world) => {
        const answered = openStream(world, { messages: [user('go')], stream_options: { include_usage: true } });
        await until(() => world.readings().isAgentConnected);
        const cutting = setInterval(() => world.cutFeed()(), 130);
        for (let count = 0; count < 8; count++) {
          model.addReply(`${count} ${WORDS}`);
          await quietTime(60);
        }
        model.end();
        const stream = await answered;
        const text = await stream.rest();
        clearInterval(cutting);
        assert.is(text, Array.from({ length: 8 }, (_, count) => `${count} ${WORDS}`).join(''));
        assert.match(stream.data.at(-2) ?? '', '"total_tokens":45');
      });
    });

    check(`is not sent again in the next one when an event stream ${kind} lags behind`, () =>
      withBridge({ feed, scripts: [polite] }, async (world) => {
        await until(() => world.readings().isAgentConnected);
        const release = world.holdFeed();
        const first = await openStream(world, { messages: [user('one')] });
        assert.is(await first.rest(), 're one');
        const messages = [user('one'), assistant('re one'), user('two')];
        const second = openStream(world, { messages });
        await until(() => prompts(world).length === 2);
        release();
        assert.is(await (await second).rest(), 're two');
        assert.match(messagesTo(world.agent.asked.at(-1)), 're one');
      }),
    );
  }

  check('is sent in order, though what was missed is read after what came later', async () => {
    const model = dictated();
    await withBridge({ feed: { hasNoIDs: true }, scripts: [model.script] }, async (world) => {
      const stream = await openStream(world, { messages: [user('go')] });
      model.addReply('One ');
      await stream.until('One ');
      const mend = world.cutFeed();
      model.addReply('two ');
      await quietTime(50);
      const release = world.hold(({ method, path }) => method === 'GET' && path.endsWith('/message'));
      mend();
      await until(() => world.readings().isAgentConnected);
      model.addReply('three ');
      await quietTime(60);
      release();
      model.addReply('four');
      model.end();
      assert.is(await stream.rest(), 'One two three four');
    });
  });

  check('is one of many that read the open permission requests together after a loss', async () => {
    const model = dictated();
    await withBridge({ feed: { hasNoIDs: true }, scripts: [model.script] }, async (world) => {
      const answers = Array.from({ length: 20 }, (_, index) => openStream(world, { messages: [user(`go ${index}`)] }));
      await until(() => prompts(world).length === 20);
      const lists = () => callsTo(world, 'GET', /^\/permission$/).length;
      assert.is(lists(), 0);
      for (let loss = 1; loss <= 2; loss++) {
        world.cutFeed()();
        await until(() => !world.readings().isAgentConnected);
        await until(() => world.readings().isAgentConnected);
        await quietTime(50);
        assert.is(lists(), loss);
      }
      model.addReply(WORDS);
      model.end();
      await Promise.all(answers);
    });
  });

  check('comes whole from the prompt alone when the event stream is gone', async () => {
    const model = dictated();
    await withBridge({ scripts: [model.script] }, async (world) => {
      const answered = openStream(world, { messages: [user('go')] });
      await model.begun;
      world.cutFeed();
      model.think('I wonder');
      model.addReply(WORDS);
      model.end();
      const stream = await answered;
      assert.is(await stream.rest(), WORDS);
      assert.match(stream.data.join(''), '"reasoning_content":"I wonder"');
      assert.match(stream.data.at(-2) ?? '', ENDS_WELL);
    });
  });

  check('waits for the event stream to come back before it begins', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      await world.chat({ messages: [user('one')] });
      const mend = world.cutFeed();
      await until(() => !world.readings().isAgentConnected);
      const answered = world.chat({ messages: [user('two')] });
      await quietTime(100);
      assert.is(prompts(world).length, 1);
      mend();
      assert.is((await answered).text, 're two');
    }),
  );

  check('whose question was asked while the event stream was gone still asks it', async () => {
    const scripts = [calling({ name: 'pay', input: { amount: 5 } }), polite];
    const rules = [{ permission: '*', pattern: '*', action: 'ask' as const }];
    await withBridge({ feed: { hasNoIDs: true }, tools: [toolNamed('pay')], rules, scripts }, async (world) => {
      const release = world.hold(({ path }) => path.endsWith('/message'));
      const answered = world.chat({ messages: [user('pay')] });
      await until(() => prompts(world).length === 1);
      const mend = world.cutFeed();
      release();
      await until(() => world.agent.asked.length === 1);
      await quietTime(30);
      mend();
      const { text } = await answered;
      assert.match(text, 'approve');
      assert.ok(callsTo(world, 'GET', /^\/permission$/).length > 0);
    });
  });
});

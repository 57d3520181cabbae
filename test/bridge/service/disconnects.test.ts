import * as assert from 'uvu/assert';
import { calling, outcome, toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { messagesTo } from '../harness/model-scripts.ts';
import { CHAT, calls, DESK, endsWith, polite, withStory } from '../harness/story-world.ts';
import { assistant, begins, prompts, quietTime, sessionsDeleted, sessionsMade, until, user } from '../harness/world.ts';

const PATHS = ['/v1/chat/completions', '/v1/responses'] as const;
const BODY = { ...CHAT, input: 'story' };

describe('a client that leaves', (check) => {
  for (const path of PATHS) {
    check(`in the middle of a stream of ${path} ends the run, once`, () =>
      withStory({}, async (world, model) => {
        const stream = await openStream(world, BODY, { path });
        model.addReply('Once upon ');
        await stream.until('Once');
        await stream.leave();
        await model.left;
        await endsWith(world, 1);
        assert.is(world.answers.at(-1)?.outcome, 'left');
      }),
    );

    check(`before the first word of a stream of ${path} ends the run, once`, () =>
      withStory({}, async (world, model) => {
        const stream = await openStream(world, BODY, { path });
        await model.begun;
        await stream.leave();
        await model.left;
        await endsWith(world, 1);
      }),
    );

    check(`while it waits for a whole answer of ${path} ends the run, once`, () =>
      withStory({}, async (world, model) => {
        const call = calls(world, path, BODY);
        await model.begun;
        call.leave();
        await model.left;
        assert.is((await call.answered).status, 499);
        await endsWith(world, 1);
      }),
    );
  }

  check('by closing its stream alone ends the run, too', () =>
    withStory({}, async (world, model) => {
      const response = await world.send('/v1/chat/completions', { ...CHAT, stream: true });
      await model.begun;
      await response.body?.cancel();
      await model.left;
      await endsWith(world, 1);
    }),
  );

  check('before its request is sent asks nothing of the agent, and leaves nothing behind', () =>
    withStory({}, async (world) => {
      const release = world.hold(({ path }) => path === '/gatehouse/turns');
      const call = calls(world, '/v1/chat/completions', { ...CHAT, stream: true });
      await until(() => begins(world).length === 1);
      call.leave();
      release();
      assert.is((await call.answered).status, 499);
      await endsWith(world, 0);
      assert.equal([prompts(world).length, sessionsMade(world).length], [0, 0]);
    }),
  );

  check('while its request is on its way ends what comes of it, once', () =>
    withStory({}, async (world) => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      world.replaceAgent(async (request) => {
        const response = await world.agent.server.handler(request);
        if (new URL(request.url).pathname === '/gatehouse/turns') await released;
        return response;
      });
      const call = calls(world, '/v1/chat/completions', CHAT, DESK);
      await until(() => prompts(world).length === 1);
      call.leave();
      await quietTime(20);
      release();
      // Whether the model was asked before or not.
      await endsWith(world, 1);
      assert.is((await world.chat({ messages: [user('and?')] }, DESK)).text, 're and?');
    }),
  );

  check('while it waits for its turn is not run, and disturbs no one', () =>
    withStory({}, async (world, model) => {
      const first = await openStream(world, CHAT, { headers: DESK });
      await model.begun;
      const whole = calls(world, '/v1/chat/completions', { messages: [user('second')] }, DESK);
      const stream = await openStream(world, { messages: [user('third')] }, { headers: DESK });
      const last = world.chat({ messages: [user('last')] }, DESK);
      await until(() => prompts(world).length === 4);
      whole.leave();
      await stream.leave();
      assert.is((await whole.answered).status, 499);
      const path = `/session/${sessionsMade(world)[0]}/message`;
      await until(
        async () => !/second|third/.test(JSON.stringify(await world.agent.get(path))),
        'what was left is gone',
      );
      model.addReply('The end');
      model.end();
      assert.is(await first.rest(), 'The end');
      assert.is((await last).text, 're last');
      await until(() => world.readings().answersRunning === 0);
      assert.is(world.agent.asked.length, 2);
      assert.not.match(messagesTo(world.agent.asked.at(-1)), /second|third/);
    }),
  );

  check('after the end ends nothing', () =>
    withStory({ scripts: [polite] }, async (world) => {
      const stream = await openStream(world, CHAT);
      await stream.rest();
      await stream.leave();
      const call = calls(world, '/v1/chat/completions', CHAT);
      await (await call.answered).text();
      call.leave();
      await endsWith(world, 0);
      assert.equal(
        world.answers.map(({ outcome: how }) => how),
        ['answered', 'answered'],
      );
    }),
  );

  check('during a call of a tool ends that, too', async () => {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const slow = toolNamed('wait', async (_input, { signal }) => {
      begun.resolve();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      ended.resolve();
      return outcome('too late');
    });
    await withStory({ tools: [slow], scripts: [calling({ name: 'wait', input: {} }), polite] }, async (world) => {
      const stream = await openStream(world, CHAT);
      await begun.promise;
      await stream.leave();
      await ended.promise;
      await endsWith(world, 1);
      assert.is(world.agent.asked.length, 1);
    });
  });

  check('and comes back at once with other words is answered these, and remembered what it saw', () =>
    withStory({}, async (world, model) => {
      const stream = await openStream(world, CHAT, { headers: DESK });
      model.addReply('Once upon a time there ');
      await stream.until('Once');
      await stream.leave();
      const messages = [...CHAT.messages, assistant('Once upon'), user('stop that')];
      assert.is((await world.chat({ messages }, DESK)).text, 're stop that');
      assert.match(messagesTo(world.agent.asked.at(-1)), 'Once upon');
      assert.is(sessionsDeleted(world).length, 0);
      await endsWith(world, 1);
    }),
  );

  check('and comes back with nothing but new words goes on in the same session', () =>
    withStory({}, async (world, model) => {
      const stream = await openStream(world, CHAT, { headers: DESK });
      model.addReply('Once upon a time there ');
      await stream.until('Once');
      await stream.leave();
      assert.is((await world.chat({ messages: [user('stop that')] }, DESK)).text, 're stop that');
      assert.match(messagesTo(world.agent.asked.at(-1)), 'Once upon a time');
      assert.is(sessionsMade(world).length, 1);
      await endsWith(world, 1);
    }),
  );
});

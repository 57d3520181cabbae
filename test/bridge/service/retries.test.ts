import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { ModelError } from '../../../src/agent/model/types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { failing } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { messagesTo } from '../harness/model-scripts.ts';
import { CHAT, calls, DESK, endsWith, polite, withStory } from '../harness/story-world.ts';
import {
  aborts,
  begins,
  dataIn,
  joinedIn,
  OTHER_KEY,
  prompts,
  quietTime,
  sessionsMade,
  until,
  user,
} from '../harness/world.ts';

const RETRY = { 'idempotency-key': 'one-and-the-same' };

describe('a run that waits for its client to come back', (check) => {
  const grace = { settings: { onDisconnect: { kind: 'grace', ms: 400 } as const } };

  check('is received from its start by a client that does, and goes on', () =>
    withStory(grace, async (world, model) => {
      const first = await openStream(world, CHAT, { headers: RETRY });
      model.addReply('Once upon ');
      await first.until('Once');
      await first.leave();
      await quietTime(50);
      const again = await openStream(world, CHAT, { headers: RETRY });
      await again.until('Once upon');
      await quietTime(450);
      model.addReply('a time');
      model.end();
      assert.is(await again.rest(), 'Once upon a time');
      assert.is(again.response.headers.get('x-session-id'), first.response.headers.get('x-session-id'));
      await endsWith(world, 0);
      assert.is(prompts(world).length, 1);
    }),
  );

  check('is ended when no one does', () =>
    withStory(grace, async (world, model) => {
      const stream = await openStream(world, CHAT, { headers: RETRY });
      await model.begun;
      await stream.leave();
      await quietTime(250);
      assert.equal(aborts(world), []);
      await model.left;
      await endsWith(world, 1);
    }),
  );

  check('is not ended when it comes to its end by itself', () =>
    withStory(grace, async (world, model) => {
      const stream = await openStream(world, CHAT);
      await model.begun;
      await stream.leave();
      model.addReply('done');
      model.end();
      await quietTime(450);
      await endsWith(world, 0);
    }),
  );
});

describe('a run that does not need its client', (check) => {
  check('ends by itself, and its conversation goes on', () =>
    withStory({ settings: { onDisconnect: { kind: 'detach' } } }, async (world, model) => {
      const stream = await openStream(world, CHAT, { headers: DESK });
      model.addReply('Once ');
      await stream.until('Once');
      await stream.leave();
      const next = world.chat({ messages: [user('how did it end?')] }, DESK);
      await quietTime(50);
      model.addReply('upon a time');
      model.end();
      assert.is((await next).text, 're how did it end?');
      assert.match(messagesTo(world.agent.asked.at(-1)), 'Once upon a time');
      await endsWith(world, 0);
      assert.is(sessionsMade(world).length, 1);
    }),
  );
});

describe('a request that is sent again', (check) => {
  check('gets the same answer, with no second run, also after its end', () =>
    withStory({ scripts: [polite] }, async (world) => {
      const first = await world.chat(CHAT, RETRY);
      const again = await world.chat(CHAT, RETRY);
      assert.equal([again.text, again.name], [first.text, first.name]);
      assert.is(prompts(world).length, 1);
      const reused = await world.send('/v1/chat/completions', { messages: [user('other')] }, RETRY);
      assert.is(reused.status, 400);
      assert.match(await reused.text(), '"idempotency_key_reused"');
    }),
  );

  check('is answered under the same id and time', async () => {
    let passedMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + passedMs };
    await withStory({ scripts: [polite], clock }, async (world) => {
      const chat = async () => (await world.chat(CHAT, RETRY)).json;
      const streamed = { 'idempotency-key': 'streamed' };
      const chunk = async () =>
        JSON.parse((await world.chunks(CHAT, streamed))[0] ?? '') as Awaited<ReturnType<typeof chat>>;
      const respond = async () => {
        const response = await world.send('/v1/responses', { input: 'story' }, { 'idempotency-key': 'response' });
        const { id, created_at } = (await response.json()) as { readonly id: string; readonly created_at: number };
        return { id, created: created_at };
      };
      for (const ask of [chat, chunk, respond]) {
        const first = await ask();
        passedMs += 5000;
        const again = await ask();
        assert.equal([again.id, again.created], [first.id, first.created]);
      }
    });
  });

  check('after nothing had come of it is answered anew', () =>
    withStory({ scripts: [polite] }, async (world) => {
      world.killAgent();
      const refused = await world.send('/v1/chat/completions', CHAT, RETRY);
      assert.is(refused.status, 502);
      assert.is(refused.headers.get('x-should-retry'), null);
      await refused.text();
      await world.startAgent();
      assert.is((await world.chat(CHAT, RETRY)).text, 're story');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('while the first is not begun yet, whose sender then leaves, is begun by the second', () =>
    withStory({ scripts: [polite] }, async (world) => {
      const release = world.hold(({ path }) => path === '/gatehouse/turns');
      const first = calls(world, '/v1/chat/completions', CHAT, RETRY);
      await until(() => begins(world).length === 1);
      const second = world.chat(CHAT, RETRY);
      first.leave();
      assert.is((await first.answered).status, 499);
      release();
      assert.is((await second).text, 're story');
      assert.is(prompts(world).length, 1);
      await endsWith(world, 0);
    }),
  );

  check('with the key of another client is another one', () =>
    withStory({ scripts: [polite] }, async (world) => {
      await world.chat(CHAT, RETRY);
      await world.chat(CHAT, { ...RETRY, authorization: `Bearer ${OTHER_KEY}` });
      assert.is(prompts(world).length, 2);
    }),
  );

  check('and received by two is ended when both have left', () =>
    withStory({}, async (world, model) => {
      const one = await openStream(world, CHAT, { headers: RETRY });
      const two = await openStream(world, CHAT, { headers: RETRY });
      model.addReply('Once upon ');
      await one.until('Once');
      await two.until('Once');
      await one.leave();
      model.addReply('a time ');
      await two.until('a time');
      assert.equal(aborts(world), []);
      await two.leave();
      await model.left;
      await endsWith(world, 1);
    }),
  );

  for (const again of [RETRY, { 'x-stainless-retry-count': '1' }])
    check(`while the agent takes seconds to accept the first is run once: ${Object.keys(again)}`, () => {
      let aheadMs = 0;
      const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
      return withStory({ scripts: [polite], clock }, async (world) => {
        const release = world.hold(({ path }) => path.endsWith('/message'));
        const first = world.chat(CHAT, 'idempotency-key' in again ? again : {});
        await until(() => prompts(world).length === 1);
        aheadMs = 4000;
        const second = world.chat(CHAT, again);
        await quietTime(50);
        release();
        assert.is((await first).json.id, (await second).json.id);
        assert.is(prompts(world).length, 1);
      });
    });

  check('twice at one moment is run once', () =>
    withStory({ scripts: [polite] }, async (world) => {
      const [one, two] = await Promise.all([world.chat(CHAT, RETRY), world.chat(CHAT, RETRY)]);
      assert.equal([one.text, one.name], [two.text, two.name]);
      assert.is(prompts(world).length, 1);
    }),
  );

  check('several times at one moment in a conversation with a name is run once', () =>
    withStory({ scripts: [polite] }, async (world) => {
      for (const round of [1, 2, 3]) {
        const send = () =>
          world.chat({ messages: [user(`story ${round}`)] }, { ...DESK, 'idempotency-key': `key-${round}` });
        const replies = await Promise.all([send(), send(), send(), send()]);
        assert.is(new Set(replies.map(({ json }) => json.id)).size, 1);
        assert.is(prompts(world).length, round);
      }
    }),
  );

  check('at once after a failure, by a client that does not say so, is given the failure', () =>
    withStory(
      { scripts: [failing(new ModelError('api', 'It failed', { statusCode: 400 })), polite] },
      async (world) => {
        for (const _ of [1, 2, 3]) {
          const failed = await world.send('/v1/chat/completions', CHAT);
          assert.is(failed.status, 502);
          assert.is(failed.headers.get('x-should-retry'), 'false');
          assert.match(await failed.text(), '"model_');
        }
        assert.is(prompts(world).length, 1);
        assert.is((await world.chat({ messages: [user('another story')] })).text, 're another story');
      },
    ),
  );

  check('after its sender has disconnected and ended it is run anew, and does not get half an answer', () =>
    withStory({}, async (world, model) => {
      const first = await openStream(world, CHAT);
      model.addReply('Once upon ');
      await first.until('Once');
      await first.leave();
      await model.left;
      await endsWith(world, 1);
      const again = world.chat(CHAT, { 'x-stainless-retry-count': '1' });
      await until(() => prompts(world).length === 2);
      model.addReply('Another ');
      model.addReply('time');
      model.end();
      assert.is((await again).text, 'Another time');
    }),
  );

  check('in the same words from another chat is another one, also with a verdict or after a failure', () =>
    withStory(
      { scripts: [failing(new ModelError('api', 'It failed', { statusCode: 400 })), polite] },
      async (world) => {
        const failed = await world.send('/v1/chat/completions', CHAT, { 'x-session-id': 'alice' });
        assert.is(failed.status, 502);
        await failed.text();
        const bob = await world.chat(CHAT, { 'x-session-id': 'bob' });
        assert.equal([bob.text, bob.name], ['re story', 'bob']);
        const again = await world.chat(CHAT, { 'x-session-id': 'carol', 'x-stainless-retry-count': '1' });
        assert.equal([again.name, prompts(world).length], ['carol', 3]);
        const verdict = { 'x-session-id': 'carol', 'x-stainless-retry-count': '1', 'x-approval': 'approve per_abc123' };
        assert.match((await world.chat(CHAT, verdict)).text, 'There is no open permission request');
      },
    ),
  );

  check('and joined in the queue is answered although the first has left it', () =>
    withStory({}, async (world, model) => {
      const busy = await openStream(world, CHAT, { headers: DESK });
      await model.begun;
      const next = { messages: [user('and then?')] };
      const first = calls(world, '/v1/chat/completions', { ...next, stream: true }, { ...DESK, ...RETRY });
      await quietTime(450);
      const second = world.send('/v1/chat/completions', { ...next, stream: true }, { ...DESK, ...RETRY });
      await quietTime(50);
      first.leave();
      await (await first.answered).body?.cancel();
      model.addReply('Once');
      model.end();
      await busy.rest();
      assert.is(joinedIn(dataIn(await (await second).text())), 're and then?');
      assert.is(prompts(world).length, 2);
    }),
  );
});

import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { calls, withStory } from '../harness/story-world.ts';
import { aborts, prompts, quietTime, until, user } from '../harness/world.ts';

const PATH = '/v1/chat/completions';
/** Larger than what is not counted. */
const BODY = { messages: [{ role: 'system', content: 'the sea '.repeat(2000) }, user('story')] };
const BYTES = JSON.stringify(BODY).length;
const MARKED = { 'x-stainless-retry-count': '1' };
const detached = { settings: { onDisconnect: { kind: 'detach' } as const } };

describe('a request whose client has left', (check) => {
  check('takes its bytes and its place until its answer has ended, as its turn holds the prompt', () =>
    withStory(detached, async (world, model) => {
      const call = calls(world, PATH, BODY);
      await model.begun;
      call.leave();
      assert.is((await call.answered).status, 499);
      await quietTime(30);
      const { answersRunning, bytesInFlight } = world.readings();
      assert.equal([answersRunning, bytesInFlight], [1, BYTES]);
      model.end();
      await until(() => world.readings().bytesInFlight === 0);
      assert.is(world.readings().answersRunning, 0);
    }),
  );

  check('gives them back when its turn was aborted', () =>
    withStory({ settings: { onDisconnect: { kind: 'grace', ms: 200 } } }, async (world, model) => {
      const call = calls(world, PATH, BODY);
      await model.begun;
      call.leave();
      await call.answered;
      assert.is(world.readings().bytesInFlight, BYTES);
      await until(() => world.readings().bytesInFlight === 0);
      assert.equal([world.readings().answersRunning, aborts(world).length], [0, 1]);
    }),
  );

  check('gives them back when it never reached the agent', () =>
    withStory(detached, async (world) => {
      const release = world.hold(({ path, method }) => method === 'POST' && path === '/session');
      const call = calls(world, PATH, BODY);
      await quietTime(30);
      call.leave();
      await call.answered;
      release();
      await until(() => world.readings().bytesInFlight === 0);
      assert.equal([world.readings().answersRunning, prompts(world).length], [0, 0]);
    }),
  );
});

describe('a request that joins an answer', (check) => {
  check('needs no place, and gives its bytes back as soon as its own client has left', () =>
    withStory({ settings: { ...detached.settings, answersAtATime: 1 } }, async (world, model) => {
      const first = calls(world, PATH, BODY);
      await model.begun;
      first.leave();
      await first.answered;
      const again = calls(world, PATH, BODY, MARKED);
      await until(() => world.readings().bytesInFlight === 2 * BYTES);
      assert.is((await world.send(PATH, { messages: [user('else')] })).status, 503);
      again.leave();
      await again.answered;
      assert.is(world.readings().bytesInFlight, BYTES);
      const last = calls(world, PATH, BODY, MARKED);
      model.end();
      assert.is((await last.answered).status, 200);
      await until(() => world.readings().bytesInFlight === 0);
      assert.equal([world.readings().answersRunning, prompts(world).length], [0, 1]);
    }),
  );
});

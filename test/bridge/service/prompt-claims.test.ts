import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering } from '../harness/model-scripts.ts';
import {
  type BridgeWorld,
  callsTo,
  createBridgeWorld,
  prompts,
  quietTime,
  sessionsMade,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const DESK = { 'x-session-id': 'desk' };
const says = async (world: BridgeWorld, words: string) => (await world.chat({ messages: [user(words)] }, DESK)).text;
const written = (world: BridgeWorld) =>
  callsTo(world, 'PATCH', /./).filter(({ endedAt }) => endedAt !== undefined).length;

/** A conversation with an answer, at a bridge that knows what its agent can do. */
const withDesk = (body: (world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: [polite], bridges: 1 }, async (world) => {
    await says(world, 'one');
    await says(world, 'two');
    await until(() => callsTo(world, 'GET', /health$/).length > 0, 'the features');
    await until(() => written(world) === 4, 'what the client has had');
    // The bridge has the answer to it a moment later.
    await quietTime(5);
    await body(world);
  });

describe('a prompt that continues a conversation', (check) => {
  check('brings the claim with it: nothing is written before it, and no read is made', () =>
    withDesk(async (world) => {
      const before = world.calls.length;
      assert.is(await says(world, 'three'), 're three');
      await until(() => world.calls.length >= before + 3, 'all of its calls');
      assert.equal(
        world.calls.slice(before).map(({ method, path }) => `${method} ${path.replace(/ses_\w+/, ':id')}`),
        ['POST /session/:id/message', 'PATCH /session/:id', 'PATCH /session/:id'],
      );
    }),
  );

  check('with a key is claimed before, so that of several bridges one alone is the first', () =>
    withDesk(async (world) => {
      const before = world.calls.length;
      await world.chat({ messages: [user('three')] }, { ...DESK, 'idempotency-key': 'once' });
      const methods = world.calls.slice(before).map(({ method }) => method);
      assert.ok(methods.indexOf('PATCH') < methods.lastIndexOf('POST'), methods.join());
    }),
  );

  check('is sent again, once, where another bridge has written meanwhile, and nothing of that one is lost', () =>
    withDesk(async (world) => {
      const other = await createBridgeWorld({ scripts: [polite], bridges: 1, over: world.agent });
      const goOn = world.holdFeed();
      assert.is(await says(other, 'between'), 're between');
      const before = world.calls.length;
      assert.is(await says(world, 'three'), 're three');
      goOn();
      assert.is(sessionsMade(world).length + sessionsMade(other).length, 1);
      assert.is(prompts({ calls: world.calls.slice(before) }).length, 2);
      const [session] = (await world.agent.get('/session')) as readonly { id: string }[];
      const messages = (await world.agent.get(`/session/${session?.id}/message`)) as readonly {
        info: { role: string };
        parts: readonly { text: string }[];
      }[];
      const asked = messages.filter(({ info }) => info.role === 'user').map(({ parts }) => parts[0]?.text);
      assert.equal(asked, ['one', 'two', 'between', 'three']);
      await other.bridge.stop();
    }),
  );

  check('that the agent refuses for another reason gives the conversation back', () =>
    withDesk(async (world) => {
      const response = await world.send(
        '/v1/chat/completions',
        { messages: [user('x'.repeat(4 * 1024 * 1024))] },
        DESK,
      );
      assert.is(response.status, 413);
      assert.is(await says(world, 'three'), 're three');
      assert.is(sessionsMade(world).length, 1);
    }),
  );
});

import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { answering, byPrompt, type Dictated, dictated } from '../harness/model-scripts.ts';
import {
  type BridgeWorld,
  callsTo,
  createBridgeWorld,
  prompts,
  quietTime,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const polite = answering((words) => `re ${words}`);
const DESK = { 'x-session-id': 'desk' };
const says = async (world: BridgeWorld, words: string) => (await world.chat({ messages: [user(words)] }, DESK)).text;

type Race = {
  readonly world: BridgeWorld;
  readonly between: Dictated;
  /** What another bridge answers to `between`, which it has asked the agent meanwhile. */
  readonly elsewhere: Promise<string>;
  /** The answer to `three`, whose prompt is on its way to the agent and will be refused. */
  readonly answer: Promise<Response>;
};

/** Two bridges in one conversation: the prompt of the slower one is still under way when it sees the turn of the other one. */
const withRace = (body: (race: Race) => Promise<void>): Promise<void> => {
  const between = dictated();
  const scripts = [byPrompt({ between: between.script }, polite)];
  return withBridge({ scripts, bridges: 1 }, async (world) => {
    await says(world, 'one');
    await says(world, 'two');
    await until(() => callsTo(world, 'GET', /health$/).length > 0, 'the features');
    await quietTime(20);
    const other = await createBridgeWorld({ scripts, bridges: 1, over: world.agent });
    const goOn = world.holdFeed();
    const elsewhere = says(other, 'between');
    await between.begun;
    world.hold(({ method, path }) => method === 'POST' && path.endsWith('/message'));
    const before = prompts(world).length;
    const answer = world.send('/v1/chat/completions', { messages: [user('three')] }, DESK);
    answer.catch(() => {});
    await until(() => prompts(world).length > before, 'the prompt');
    goOn();
    await quietTime(20);
    await body({ world, between, elsewhere, answer });
    await other.bridge.stop();
  });
};

describe('a prompt with a claim that another bridge was faster for', (check) => {
  check('is not answered with the words of that one when its connection breaks', () =>
    withRace(async ({ world, between, elsewhere, answer }) => {
      world.breakOff();
      between.addReply('re between');
      between.end();
      assert.is(await elsewhere, 're between');
      const text = await (await answer).text();
      assert.not.match(text, 're between');
    }),
  );

  check('is followed when it was stored and its connection breaks before the head of the answer', () =>
    withBridge({ scripts: [polite], bridges: 1 }, async (world) => {
      await says(world, 'one');
      await says(world, 'two');
      await until(() => callsTo(world, 'GET', /health$/).length > 0, 'the features');
      await quietTime(20);
      const { handler } = world.agent.server;
      const stored = Promise.withResolvers<void>();
      world.replaceAgent(async (request) => {
        const answer = await handler(request);
        if (request.method !== 'POST') return answer;
        stored.resolve();
        return new Promise<never>(() => {});
      });
      const answer = says(world, 'three');
      await stored.promise;
      world.breakOff();
      assert.is(await answer, 're three');
      assert.is(prompts(world).length, 3);
    }),
  );
});

import * as assert from 'uvu/assert';
import { calling, replying } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { dictated } from '../../harness/model-scripts.ts';
import { chatWith, QUESTION, resultsOf, TOOLS } from '../../harness/tools-world.ts';
import { aborts, type BridgeWorld, sessionsMade, until, withBridge } from '../../harness/world.ts';
import { given, resultsTo, usual, weather } from './world.ts';

describe('a client that leaves while its turn goes on with results', (check) => {
  const leaveDuring = async (world: BridgeWorld, begun: Promise<void>) => {
    const asked = await chatWith(world, QUESTION);
    const messages = [...QUESTION, asked.message, ...resultsOf(asked.calls)];
    const leaving = new AbortController();
    const headers = { 'idempotency-key': 'results-1' };
    const left = world
      .send('/v1/chat/completions', { messages, tools: TOOLS }, headers, leaving.signal)
      .then((response) => response.text())
      .catch(() => '');
    await begun;
    leaving.abort();
    await left;
    return () => chatWith(world, messages, { tools: TOOLS }, headers);
  };

  check('gets its answer when it comes back in time', () => {
    const dictation = dictated();
    const settings = { onDisconnect: { kind: 'grace', ms: 5000 } } as const;
    return withBridge({ ...given(calling(weather), dictation.script), settings }, async (world) => {
      const retry = await leaveDuring(world, dictation.begun);
      const answer = retry();
      dictation.addReply('It rains.');
      dictation.end();
      assert.is((await answer).message.content, 'It rains.');
      assert.equal([world.agent.asked.length, aborts(world).length], [2, 0]);
    });
  });

  check('has its turn aborted also when it left before the agent had answered that it has the results', () => {
    const dictation = dictated();
    return withBridge(given(calling(weather), dictation.script), async (world) => {
      const { handler } = world.agent.server;
      const hasLeft = Promise.withResolvers<void>();
      world.replaceAgent(async (request) => {
        const hasResults = request.url.endsWith('/gatehouse/turns') && world.agent.asked.length > 0;
        const answer = await handler(request);
        if (!hasResults) return answer;
        await hasLeft.promise;
        // As a server does where the connection is gone.
        await answer.body?.cancel();
        return answer;
      });
      await leaveDuring(world, dictation.begun);
      hasLeft.resolve();
      await until(() => aborts(world).length === 1, 'the abort');
      await dictation.left;
    });
  });

  check('has its turn aborted, and gives the results again when it comes back', () => {
    const dictation = dictated();
    return withBridge(given(calling(weather), dictation.script, replying('It rains.')), async (world) => {
      const retry = await leaveDuring(world, dictation.begun);
      await until(() => aborts(world).length === 1, 'the abort');
      assert.is((await retry()).message.content, 'It rains.');
      assert.equal(resultsTo(world.agent.asked[2]), ['weather: weather is fine']);
    });
  });
});

describe('a request with results', (check) => {
  const asking = async (world: BridgeWorld) => {
    const asked = await chatWith(world, QUESTION);
    return [...QUESTION, asked.message, ...resultsOf(asked.calls)];
  };

  check('gets the same answer when it is sent again', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const headers = { 'idempotency-key': 'results-1' };
      const first = await chatWith(world, messages, { tools: TOOLS }, headers);
      const again = await chatWith(world, messages, { tools: TOOLS }, headers);
      assert.equal([first.message.content, again.message.content], ['It rains.', 'It rains.']);
      assert.is(world.agent.asked.length, 2);
    }),
  );

  check('is answered after a restart of the bridge', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const later = await world.restart();
      const answer = await chatWith(later, messages);
      assert.is(answer.message.content, 'It rains.');
      assert.equal([world.agent.asked.length, sessionsMade(later).length], [2, 0]);
    }),
  );

  check('is answered after the agent was killed and started again', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      world.killAgent();
      const agent = await world.startAgent({ scripts: [replying('It still rains.')] });
      const answer = await chatWith(world, messages);
      assert.is(answer.message.content, 'It still rains.');
      assert.equal(resultsTo(agent.asked[0]), ['weather: weather is fine']);
    }),
  );

  check('joins its turn when it comes again to a bridge that was started anew', () =>
    withBridge(usual, async (world) => {
      const messages = await asking(world);
      const headers = { 'idempotency-key': 'results-1' };
      const first = await chatWith(world, messages, { tools: TOOLS }, headers);
      const later = await world.restartKilled();
      const again = await chatWith(later, messages, { tools: TOOLS }, headers);
      assert.equal([first.message.content, again.message.content], ['It rains.', 'It rains.']);
      assert.is(world.agent.asked.length, 2);
    }),
  );
});

import * as assert from 'uvu/assert';
import { calling, replying, type Script } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { idIn, paying } from '../harness/recharge-world.ts';
import { chatWith, QUESTION, resultsOf, TOOLS } from '../harness/tools-world.ts';
import { type BridgeWorld, user, withBridge } from '../harness/world.ts';

// What comes in a turn after the calls of a client: approvals, other functions, another form of the answer.

const weather = { name: 'weather', input: { city: 'Oslo' } };
const pay = { name: 'pay', input: { amount: 5 } };
const headers = { 'x-session-id': 'chat-1' };

describe('an approval that is asked for after the calls of a client', (check) => {
  /** Asks, gives the results of the calls, and approves what the agent asks for then. `between`: what happens before that. */
  const approveAfterCalls = async (first: BridgeWorld, between = async (world: BridgeWorld) => world) => {
    const asked = await chatWith(first, QUESTION, { tools: TOOLS }, headers);
    const request = await chatWith(first, resultsOf(asked.calls), { tools: TOOLS }, headers);
    assert.is(request.finish, 'stop');
    const world = await between(first);
    const approval = user(`approve ${idIn(String(request.message.content))}`);
    return { world, answer: await chatWith(world, [approval], { tools: TOOLS }, headers) };
  };
  const wordless = (...more: readonly Script[]) => paying([calling(weather), calling(pay), ...more]);

  check('is followed by the answer of the agent, and not by the calls that were made before', () => {
    const { given, paid } = wordless(replying('Paid.'));
    return withBridge(given, async (world) => {
      const { answer } = await approveAfterCalls(world);
      assert.equal([answer.finish, answer.message.content, paid.length], ['stop', 'Paid.', 1]);
    });
  });

  check('is followed by it also at a bridge that was started anew', () => {
    const { given, paid } = wordless(replying('Paid.'));
    return withBridge(given, async (first) => {
      const { answer } = await approveAfterCalls(first, (world) => world.restart());
      assert.equal([answer.finish, answer.message.content, paid.length], ['stop', 'Paid.', 1]);
    });
  });

  check('may be followed by further calls of the client', () =>
    withBridge(wordless(calling(weather), replying('Rain.')).given, async (first) => {
      const { world, answer } = await approveAfterCalls(first);
      assert.equal([answer.finish, answer.calls.length], ['tool_calls', 1]);
      const last = await chatWith(world, resultsOf(answer.calls), { tools: TOOLS }, headers);
      assert.equal([last.finish, last.message.content], ['stop', 'Rain.']);
      assert.is(world.agent.asked.length, 4);
    }),
  );
});

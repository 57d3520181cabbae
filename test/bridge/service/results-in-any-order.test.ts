import * as assert from 'uvu/assert';
import { calling, replying } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { messagesTo } from '../harness/model-scripts.ts';
import { type BridgeWorld, sessionsMade, user, withBridge } from '../harness/world.ts';

// Clients that send their whole history, in which calls and results stand in an order of their own.

type Item = Readonly<Record<string, string>>;
type Made = { readonly status: number; readonly output: readonly Item[] };

const TOOLS = ['weather', 'clock'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
const weather = { name: 'weather', input: { city: 'Oslo' } };
const clock = { name: 'clock', input: {} };

const respond = async (world: Pick<BridgeWorld, 'send'>, input: readonly object[]): Promise<Made> => {
  const response = await world.send('/v1/responses', { input, tools: TOOLS });
  const { output = [] } = JSON.parse(await response.text());
  return { status: response.status, output };
};
const callsIn = ({ output }: Made): readonly Item[] => output.filter(({ type }) => type === 'function_call');
const resultOf = ({ call_id, name }: Item) => ({ type: 'function_call_output', call_id, output: `${name} is fine` });
const textOf = ({ output }: Made): string => JSON.stringify(output.filter(({ type }) => type === 'message'));

/** Orders of calls and results, and how many sessions they need: two where they read as steps that follow one another. */
const ORDERS: readonly (readonly [string, (calls: readonly Item[]) => readonly object[], number])[] = [
  ['alternate with their calls', (calls) => calls.flatMap((call) => [call, resultOf(call)]), 2],
  ['come in reverse', (calls) => [...calls, ...calls.toReversed().map(resultOf)], 1],
  ['alternate with their calls in reverse', (calls) => calls.toReversed().flatMap((call) => [call, resultOf(call)]), 2],
];

describe('results of calls that were made at once', (check) => {
  for (const [name, order, sessions] of ORDERS)
    check(`may ${name}: they reach the model, and later requests find the conversation`, () =>
      withBridge({ scripts: [calling(weather, clock), replying('Fine.'), replying('Bye.')] }, async (world) => {
        const asked = [user('Weather and time?')];
        const first = await respond(world, asked);
        assert.is(callsIn(first).length, 2);
        const history = [...asked, ...order(callsIn(first))];
        const second = await respond(world, history);
        assert.match(textOf(second), 'Fine.');
        const [, resumed] = world.agent.asked;
        assert.match(messagesTo(resumed), 'weather is fine');
        assert.match(messagesTo(resumed), 'clock is fine');
        const third = await respond(world, [...history, ...second.output, user('Thanks')]);
        assert.match(textOf(third), 'Bye.');
        assert.is(sessionsMade(world).length, sessions);
      }),
    );

  check('of calls one after the other alternate too, and go on with their turn', () =>
    withBridge({ scripts: [calling(weather), calling(clock), replying('Fine.'), replying('Bye.')] }, async (world) => {
      let history: readonly object[] = [user('Weather and time?')];
      for (let step = 0; step < 2; step += 1) {
        const calls = callsIn(await respond(world, history));
        history = [...history, ...calls, ...calls.map(resultOf)];
      }
      const done = await respond(world, history);
      assert.match(textOf(done), 'Fine.');
      assert.match(textOf(await respond(world, [...history, ...done.output, user('Thanks')])), 'Bye.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );
});

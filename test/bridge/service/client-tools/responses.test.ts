import * as assert from 'uvu/assert';
import { calling, replying, toolNamed } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { TOOLS } from '../../harness/tools-world.ts';
import { type BridgeWorld, dataIn, sessionsMade, withBridge } from '../../harness/world.ts';
import { clock, given, resultsTo, usual, weather } from './world.ts';

const RESPONSE_TOOLS = TOOLS.map(({ function: one }) => ({ type: 'function', ...one }));

type Item = { readonly type: string; readonly call_id?: string; readonly name?: string; readonly arguments?: string };

const respond = async (world: BridgeWorld, body: object) => {
  const response = await world.send('/v1/responses', { tools: RESPONSE_TOOLS, ...body });
  const json = JSON.parse(await response.text());
  return { status: response.status, json, output: (json.output ?? []) as readonly Item[] };
};

const callsIn = (output: readonly Item[]) => output.filter(({ type }) => type === 'function_call');

const outputsFor = (output: readonly Item[]) =>
  callsIn(output).map(({ call_id, name }) => ({ type: 'function_call_output', call_id, output: `${name} is fine` }));

describe('functions of a client in a response', (check) => {
  check('are items, and their outputs continue it by its id', () =>
    withBridge(given(calling(weather, clock), replying('Rain at noon.')), async (world) => {
      const { json, output } = await respond(world, { input: 'How is the weather?' });
      assert.is(json.status, 'completed');
      assert.equal(
        callsIn(output).map(({ name, arguments: input }) => [name, input]),
        [
          ['weather', '{"city":"Oslo"}'],
          ['clock', '{}'],
        ],
      );
      const next = await respond(world, { previous_response_id: json.id, input: outputsFor(output) });
      assert.match(JSON.stringify(next.output), 'Rain at noon.');
      assert.equal(resultsTo(world.agent.asked[1]), ['weather: weather is fine', 'clock: clock is fine']);
      assert.is(sessionsMade(world).length, 1);
      const last = await respond(world, { previous_response_id: next.json.id, input: 'Thanks' });
      assert.is(last.status, 200);
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('are continued by the whole history, too', () =>
    withBridge(usual, async (world) => {
      const question = { role: 'user', content: 'How is the weather?' };
      const { output } = await respond(world, { input: [question] });
      const next = await respond(world, { input: [question, ...output, ...outputsFor(output)] });
      assert.match(JSON.stringify(next.output), 'It rains.');
      assert.is(sessionsMade(world).length, 1);
    }),
  );

  check('come in a stream as events of their items', () =>
    withBridge(given(calling(weather, clock), replying('Rain.')), async (world) => {
      const response = await world.send('/v1/responses', { tools: RESPONSE_TOOLS, input: 'Weather?', stream: true });
      const events = dataIn(await response.text()).map((line) => JSON.parse(line));
      const ofCalls = events.filter(({ type }) => /function_call|output_item/.test(type));
      assert.equal(
        ofCalls.map(({ type, output_index }) => `${output_index} ${type}`),
        [0, 1].flatMap((index) => [
          `${index} response.output_item.added`,
          `${index} response.function_call_arguments.delta`,
          `${index} response.function_call_arguments.done`,
          `${index} response.output_item.done`,
        ]),
      );
      const done = events.at(-1);
      assert.is(done.type, 'response.completed');
      const ids = callsIn(done.response.output).map(({ call_id }) => call_id);
      assert.is(new Set(ids).size, 2);
      const next = await respond(world, {
        previous_response_id: done.response.id,
        input: outputsFor(done.response.output),
      });
      assert.match(JSON.stringify(next.output), 'Rain.');
    }),
  );

  check('are in the response when it is read again, and so is the answer to their outputs', () =>
    withBridge(given(calling(weather), calling(clock), replying('Rain at noon.')), async (world) => {
      const first = await respond(world, { input: 'How is the weather?' });
      const second = await respond(world, { previous_response_id: first.json.id, input: outputsFor(first.output) });
      const last = await respond(world, { previous_response_id: second.json.id, input: outputsFor(second.output) });
      for (const { json } of [first, second, last]) {
        const again = JSON.parse(await (await world.send(`/v1/responses/${json.id}`)).text());
        assert.equal(again.output, json.output);
        assert.equal([again.status, again.usage], ['completed', json.usage]);
      }
    }),
  );

  check('come in the background, too, and are continued there', () =>
    withBridge(usual, async (world) => {
      const finished = async (body: object) => {
        const { json } = await respond(world, { ...body, background: true });
        for (;;) {
          const state = JSON.parse(await (await world.send(`/v1/responses/${json.id}`)).text());
          if (state.status !== 'queued' && state.status !== 'in_progress') return state;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const asked = await finished({ input: 'How is the weather?' });
      assert.equal(callsIn(asked.output).length, 1);
      const answer = await finished({ previous_response_id: asked.id, input: outputsFor(asked.output) });
      assert.match(JSON.stringify(answer.output), 'It rains.');
      assert.is(answer.status, 'completed');
    }),
  );

  check('are refused with their place where the agent has such a tool', () =>
    withBridge({ tools: [toolNamed('look')] }, async (world) => {
      const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
      const { status, json } = await respond(world, { input: 'Hello', tools });
      assert.equal([status, json.error?.param], [400, 'tools[0].name']);
    }),
  );
});

import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool as toolOfAgents, user } from '@openai/agents';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { FAILURE } from '../../../harness/recorded-outputs.ts';
import { createResponsesWorld, type ResponsesWorld, responseID } from '../world.ts';
import {
  AFTER,
  BROKEN,
  BROKEN_AT_ONCE,
  CUT,
  inShort,
  MORE,
  openaiOver,
  REPORTED,
  repeated,
  SILENT,
  THINKING,
  WORDS,
  WORKING,
} from './world.ts';

setTracingDisabled(true);

describe("OpenAI's agents", (check) => {
  const agent = new Agent({ name: 'someone', model: 'acme/small' });
  const runnerOver = (world: ResponsesWorld): Runner =>
    new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openaiOver(world), useResponses: true }) });
  const streamed = async (world: ResponsesWorld, asker = agent) => {
    const result = await runnerOver(world).run(asker, 'Hello', { stream: true });
    const items: string[] = [];
    let words = '';
    for await (const event of result) {
      if (event.type === 'run_item_stream_event') items.push(event.name);
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') words += event.data.delta;
    }
    await result.completed;
    return { result, items, words };
  };

  check('read a stream and what was thought', async () => {
    const { result, items, words } = await streamed(createResponsesWorld(...THINKING));
    assert.equal([words, result.finalOutput], ['Hello', 'Hello']);
    assert.equal(items, ['reasoning_item_created', 'message_output_created']);
  });

  check("show the agent's calls, run none of them, and end with its last words", async () => {
    const world = createResponsesWorld(...WORKING);
    const { result, items, words } = await streamed(world);
    assert.equal([words, result.finalOutput?.trim()], [WORDS, 'Five.']);
    assert.equal(items.slice(2, 4), ['tool_called', 'tool_called']);
    assert.not.ok(items.includes('tool_output'));
    assert.is(world.asked.length, 1);
  });

  check('run no tool of their own that is called as one of the agent', async () => {
    let ran = 0;
    const bash = toolOfAgents({
      name: 'bash',
      description: 'Runs a command',
      strict: false,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      execute: () => `${++ran}`,
    });
    const world = createResponsesWorld(...WORKING);
    await streamed(world, new Agent({ name: 'someone', model: 'acme/small', tools: [bash] }));
    assert.equal([ran, world.asked.length], [0, 1]);
  });

  check('do not ask again where the agent said nothing', async () => {
    const world = createResponsesWorld(...SILENT);
    assert.is((await streamed(world)).result.finalOutput, '');
    assert.is(world.asked.length, 1);
  });

  check('learn of a failure and of an answer that is not whole, and do not ask again', async () => {
    for (const [outputEvents, words] of [
      [BROKEN, FAILURE.message],
      [BROKEN_AT_ONCE, FAILURE.message],
      [CUT, 'response.incomplete'],
    ] as const) {
      const world = createResponsesWorld(...outputEvents);
      assert.match(((await rejection(streamed(world))) as Error).message, words);
      assert.is(world.asked.length, 1);
    }
  });

  check('go on with the conversation, or with an id, and are understood', async () => {
    const world = createResponsesWorld(...WORKING);
    const { result } = await streamed(world);
    await runnerOver(world).run(agent, [...result.history, user('More')]);
    assert.equal([repeated(world), inShort(world.asked[1]?.input)], [REPORTED, MORE]);
    await runnerOver(world).run(agent, 'More', { previousResponseId: responseID() });
    assert.equal(world.asked[2]?.conversation, AFTER);
  });
});

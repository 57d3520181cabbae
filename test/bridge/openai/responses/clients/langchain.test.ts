import { type AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import * as assert from 'uvu/assert';
import { describe, rejection } from '../../../../check.ts';
import { FAILURE } from '../../../harness/recorded-outputs.ts';
import { createResponsesWorld, type ResponsesWorld } from '../world.ts';
import { BROKEN, BROKEN_AT_ONCE, CUT, inShort, MORE, REPORTED, repeated, THINKING, WORDS, WORKING } from './world.ts';

describe('LangChain', (check) => {
  const modelOver = ({ baseURL, fetch }: ResponsesWorld): ChatOpenAI =>
    new ChatOpenAI({
      model: 'acme/small',
      apiKey: 'sk-test',
      useResponsesApi: true,
      configuration: { baseURL, fetch },
      maxRetries: 0,
    });
  const streamed = async (world: ResponsesWorld): Promise<AIMessageChunk> => {
    let all: AIMessageChunk | undefined;
    for await (const chunk of await modelOver(world).stream('Hello'))
      all = all === undefined ? chunk : all.concat(chunk);
    if (all === undefined) throw new Error('nothing was said');
    return all;
  };

  check('reads a stream and what was thought', async () => {
    const { text, content, usage_metadata } = await streamed(createResponsesWorld(...THINKING));
    assert.is(text, 'Hello');
    assert.equal((content as { reasoning?: string }[])[0]?.reasoning, 'Let me think');
    assert.match(JSON.stringify(usage_metadata), '"total_tokens":37');
  });

  check("shows the agent's calls, and runs none of them", async () => {
    const { text, tool_calls, additional_kwargs } = await streamed(createResponsesWorld(...WORKING));
    assert.equal([text, tool_calls], [WORDS, []]);
    assert.equal(
      (additional_kwargs.tool_outputs as { type: string }[]).map(({ type }) => type),
      ['mcp_call', 'mcp_call'],
    );
    const whole = await modelOver(createResponsesWorld(...WORKING)).invoke('Hello');
    assert.equal([whole.text, whole.tool_calls], [WORDS, []]);
  });

  check('learns of a failure, and does not ask again', async () => {
    for (const outputEvents of [BROKEN, BROKEN_AT_ONCE]) {
      const world = createResponsesWorld(...outputEvents);
      assert.match(((await rejection(streamed(world))) as Error).message, FAILURE.message);
      assert.is(world.asked.length, 1);
    }
  });

  check('knows an answer that is not whole', async () => {
    const { text, response_metadata } = await streamed(createResponsesWorld(...CUT));
    assert.equal([text, response_metadata.status], ['I look', 'incomplete']);
  });

  check('goes on with the conversation, and is understood', async () => {
    const world = createResponsesWorld(...WORKING);
    const answer = await streamed(world);
    await modelOver(world).invoke([new HumanMessage('Hello'), answer, new HumanMessage('More')]);
    assert.equal([repeated(world), inShort(world.asked[1]?.input)], [REPORTED, MORE]);
  });
});

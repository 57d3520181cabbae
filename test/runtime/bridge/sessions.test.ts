import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, newText, OWN_PARAMETERS, OWN_TOOL } from './clients.ts';
import { addCalls, lookup } from './own-tools.ts';
import { BRIDGE_KEY, type BridgeProcess, sharedBridgeWorld } from './world.ts';

const beside = sharedBridgeWorld();
const MODEL = 'demo/main';

const openaiAt = ({ baseURL }: BridgeProcess): OpenAI => new OpenAI({ baseURL, apiKey: BRIDGE_KEY });
const runnerAt = (openai: OpenAI): Runner =>
  new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openai }), tracingDisabled: true });

describe("OpenAI's agents, a session of conversations", (check) => {
  check(
    'keeps what was said, and the calls of its own tools with their results',
    beside(async (world) => {
      const openai = openaiAt(world.bridge);
      const runner = runnerAt(openai);
      const session = new OpenAIConversationsSession({ client: openai });
      const execute = () => 'Five degrees';
      const look = tool({ name: OWN_TOOL, description: 'Looks up', parameters: OWN_PARAMETERS, execute });
      const agent = new Agent({ name: 'someone', model: MODEL, tools: [look] });
      const [first, second] = [newText(), newText()];
      addCalls(world, lookup('Oslo'));
      world.model.addReply('It is five.', isNoTitle);
      assert.is((await runner.run(agent, first, { session })).finalOutput, 'It is five.');
      world.model.addReply('Good day.', isNoTitle);
      assert.is((await runner.run(agent, second, { session })).finalOutput, 'Good day.');
      assert.equal(
        asked(world)[2]?.turns.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'assistant', 'user'],
      );
      const kinds = (await session.getItems()).map((item) => ('role' in item ? item.role : item.type));
      assert.equal(kinds, [
        'user',
        'assistant',
        'function_call',
        'function_call_result',
        'assistant',
        'user',
        'assistant',
      ]);
      await session.clearSession();
    }),
  );
});

describe("OpenAI's agents, handed over", (check) => {
  for (const useResponses of [true, false])
    check(
      `go on with the instructions of the other one (${useResponses ? 'responses' : 'chat completions'})`,
      beside(async (world) => {
        const modelProvider = new OpenAIProvider({ openAIClient: openaiAt(world.bridge), useResponses });
        const runner = new Runner({ modelProvider, tracingDisabled: true });
        const weather = new Agent({ name: 'weather', instructions: 'You are the weather agent.', model: MODEL });
        const desk = new Agent({ name: 'desk', instructions: 'You are the desk.', model: MODEL, handoffs: [weather] });
        addCalls(world, { name: 'transfer_to_weather', arguments: {} });
        world.model.addReply('It is five.', isNoTitle);
        const { finalOutput, lastAgent } = await runner.run(desk, newText());
        assert.equal([finalOutput, lastAgent?.name], ['It is five.', 'weather']);
        assert.match(asked(world)[1]?.system ?? '', 'You are the weather agent.');
      }),
    );
});

describe("OpenAI's own client, a conversation", (check) => {
  check(
    'has two responses, is listed, counted and deleted',
    beside(async (world) => {
      const openai = openaiAt(world.bridge);
      const [first, second] = [newText(), newText()];
      const { id } = await openai.conversations.create({ metadata: { topic: 'weather' } });
      for (const [input, reply] of [
        [first, 'Good day.'],
        [second, 'And you?'],
      ] as const) {
        world.model.addReply(reply, isNoTitle);
        assert.is((await openai.responses.create({ model: MODEL, input, conversation: id })).output_text, reply);
      }
      const said: string[] = [];
      for await (const item of openai.conversations.items.list(id, { order: 'asc', limit: 3 }))
        if (item.type === 'message') said.push(...item.content.map((part) => ('text' in part ? part.text : '')));
      assert.equal(said, [first, 'Good day.', second, 'And you?']);
      assert.is(((await openai.conversations.retrieve(id)).metadata as { topic: string }).topic, 'weather');
      assert.ok((await openai.responses.inputTokens.count({ model: MODEL, input: first })).input_tokens > 0);
      assert.ok((await openai.conversations.delete(id)).deleted);
    }),
  );
});

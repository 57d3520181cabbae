import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { calling, outcome, toolNamed } from '../../agent/harness/world.ts';
import { describe, rejection } from '../../check.ts';
import { answering, byPrompt } from '../harness/model-scripts.ts';
import { type BridgeWorld, KEY, OTHER_KEY, withBridge } from '../harness/world.ts';

const clientOf = (world: BridgeWorld, apiKey = KEY): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });

const look = toolNamed('look', async () => outcome('a door'));
const polite = answering((words, { messages }) => `${words}: ${messages.length}`);
const looking = byPrompt({ Look: calling({ name: 'look', input: {} }) }, polite);
const TURNS = 24;
const WORLD = { scripts: Array(TURNS + 5).fill(looking), tools: [look] };

const idsIn = async (client: OpenAI, id: string, query: object): Promise<readonly string[]> => {
  const ids: string[] = [];
  for await (const item of client.conversations.items.list(id, query)) ids.push(item.id ?? '');
  return ids;
};
const idsOf = ({ output }: OpenAI.Responses.Response): readonly string[] => output.map(({ id }) => id ?? '');

describe('the id of an item', (check) => {
  check(
    'stays the same: in the stream, in the response, in the conversation, at another bridge, and when many have followed',
    () =>
      withBridge(WORLD, async (world) => {
        const client = clientOf(world);
        const { id: conversation } = await client.conversations.create();
        const streamed: string[] = [];
        const stream = client.responses.stream({ input: 'Look', conversation });
        stream.on('event', (event) => {
          if (event.type === 'response.output_item.added') streamed.push(event.item.id ?? '');
        });
        const first = await stream.finalResponse();
        assert.equal(
          first.output.map(({ type }) => type),
          ['mcp_call', 'message'],
        );
        assert.equal(streamed, idsOf(first));
        assert.equal(idsOf(await client.responses.retrieve(first.id)), streamed);
        const second = await client.responses.create({ input: 'Two', conversation });
        const early = await idsIn(client, conversation, { order: 'asc' });
        assert.equal([...early.slice(1, 3), ...early.slice(4)], [...streamed, ...idsOf(second)]);

        for (let turn = 2; turn < TURNS; turn += 1) await client.responses.create({ input: `${turn}`, conversation });
        const late = await idsIn(client, conversation, { order: 'asc', limit: 7 });
        assert.equal([late.length, new Set(late).size], [2 * TURNS + 1, 2 * TURNS + 1]);
        assert.equal(late.slice(0, early.length), early);
        const other = clientOf(await world.restart());
        assert.equal(await idsIn(other, conversation, { order: 'desc', limit: 11 }), late.toReversed());
        const after = await other.conversations.items.list(conversation, {
          order: 'asc',
          after: early[2] ?? '',
          limit: 1,
        });
        assert.is(after.data[0]?.id, early[3]);
        for (const itemID of [streamed[0] ?? '', streamed[1] ?? ''])
          assert.is((await other.conversations.items.retrieve(itemID, { conversation_id: conversation })).id, itemID);
      }),
  );

  check('leads to its answer where a client sends it in place of the words', () =>
    withBridge(WORLD, async (world) => {
      const client = clientOf(world);
      const { output } = await client.responses.create({ input: 'One' });
      const reference = { type: 'item_reference' as const, id: output[0]?.id ?? '' };
      const said = (content: string) => ({ role: 'user' as const, content });
      const input = [said('One'), reference, said('Two')];
      const other = await world.restart();
      const later = clientOf(other);
      const next = await later.responses.create({ input });
      const sessions = async () => JSON.parse(JSON.stringify(await world.agent.get('/session'))).length;
      assert.equal([next.output_text, await sessions()], ['Two: 3', 1]);
      // What others have followed goes on in a session of its own, with what was said up to there.
      const again = await later.responses.create({ input: [said('One'), reference, said('Three')] });
      assert.equal([again.output_text.startsWith('Three'), await sessions()], [true, 2]);
      const counted = await later.responses.inputTokens.count({ input });
      assert.ok(counted.input_tokens > 0);
      for (const call of [
        clientOf(other, OTHER_KEY).responses.create({ input }),
        later.responses.create({ input: [said('One'), { ...reference, id: `${reference.id}0` }, said('Two')] }),
      ])
        assert.match(String(await rejection(Promise.resolve(call))), "400 The answer with an item that 'input' names");
    }),
  );
});

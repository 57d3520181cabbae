import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import type { Handler } from '../../../src/core/http/handler.ts';
import { calling, replying } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { chatWith, QUESTION, resultsOf } from '../harness/tools-world.ts';
import { type BridgeWorld, KEY, prompts, sessionsMade, user, withBridge } from '../harness/world.ts';

/** Whether a bridge may send a request again, over a new connection, when the one that it was sent over was closed. */
const isRepeatable = ({ method, url }: Request): boolean =>
  ['PATCH', 'DELETE'].includes(method) || /\/(client-tool-results|abort)$/.test(new URL(url).pathname);

/** The agent gets twice what may be sent twice: its first answer is lost with the connection. */
const receivingTwice =
  (agent: Handler): Handler =>
  async (request) => {
    if (!isRepeatable(request)) return agent(request);
    const again = request.clone();
    await (await agent(request)).text();
    return agent(again);
  };
const withRepeats = (
  scripts: Parameters<typeof withBridge>[0]['scripts'],
  body: (world: BridgeWorld, client: OpenAI) => Promise<void>,
): Promise<void> =>
  withBridge({ scripts: scripts ?? [] }, async (world) => {
    world.replaceAgent(receivingTwice(world.agent.server.handler));
    const fetchHere: typeof fetch = async (input, init) => world.bridge.handler(new Request(input as string, init));
    await body(world, new OpenAI({ apiKey: KEY, baseURL: 'http://bridge.test/v1', maxRetries: 0, fetch: fetchHere }));
  });

describe('what the agent receives twice because its first answer was lost', (check) => {
  check('creates, changes and deletes a conversation and its items', () =>
    withRepeats([], async (_world, client) => {
      const said = { type: 'message' as const, role: 'user' as const, content: 'one' };
      const { id } = await client.conversations.create({ metadata: { topic: 'money' }, items: [said] });
      await client.conversations.update(id, { metadata: { topic: 'time' } });
      assert.equal((await client.conversations.retrieve(id)).metadata, { topic: 'time' });
      const [item] = (await client.conversations.items.list(id)).data;
      assert.is((await client.conversations.items.delete(String(item?.id), { conversation_id: id })).id, id);
      assert.is((await client.conversations.items.list(id)).data.length, 0);
      assert.is((await client.conversations.delete(id)).deleted, true);
    }),
  );

  check('keeps a chat in its session, and makes nothing twice', () =>
    withRepeats([replying('One.'), replying('Two.')], async (world) => {
      const first = await world.chat({ messages: [user('1')] });
      const messages = [user('1'), { role: 'assistant', content: first.text }, user('2')];
      assert.is((await world.chat({ messages })).text, 'Two.');
      assert.equal([sessionsMade(world).length, prompts(world).length], [1, 2]);
    }),
  );

  check('goes on with the results of a function once', () =>
    withRepeats([calling({ name: 'weather', input: { city: 'Oslo' } }), replying('It rains.')], async (world) => {
      const asked = await chatWith(world, QUESTION);
      const answer = await chatWith(world, [...QUESTION, asked.message, ...resultsOf(asked.calls)]);
      assert.equal([answer.finish, answer.message.content], ['stop', 'It rains.']);
      assert.equal([world.agent.asked.length, prompts(world).length], [2, 1]);
    }),
  );

  check('deletes a response', () =>
    withRepeats([replying('One.')], async (_world, client) => {
      const { id } = await client.responses.create({ model: 'main', input: '1' });
      await client.responses.delete(id);
      assert.is(
        await client.responses.retrieve(id).then(
          () => 200,
          ({ status }) => status,
        ),
        404,
      );
    }),
  );
});

import * as assert from 'uvu/assert';
import { HttpClientError } from '../../../../src/core/http/client.ts';
import { describe } from '../../../check.ts';
import { answering, dictated, messagesTo } from '../../harness/model-scripts.ts';
import { prompts, withBridge } from '../../harness/world.ts';
import { clientOf, failureOf, lineOf, linesIn, said, withClient } from './world.ts';

describe('a conversation of a client', (check) => {
  check('begins with the items that its client gives it, whoever spoke them', () =>
    withBridge({ scripts: [answering((_words, request) => messagesTo(request))] }, async (world) => {
      const client = clientOf(world);
      const items = [
        said('system', 'Be brief.'),
        said('user', 'My name is Bob.'),
        said('assistant', 'Hello Bob.'),
        { type: 'function_call' as const, call_id: 'call_1', name: 'age', arguments: '{}' },
        { type: 'function_call_output' as const, call_id: 'call_1', output: '42' },
      ];
      const { id } = await client.conversations.create({ items });
      const { output_text } = await client.responses.create({ input: 'Who am I?', conversation: id });
      for (const words of ['Be brief.', 'My name is Bob.', 'Hello Bob.', '42', 'Who am I?'])
        assert.ok(output_text.includes(words), words);
      const lines = await linesIn(client, id);
      assert.equal(lines.slice(0, 5), [
        'user: Be brief.',
        'user: My name is Bob.',
        'assistant: Hello Bob.',
        'function_call',
        'function_call_output',
      ]);
      assert.is(lines[5], 'user: Who am I?');
      assert.is(prompts(world).length, 1);
      const roles = world.agent.asked[0]?.messages.map(({ role }) => role);
      assert.equal(roles, ['user', 'user', 'assistant', 'assistant', 'tool', 'user']);
    }),
  );

  check('lists its items in pages, from either end', () =>
    withClient(async (client) => {
      const items = Array.from({ length: 7 }, (_, index) => said('user', `${index}`));
      const { id } = await client.conversations.create({ items });
      const all = items.map(({ content }) => `user: ${content}`);
      assert.equal(await linesIn(client, id, { order: 'asc', limit: 3 }), all);
      assert.equal(await linesIn(client, id, { limit: 2 }), all.toReversed());
      const page = await client.conversations.items.list(id, { order: 'asc', limit: 3 });
      assert.equal([page.data.length, page.has_more, page.last_id], [3, true, page.data[2]?.id]);
      const last = await client.conversations.items.list(id, { order: 'asc', limit: 100, after: page.last_id });
      assert.equal([last.data.map(lineOf), last.has_more], [all.slice(3), false]);
      const bare = await client.conversations.create();
      assert.equal((await client.conversations.items.list(bare.id)).data, []);
      for (const [query, param] of [
        [{ limit: 0 }, 'limit'],
        [{ limit: 101 }, 'limit'],
        [{ after: 'msg_none' }, 'after'],
        [{ order: 'up' }, 'order'],
      ] as const)
        assert.is(await failureOf(client.conversations.items.list(id, query as object)), `400 invalid_value ${param}`);
    }),
  );

  check('gives and takes single items, under ids that stay', () =>
    withClient(async (client) => {
      const { id } = await client.conversations.create({ items: [said('user', 'A')] });
      const added = await client.conversations.items.create(id, { items: [said('user', 'B'), said('assistant', 'C')] });
      assert.equal(added.data.map(lineOf as never), ['user: B', 'assistant: C']);
      assert.equal([added.first_id, added.last_id, added.has_more], [added.data[0]?.id, added.data[1]?.id, false]);
      const one = await client.conversations.items.retrieve(added.first_id, { conversation_id: id });
      assert.equal(one, added.data[0]);
      assert.is((await client.conversations.items.delete(added.first_id, { conversation_id: id })).id, id);
      assert.equal(await linesIn(client, id), ['user: A', 'assistant: C']);
      const wrong = { conversation_id: id };
      assert.is(await failureOf(client.conversations.items.retrieve(added.first_id, wrong)), '404 not_found');
      assert.is(await failureOf(client.conversations.items.delete(added.first_id, wrong)), '404 not_found');
      assert.is(await failureOf(client.conversations.items.delete('msg_item_..', wrong)), '404 not_found');
    }),
  );

  check('keeps a prompt and its answer: their items are not deleted one by one', () =>
    withClient(async (client) => {
      const { id } = await client.conversations.create();
      await client.responses.create({ input: 'One', conversation: id });
      const before = await client.conversations.items.list(id);
      for (const item of before.data) {
        const itemID = item.id ?? '';
        assert.equal(await client.conversations.items.retrieve(itemID, { conversation_id: id }), item);
        const deleted = client.conversations.items.delete(itemID, { conversation_id: id });
        assert.is(await failureOf(deleted), '400 unsupported_value');
      }
      assert.equal((await client.conversations.items.list(id)).data, before.data);
    }),
  );

  for (const isStored of [false, true])
    check(
      `holds ${isStored ? 'all' : 'none'} of the items where the connection breaks ${isStored ? 'after' : 'before'} they were stored`,
      () =>
        withClient(async (client, world) => {
          const { id } = await client.conversations.create({ items: [said('user', 'A')] });
          const { handler } = world.agent.server;
          world.replaceAgent(async (request) => {
            if (request.method !== 'POST') return handler(request);
            if (isStored) await (await handler(request)).text();
            throw new HttpClientError('ECONNRESET');
          });
          const items = [said('user', 'B'), said('user', 'C')];
          assert.is((await world.send(`/v1/conversations/${id}/items`, { items })).status, 502);
          const added = isStored ? ['user: B', 'user: C'] : [];
          assert.equal(await linesIn(client, id), ['user: A', ...added]);
        }),
    );

  check('keeps all of the items that two clients add at a time', () =>
    withClient(async (client) => {
      const { id } = await client.conversations.create();
      const add = (name: string) =>
        client.conversations.items.create(id, { items: [said('user', `${name}1`), said('user', `${name}2`)] });
      await Promise.all(['a', 'b', 'c'].map(add));
      const lines = await linesIn(client, id);
      assert.equal(
        [...lines].sort(),
        ['a1', 'a2', 'b1', 'b2', 'c1', 'c2'].map((line) => `user: ${line}`),
      );
      for (const name of ['a', 'b', 'c']) {
        const at = lines.indexOf(`user: ${name}1`);
        assert.is(lines[at + 1], `user: ${name}2`, 'items of one request stay together');
      }
    }),
  );

  check('takes no items while a turn runs in it, and takes them after it', () => {
    const model = dictated();
    return withBridge({ scripts: [model.script] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.conversations.create();
      const running = client.responses.create({ input: 'story', conversation: id });
      await model.begun;
      const add = () => client.conversations.items.create(id, { items: [said('user', 'later')] });
      assert.is(await failureOf(add()), '409 conflict');
      model.addReply('The end.');
      model.end();
      await running;
      await add();
      assert.equal(await linesIn(client, id), ['user: story', 'assistant: The end.', 'user: later']);
      assert.is((await client.responses.retrieve((await running).id)).output_text, 'The end.');
    });
  });
});

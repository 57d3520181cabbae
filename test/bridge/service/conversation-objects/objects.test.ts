import * as assert from 'uvu/assert';
import { nodeDigest } from '../../../../src/adapter/node/crypto.ts';
import { ownerOfKey } from '../../../../src/core/http/agent-api.ts';
import { HttpClientError } from '../../../../src/core/http/client.ts';
import { describe } from '../../../check.ts';
import { KEY, OTHER_KEY, sessionsMade, withBridge } from '../../harness/world.ts';
import { clientOf, failureOf, linesIn, said, withClient } from './world.ts';

describe('a conversation of a client', (check) => {
  check('is created, read, changed and deleted', () =>
    withClient(async (client) => {
      const made = await client.conversations.create({ metadata: { topic: 'money' } });
      assert.match(made.id, /^conv_[A-Za-z0-9]{26}$/);
      assert.equal([made.object, made.metadata], ['conversation', { topic: 'money' }]);
      assert.ok(Math.abs(made.created_at - Date.now() / 1000) < 60);
      assert.equal(await client.conversations.retrieve(made.id), made);
      const changed = await client.conversations.update(made.id, { metadata: { topic: 'time' } });
      assert.equal(changed, { ...made, metadata: { topic: 'time' } });
      assert.equal(await client.conversations.retrieve(made.id), changed);
      assert.equal(await client.conversations.update(made.id, { metadata: null }), { ...made, metadata: {} });
      assert.equal(await client.conversations.delete(made.id), {
        id: made.id,
        object: 'conversation.deleted',
        deleted: true,
      });
      for (const call of [
        client.conversations.retrieve(made.id),
        client.conversations.delete(made.id),
        client.conversations.items.list(made.id),
        client.responses.create({ input: 'hi', conversation: made.id }),
      ])
        assert.is(await failureOf(call), '404 not_found');
    }),
  );

  check('is not there for another key', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create({ items: [said('user', 'secret')] });
      const [item] = (await client.conversations.items.list(id)).data;
      const at = { conversation_id: id };
      const other = clientOf(world, OTHER_KEY);
      for (const call of [
        other.conversations.retrieve(id),
        other.conversations.update(id, { metadata: {} }),
        other.conversations.delete(id),
        other.conversations.items.list(id),
        other.conversations.items.create(id, { items: [said('user', 'mine')] }),
        other.conversations.items.retrieve(item?.id ?? '', at),
        other.conversations.items.delete(item?.id ?? '', at),
        other.responses.create({ input: 'hi', conversation: id }),
      ])
        assert.is(await failureOf(call), '404 not_found');
      assert.equal(await linesIn(client, id), ['user: secret']);
    }),
  );

  check('is refused with its place where it cannot be kept as it is', () =>
    withClient(async (client, world) => {
      const create = (body: unknown) => failureOf(client.conversations.create(body as never));
      const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }] };
      assert.is(await create({ items: [image] }), '400 unsupported_value items[0].content[0].type');
      assert.is(await create({ items: [{ type: 'computer_call' }] }), '400 unsupported_value items[0].type');
      assert.is(await create({ items: [{ role: 'user' }] }), '400 missing_required_parameter items[0].content');
      assert.is(await create({ items: Array(21).fill(said('user', 'x')) }), '400 invalid_value items');
      assert.is(await create({ metadata: { a: 1 } }), '400 invalid_value metadata');
      assert.is(await create({ metadata: { a: 'x'.repeat(513) } }), '400 invalid_value metadata');
      const names = Array.from({ length: 17 }, (_, index) => [`n${index}`, 'x']);
      assert.is(await create({ metadata: Object.fromEntries(names) }), '400 invalid_value metadata');
      assert.is(sessionsMade(world).length, 0);
      const { id } = await client.conversations.create();
      const add = (items: unknown) => failureOf(client.conversations.items.create(id, { items } as never));
      assert.is(await add([]), '400 empty_array items');
      assert.is(await add('hello'), '400 invalid_type items');
      assert.is(await add([said('user', 'x'.repeat(4_000_000))]), '413 prompt_too_large');
      assert.equal(await linesIn(client, id), []);
      const response = { input: 'hi', conversation: id, previous_response_id: 'resp_1_000000000000' };
      assert.is(
        await failureOf(client.responses.create(response)),
        '400 mutually_exclusive_parameters previous_response_id',
      );
    }),
  );

  check('keeps both changes of its metadata and a turn, whichever bridge they come to', () =>
    withClient(async (client) => {
      const { id } = await client.conversations.create();
      await Promise.all([
        client.responses.create({ input: 'One', conversation: id }),
        client.conversations.update(id, { metadata: { a: '1' } }),
      ]);
      assert.equal((await client.conversations.retrieve(id)).metadata, { a: '1' });
      assert.is((await client.responses.create({ input: 'Two', conversation: id })).output_text, 'Two: 3');
    }),
  );

  check('is one that a client has named otherwise, too', () =>
    withClient(async (client) => {
      await client.responses.create({ input: 'One', conversation: 'my-own' });
      await client.conversations.update('my-own', { metadata: { a: '1' } });
      assert.equal(await linesIn(client, 'my-own'), ['user: One', 'assistant: One: 1']);
      assert.is((await client.responses.create({ input: 'Two', conversation: 'my-own' })).output_text, 'Two: 3');
      assert.equal((await client.conversations.retrieve('my-own')).metadata, { a: '1' });
      assert.is(await failureOf(client.conversations.retrieve('another')), '404 not_found');
    }),
  );

  check('gives its name to the session, with the owner by which the console knows its own', () =>
    withClient(async (client, world) => {
      await client.responses.create({ input: 'One', conversation: 'my-own' });
      const [session] = (await world.agent.get('/session')) as readonly { readonly metadata: object }[];
      assert.equal(session?.metadata, { gatehouse: { owner: ownerOfKey(KEY, nodeDigest), name: 'my-own' } });
    }),
  );

  check('has the metadata of before where the agent has not stored the new ones', () =>
    withClient(async (client, world) => {
      const made = await client.conversations.create({ metadata: { topic: 'money' } });
      const { handler } = world.agent.server;
      world.replaceAgent(async (request) => {
        if (request.method === 'PATCH') throw new HttpClientError('ECONNRESET');
        return handler(request);
      });
      assert.match(await failureOf(client.conversations.update(made.id, { metadata: { topic: 'time' } })), /^50[23] /);
      world.replaceAgent(handler);
      assert.equal(await client.conversations.retrieve(made.id), made);
      await client.responses.create({ input: 'One', conversation: made.id });
      assert.equal(await client.conversations.retrieve(made.id), made);
    }),
  );

  check('keeps metadata under names that every object has', () =>
    withClient(async (client, world) => {
      const metadata = JSON.parse('{"constructor":"a","prototype":"b","__proto__":"c"}');
      const { id } = await client.conversations.create({ metadata });
      const again = clientOf(await world.restart());
      assert.equal(JSON.stringify((await again.conversations.retrieve(id)).metadata), JSON.stringify(metadata));
      const response = await again.responses.create({ input: 'One', conversation: id, metadata });
      assert.equal(JSON.stringify(response.metadata), JSON.stringify(metadata));
    }),
  );

  check('is found after a restart', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create({ metadata: { a: '1' }, items: [said('user', 'A')] });
      await client.responses.create({ input: 'One', conversation: id });
      const lines = await linesIn(client, id);
      const later = clientOf(await world.restart());
      assert.equal((await later.conversations.retrieve(id)).metadata, { a: '1' });
      assert.equal(await linesIn(later, id), lines);
      assert.is((await later.responses.create({ input: 'Two', conversation: id })).output_text, 'Two: 4');
    }),
  );
});

describe('an id of a conversation that no bridge has made', (check) => {
  check('is not there, and begins no conversation', () =>
    withBridge({}, async (world) => {
      const response = await world.send('/v1/responses', { input: 'Hello', conversation: 'conv_nope' });
      assert.is(response.status, 404);
      assert.is(sessionsMade(world).length, 0);
    }),
  );
});

describe('tools of a request that are no list', (check) => {
  check('are refused', () =>
    withBridge({}, async (world) => {
      for (const path of ['/v1/responses', '/v1/chat/completions']) {
        const messages = [{ role: 'user', content: 'Hello' }];
        const response = await world.send(path, { input: 'Hello', messages, tools: {} });
        assert.is(response.status, 400);
      }
    }),
  );
});

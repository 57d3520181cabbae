import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner } from '@openai/agents';
import OpenAI, { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { HttpClientError } from '../../../src/core/http/client.ts';
import { calling, replying } from '../../agent/harness/world.ts';
import { describe, rejection } from '../../check.ts';
import { answering, byPrompt, dictated, messagesTo } from '../harness/model-scripts.ts';
import { idIn, pay, paying, reporting } from '../harness/recharge-world.ts';
import {
  assistant,
  type BridgeWorld,
  KEY,
  OTHER_KEY,
  prompts,
  quietTime,
  sessionsDeleted,
  sessionsMade,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const clientOf = (world: BridgeWorld, apiKey = KEY): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: 'http://bridge.test/v1',
    maxRetries: 0,
    fetch: async (input, init) => world.bridge.handler(new Request(input as string, init)),
  });

/** An agent that answers with the number of texts that it was told. */
const counting = answering((words, { messages }) => `${words}: ${messages.length}`);
const withClient = (body: (client: OpenAI, world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: Array(12).fill(counting) }, (world) => body(clientOf(world), world));

const failureOf = async (promise: PromiseLike<unknown>) => {
  const error = (await rejection(Promise.resolve(promise))) as APIError;
  assert.instance(error, APIError);
  return `${error.status} ${error.code} ${error.param ?? ''}`.trim();
};

const said = (role: 'user' | 'assistant' | 'system', content: string) => ({ type: 'message' as const, role, content });

type Listed = Awaited<ReturnType<OpenAI['conversations']['items']['list']>>['data'][number];
const lineOf = (item: Listed): string => {
  if (item.type !== 'message') return item.type;
  const [content] = item.content;
  return `${item.role}: ${content !== undefined && 'text' in content ? content.text : content?.type}`;
};
const linesIn = async (client: OpenAI, id: string, query: object = { order: 'asc' }): Promise<readonly string[]> => {
  const lines: string[] = [];
  for await (const item of client.conversations.items.list(id, query)) lines.push(lineOf(item));
  return lines;
};

describe('a conversation of a client', (check) => {
  check('is created, read, changed and deleted', () =>
    withClient(async (client) => {
      const made = await client.conversations.create({ metadata: { topic: 'money' } });
      assert.match(made.id, /^conv_[A-Za-z0-9]+_[A-Za-z0-9]{12}$/);
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

  check('holds what its requests bring, and remembers it', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create();
      const first = await client.responses.create({ input: 'One', conversation: id });
      assert.equal([first.output_text, first.conversation], ['One: 1', { id }]);
      const second = await client.responses.create({ input: 'Two', conversation: { id } });
      assert.is(second.output_text, 'Two: 3');
      assert.equal(await linesIn(client, id), ['user: One', 'assistant: One: 1', 'user: Two', 'assistant: Two: 3']);
      assert.is(sessionsMade(world).length, 1);
      assert.equal((await client.responses.retrieve(second.id)).conversation, { id });
    }),
  );

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
        'system: Be brief.',
        'user: My name is Bob.',
        'assistant: Hello Bob.',
        'function_call',
        'function_call_output',
      ]);
      assert.is(lines[5], 'user: Who am I?');
      assert.is(prompts(world).length, 6);
    }),
  );

  check('takes everything that a request brings, and not the last message alone', () =>
    withBridge({ scripts: [replying('One.'), answering((_words, request) => messagesTo(request))] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.conversations.create();
      await client.responses.create({ input: 'First', conversation: id });
      const input = [said('user', 'The code is 1234.'), said('assistant', 'Noted.'), said('user', 'The code?')];
      const { output_text } = await client.responses.create({ input, conversation: id });
      for (const words of ['First', 'One.', 'The code is 1234.', 'Noted.'])
        assert.ok(output_text.includes(words), words);
      assert.equal((await linesIn(client, id)).slice(2, 5), [
        'user: The code is 1234.',
        'assistant: Noted.',
        'user: The code?',
      ]);
      assert.is(sessionsMade(world).length, 1);
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

  check('takes items once from a client that tries again, and as often as they are sent otherwise', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create({ items: [said('user', 'A')] });
      const add = async (headers = {}) => {
        const items = [said('user', 'B'), said('assistant', 'C')];
        const response = await world.send(`/v1/conversations/${id}/items`, { items }, headers);
        return ((await response.json()) as { data: { id: string }[] }).data.map((item) => item.id);
      };
      const again = { 'x-stainless-retry-count': '1' };
      const first = await add();
      assert.equal(await add(again), first);
      assert.equal(await linesIn(client, id), ['user: A', 'user: B', 'assistant: C']);
      await add();
      assert.is((await linesIn(client, id)).length, 5);
      await client.responses.create({ input: 'One', conversation: id });
      assert.not.equal(await add(again), first);
      assert.is((await linesIn(client, id)).length, 9);
    }),
  );

  for (const lost of ['B', 'C'])
    check(`holds none of the items where the connection breaks after ${lost} was stored`, () =>
      withClient(async (client, world) => {
        const { id } = await client.conversations.create({ items: [said('user', 'A'), said('user', 'B')] });
        const { handler } = world.agent.server;
        world.replaceAgent(async (request) => {
          const text = await request.clone().text();
          const response = await handler(request);
          if (!text.includes('An earlier item') || !text.includes(`\\"${lost}\\"`)) return response;
          await response.text();
          world.replaceAgent(handler);
          throw new HttpClientError('ECONNRESET');
        });
        const items = [said('user', 'B'), said('user', 'C')];
        assert.is((await world.send(`/v1/conversations/${id}/items`, { items })).status, 502);
        assert.equal(await linesIn(client, id), ['user: A', 'user: B']);
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

  for (const isNamed of [false, true])
    check(
      `ends what runs in it when it is deleted, and does not run it again${isNamed ? ', under any name' : ''}`,
      () => {
        const model = dictated();
        const script = byPrompt({ story: model.script }, replying('Well.'));
        return withBridge({ scripts: Array(4).fill(script) }, async (world) => {
          const client = clientOf(world);
          const conversation = isNamed ? 'my-own' : (await client.conversations.create()).id;
          const running = failureOf(client.responses.create({ input: 'story', conversation }));
          await model.begun;
          await client.conversations.delete(conversation);
          await model.left;
          assert.match(await running, /^(?:404|502)/);
          await quietTime(30);
          assert.equal([prompts(world).length, sessionsMade(world).length, sessionsDeleted(world).length], [1, 1, 1]);
          assert.is(await failureOf(client.conversations.retrieve(conversation)), '404 not_found');
        });
      },
    );

  check('waits for the turn that runs in it before it takes items', () => {
    const model = dictated();
    return withBridge({ scripts: [model.script] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.conversations.create();
      const running = client.responses.create({ input: 'story', conversation: id });
      await model.begun;
      const added = client.conversations.items.create(id, { items: [said('user', 'later')] });
      await quietTime(20);
      model.addReply('The end.');
      model.end();
      await Promise.all([running, added]);
      assert.equal(await linesIn(client, id), ['user: story', 'assistant: The end.', 'user: later']);
      assert.is((await client.responses.retrieve((await running).id)).output_text, 'The end.');
    });
  });

  check('is continued by a chat with its name, which sends its whole history each time', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create();
      const headers = { 'x-session-id': id };
      const first = await world.chat({ messages: [user('One')] }, headers);
      const history = [user('One'), assistant(first.text)];
      const second = await world.chat({ messages: [...history, user('Two')] }, headers);
      assert.equal([second.text, second.name], ['Two: 3', id]);
      const edited = await world.chat({ messages: [user('Another'), assistant('B'), user('Three')] }, headers);
      assert.is.not(edited.name, id);
      assert.equal(await linesIn(client, id), ['user: One', 'assistant: One: 1', 'user: Two', 'assistant: Two: 3']);
      assert.is(sessionsMade(world).length, 2);
      const unknown = { 'x-session-id': 'conv_x_000000000000' };
      assert.is((await world.send('/v1/chat/completions', { messages: [user('One')] }, unknown)).status, 404);
    }),
  );

  check('takes no items while an approval is open there, and goes on with the decision', () => {
    const { given, paid } = paying([pay(5), reporting]);
    return withBridge(given, async (world) => {
      const client = clientOf(world);
      const { id } = await client.conversations.create();
      const asked = await client.responses.create({ input: 'pay', conversation: id });
      const added = client.conversations.items.create(id, { items: [said('user', 'now')] });
      assert.is(await failureOf(added), '409 conflict');
      const decided = await client.responses.create({ input: `approve ${idIn(asked.output_text)}`, conversation: id });
      assert.match(decided.output_text, 'So: paid');
      assert.equal(paid, [{ amount: 5 }]);
      await client.conversations.items.create(id, { items: [said('user', 'later')] });
      assert.is((await linesIn(client, id)).at(-1), 'user: later');
    });
  });

  for (const background of [false, true])
    check(
      `has the calls of its client's functions, and what came of them${background ? ', in the background' : ''}`,
      () => {
        const scripts = [calling({ name: 'weather', input: { city: 'Oslo' } }), replying('It rains.')];
        return withBridge({ scripts }, async (world) => {
          const client = clientOf(world);
          const { id } = await client.conversations.create();
          const parameters = { type: 'object', properties: { city: { type: 'string' } } };
          const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }];
          const respond = async (input: OpenAI.Responses.ResponseInput) => {
            const begun = await client.responses.create({ input, tools, conversation: id, background });
            await until(async () => (await client.responses.retrieve(begun.id)).status === 'completed');
            return client.responses.retrieve(begun.id);
          };
          const asked = await respond([said('user', 'The weather?')]);
          const [call] = asked.output;
          if (call?.type !== 'function_call') throw new Error('no call');
          assert.equal([call.name, call.arguments], ['weather', '{"city":"Oslo"}']);
          const early = client.conversations.items.create(id, { items: [said('user', 'x')] });
          assert.is(await failureOf(early), '409 conflict');
          const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'rain' };
          const answered = await respond([result]);
          assert.is(answered.output_text, 'It rains.');
          assert.equal((await client.responses.retrieve(asked.id)).output, asked.output);
          const inputs = await Promise.all([asked, answered].map((one) => client.responses.inputItems.list(one.id)));
          assert.equal(
            inputs.map((page) => page.data.map(({ type }) => type)),
            [['message'], ['function_call_output']],
          );
          assert.equal(await linesIn(client, id), [
            'user: The weather?',
            'function_call',
            'function_call_output',
            'assistant: It rains.',
          ]);
          const { data } = await client.conversations.items.list(id, { order: 'asc' });
          assert.equal([data[1], data[3]], [call, answered.output[0]]);
          const output = data[2];
          assert.equal(output?.type === 'function_call_output' && [output.call_id, output.output], [
            call.call_id,
            'rain',
          ]);
        });
      },
    );

  check('takes nothing of a client that leaves while it waits, and holds nobody up for it', () => {
    const model = dictated();
    return withBridge({ scripts: [model.script, replying('Well.')] }, async (world) => {
      const client = clientOf(world);
      const { id } = await client.conversations.create();
      const running = client.responses.create({ input: 'story', conversation: id });
      await model.begun;
      const leaving = new AbortController();
      const added = world.send(`/v1/conversations/${id}/items`, { items: [said('user', 'x')] }, {}, leaving.signal);
      await quietTime(10);
      leaving.abort();
      assert.is((await added).status, 499);
      model.end();
      await running;
      assert.is((await client.responses.create({ input: 'more', conversation: id })).output_text, 'Well.');
      assert.not.ok((await linesIn(client, id)).includes('user: x'));
    });
  });

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

  check('stays when its only response is deleted, with the items in it', () =>
    withClient(async (client) => {
      const { id } = await client.conversations.create({ items: [said('user', 'A')] });
      const response = await client.responses.create({ input: 'One', conversation: id });
      await client.responses.delete(response.id);
      assert.is(await failureOf(client.responses.retrieve(response.id)), '404 not_found');
      assert.is((await linesIn(client, id))[0], 'user: A');
      await client.responses.create({ input: 'Two', conversation: id });
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

  check('is the memory of an agent of the OpenAI Agents SDK', () =>
    withClient(async (client) => {
      const session = new OpenAIConversationsSession({ client: client as never });
      const modelProvider = new OpenAIProvider({ openAIClient: client as never, useResponses: true });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const agent = new Agent({ name: 'A', instructions: 'Be brief.', model: 'demo/main' });
      const ask = async (words: string) => (await runner.run(agent, words, { session })).finalOutput;
      assert.is(await ask('One'), 'One: 1');
      assert.is(await ask('Two'), 'Two: 3');
      assert.is((await session.getItems()).length, 4);
      await session.popItem();
      assert.is((await session.getItems()).length, 3);
      const id = await session.getSessionId();
      await session.clearSession();
      assert.is(await failureOf(client.conversations.retrieve(id ?? '')), '404 not_found');
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

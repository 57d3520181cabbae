import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner } from '@openai/agents';
import type OpenAI from 'openai';
import type { APIError } from 'openai';
import * as assert from 'uvu/assert';
import { calling, replying } from '../../../agent/harness/world.ts';
import { describe } from '../../../check.ts';
import { answering, byPrompt, dictated, messagesTo } from '../../harness/model-scripts.ts';
import { idIn, pay, paying, reporting } from '../../harness/recharge-world.ts';
import {
  assistant,
  prompts,
  quietTime,
  sessionsDeleted,
  sessionsMade,
  until,
  user,
  withBridge,
} from '../../harness/world.ts';
import { clientOf, failureOf, linesIn, said, withClient } from './world.ts';

describe('a conversation of a client', (check) => {
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

  for (const isNamed of [false, true])
    check(
      `ends what runs in it when it is deleted, and does not run it again${isNamed ? ', under any name' : ''}`,
      () => {
        const model = dictated();
        const script = byPrompt({ story: model.script }, replying('Well.'));
        return withBridge({ scripts: Array(4).fill(script) }, async (world) => {
          const client = clientOf(world);
          const conversation = isNamed ? 'my-own' : (await client.conversations.create()).id;
          const ended = client.responses.create({ input: 'story', conversation }).then(
            ({ output_text }) => output_text,
            ({ status }: APIError) => status,
          );
          await model.begun;
          await client.conversations.delete(conversation);
          await model.left;
          // Its answer ends, or is not there any more when its reader looks.
          assert.ok(['', 502].includes((await ended) ?? 0));
          await quietTime(30);
          assert.equal([prompts(world).length, sessionsMade(world).length, sessionsDeleted(world).length], [1, 1, 1]);
          assert.is(await failureOf(client.conversations.retrieve(conversation)), '404 not_found');
        });
      },
    );

  check('is continued by a chat with its name, which sends its whole history each time', () =>
    withClient(async (client, world) => {
      const { id } = await client.conversations.create();
      const headers = { 'x-session-id': id };
      const first = await world.chat({ messages: [user('One')] }, headers);
      const history = [user('One'), assistant(first.text)];
      const second = await world.chat({ messages: [...history, user('Two')] }, headers);
      assert.equal([second.text, second.name], ['Two: 3', id]);
      const edited = await world.chat({ messages: [user('Another'), assistant('B'), user('Three')] }, headers);
      assert.is(edited.name, id);
      assert.equal((await linesIn(client, id)).slice(0, 3), ['user: Another', 'assistant: B', 'user: Three']);
      assert.is(sessionsMade(world).length, 2);
      const unknown = { 'x-session-id': `conv_${'0'.repeat(26)}` };
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

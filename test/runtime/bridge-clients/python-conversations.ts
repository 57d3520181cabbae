import * as assert from 'uvu/assert';
import { answer, calls } from '../../../src/demo/model/reply.ts';
import type { Check } from '../../check.ts';
import { isNoTitle } from '../agent/world.ts';
import { asked, newText } from '../bridge/clients.ts';
import { lookup } from '../bridge/own-tools.ts';
import type { PythonToolNeeds } from './python-tools.ts';

type Needs = Pick<PythonToolNeeds, 'beside'> & Omit<PythonToolNeeds['clients'][number], 'name' | 'client'>;

/** What the openai package and the sessions of OpenAI's agents keep at the bridge, and what they read of it again. */
export const checkPythonConversations = (check: Check, { missing, call, beside }: Needs): void => {
  check.needing(
    missing,
    '(openai) has a conversation, reads what was said in it, and deletes it',
    beside(missing, async (world) => {
      const [first, second] = [newText(), newText()];
      for (const reply of ['Good day.', 'And you?']) world.model.addReply(reply, isNoTitle);
      assert.equal(await call('openai_clients.conversation', world.bridge, [first, second]), {
        answers: ['Good day.', 'And you?'],
        said: [first, 'Good day.', second, 'And you?'],
        metadata: { topic: 'weather' },
        deleted: true,
      });
      assert.equal(
        asked(world)[1]?.turns.map(({ text }) => text),
        [first, 'Good day.', second],
      );
    }),
  );

  check.needing(
    missing,
    '(openai) fetches a response that was made in the background',
    beside(missing, async (world) => {
      world.model.addReply('Good day.', isNoTitle);
      const background = await call('openai_clients.background', world.bridge, [newText()]);
      assert.equal(background, [true, 'completed', 'Good day.']);
    }),
  );

  check.needing(
    missing,
    '(openai) cancels a response in the background',
    beside(missing, async (world) => {
      world.model.addReply(answer([{ kind: 'hang' }]), isNoTitle);
      const statuses = await call('openai_clients.cancelled', world.bridge, [newText()]);
      assert.equal(statuses, ['cancelled', 'cancelled']);
    }),
  );

  check.needing(
    missing,
    '(openai) lists the input of a response, and has the tokens of a request estimated',
    beside(missing, async (world) => {
      const words = newText();
      world.model.addReply('Good day.', isNoTitle);
      assert.equal(await call('openai_clients.input_items', world.bridge, [words]), [words]);
      const tokens = (await call('openai_clients.input_tokens', world.bridge, [words])) as number;
      assert.ok(tokens > 0 && tokens < words.length, String(tokens));
      assert.is(asked(world).length, 1);
    }),
  );

  for (const [name, client] of [
    ['SQLite', 'agents_clients.sqlite_session'],
    ['conversations', 'agents_clients.conversations_session'],
  ] as const)
    check.needing(
      missing,
      `(OpenAI Agents, a session of ${name}) keeps what was said`,
      beside(missing, async (world) => {
        const [first, second] = [newText(), newText()];
        for (const reply of ['Good day.', 'And you?']) world.model.addReply(reply, isNoTitle);
        assert.equal(await call(client, world.bridge, [first, second]), {
          answers: ['Good day.', 'And you?'],
          roles: ['user', 'assistant', 'user', 'assistant'],
          left: 3,
        });
        assert.equal(
          asked(world)[1]?.turns.map(({ text }) => text),
          [first, 'Good day.', second],
        );
      }),
    );

  check.needing(
    missing,
    '(OpenAI Agents, a session of conversations) keeps the calls of its own tools and their results',
    beside(missing, async (world) => {
      const [first, second] = [newText(), newText()];
      world.model.addReply(answer(calls(lookup('Oslo'))), isNoTitle);
      for (const reply of ['It is five.', 'And you?']) world.model.addReply(reply, isNoTitle);
      const client = 'agents_clients.conversations_session_with_tools';
      assert.equal(await call(client, world.bridge, [first, second]), {
        answers: ['It is five.', 'And you?'],
        roles: ['user', 'function_call', 'function_call_output', 'assistant', 'user', 'assistant'],
        left: 5,
        ran: ['Oslo'],
      });
      assert.equal(
        asked(world)[2]?.turns.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'assistant', 'user'],
      );
    }),
  );
};

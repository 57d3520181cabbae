import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { asked, newText, sessionsOf } from '../bridge/clients.ts';
import { type BridgeProcess, sharedBridgeWorld } from '../bridge/world.ts';

// What Open WebUI sends for one chat, with ENABLE_FORWARD_USER_INFO_HEADERS: its requests, not the program.

const beside = sharedBridgeWorld();

type Message = { readonly role: 'user' | 'assistant'; readonly content: string };

const headersOf = (chat: string) => ({
  'x-openwebui-user-name': 'Ana%20Silva',
  'x-openwebui-user-id': '5d1c',
  'x-openwebui-user-email': 'ana@example.com',
  'x-openwebui-user-role': 'user',
  'x-openwebui-chat-id': chat,
});

const sendChat = async ({ send }: BridgeProcess, chat: string, body: object): Promise<string> => {
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    headers: headersOf(chat),
    body: JSON.stringify({ model: 'demo/main', ...body }),
  });
  assert.is(response.status, 200);
  return response.text();
};

const textOfStream = (stream: string): string =>
  [...stream.matchAll(/^data: (\{.*\})$/gm)]
    .map(([, data = '']) => JSON.parse(data) as { choices: readonly { delta?: { content?: string } }[] })
    .map(({ choices }) => choices[0]?.delta?.content ?? '')
    .join('');

/** The three jobs after an answer: a title, tags, and what a person may ask next. They carry the id of the chat. */
const jobsOf = (messages: readonly Message[]): readonly string[] => {
  const history = messages.map(({ role, content }) => `${role.toUpperCase()}: ${content}`).join('\n');
  const tasks = [
    'Generate a concise, 3-5 word title with an emoji summarizing the chat history.',
    'Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific subtopic tags.',
    'Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this conversation.',
  ];
  return tasks.map((task) => `### Task:\n${task}\n### Chat History:\n<chat_history>\n${history}\n</chat_history>`);
};

describe("Open WebUI's requests", (check) => {
  check(
    'for a title, tags and follow-up questions leave the session of the chat as it is',
    beside(async (world) => {
      const chat = newText().replaceAll(' ', '-');
      const [first, second] = [newText(), newText()];
      const before = (await sessionsOf(world)).length;
      world.model.addReply('Good day.', isNoTitle);
      const messages: Message[] = [{ role: 'user', content: first }];
      const streamed = { stream: true, stream_options: { include_usage: true }, messages };
      assert.is(textOfStream(await sendChat(world.bridge, chat, streamed)), 'Good day.');
      messages.push({ role: 'assistant', content: 'Good day.' });

      const isJob = ({ turns }: { turns: readonly { text: string }[] }) =>
        turns.some(({ text }) => text.includes('### Task'));
      world.model.alwaysReply('{"title":"A day"}', isJob);
      const jobs = jobsOf(messages).map((content) => ({ stream: false, messages: [{ role: 'user', content }] }));
      const answers = await Promise.all(jobs.map((job) => sendChat(world.bridge, chat, job)));
      for (const answer of answers) assert.match(answer, String.raw`{\"title\":\"A day\"}`);
      assert.is(asked(world).filter(isJob).length, 3);
      await until('their sessions are gone', async () => (await sessionsOf(world)).length === before + 1);

      world.model.addReply('And you?', isNoTitle);
      messages.push({ role: 'user', content: second });
      assert.is(textOfStream(await sendChat(world.bridge, chat, { stream: true, messages })), 'And you?');
      const turns = asked(world)
        .at(-1)
        ?.turns.map(({ text }) => text);
      assert.equal(turns, [first, 'Good day.', second]);
      assert.is((await sessionsOf(world)).length, before + 1);
    }),
  );
});

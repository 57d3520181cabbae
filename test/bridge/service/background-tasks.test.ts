import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { toolNamed } from '../../agent/harness/world.ts';
import { describe } from '../../check.ts';
import { openStream } from '../harness/live-stream.ts';
import { answering, dictated, messagesTo } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeGiven,
  type BridgeWorld,
  begins,
  quietTime,
  sessionsDeleted,
  sessionsMade,
  turnsBegun,
  until,
  user,
  withBridge,
} from '../harness/world.ts';

const polite = answering((words) => (words.length > 100 ? 'A title' : `re ${words}`));
const TASK = `### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Chat History:
<chat_history>
USER: hi
ASSISTANT: re hi
</chat_history>`;
const FASTER = 20;
const CHAT_IDS = { 'x-openwebui-chat-id': 'chat-1', 'x-session-id': 'chat-1' };

/** An agent that knows a small model, too; the one behind it here is the same. */
const withSmall = (given: BridgeGiven, body: (world: BridgeWorld) => Promise<void>): Promise<void> =>
  withBridge({ scripts: [polite], tools: [toolNamed('look')], ...given }, async (world) => {
    world.replaceAgent(async (request) => {
      if (request.method !== 'POST' || !request.url.endsWith('/turns')) return world.agent.server.handler(request);
      const text = (await request.text()).replace('"modelID":"small"', '"modelID":"main"');
      const { url, method, headers, signal } = request;
      return world.agent.server.handler(new Request(url, { method, headers, signal, body: text }));
    });
    await body(world);
  });

type PromptBody = {
  readonly model: { readonly modelID: string };
  readonly tools?: Readonly<Record<string, boolean>>;
  readonly isStored: boolean;
};
const promptBodies = (world: BridgeWorld) => begins(world).map(({ body }) => body as PromptBody);

describe('a job of a chat front end', (check) => {
  check("is done by the small model, without tools, in a session that is deleted, and not in the chat's own", () =>
    withSmall({}, async (world) => {
      const stream = await openStream(world, { messages: [user('hi')] }, { headers: CHAT_IDS });
      assert.is(await stream.rest(), 're hi');
      const titled = await world.chat({ messages: [user(TASK)] }, CHAT_IDS);
      assert.is(titled.text, 'A title');
      const [chat, job] = promptBodies(world);
      assert.equal([chat?.isStored, job?.isStored], [true, false]);
      assert.equal([chat?.model.modelID, job?.model.modelID], ['main', 'small']);
      assert.equal([chat?.tools, job?.tools], [undefined, { '*': false }]);
      assert.ok(world.agent.asked[0]?.tools.some(({ name }) => name === 'look'));
      assert.equal(world.agent.asked[1]?.tools, []);
      const next = await openStream(
        world,
        { messages: [user('hi'), assistant('re hi'), user('more')] },
        { headers: CHAT_IDS },
      );
      assert.is(await next.rest(), 're more');
      assert.not.match(messagesTo(world.agent.asked[2]), 'Task');
      assert.is(sessionsMade(world).length, 2);
    }),
  );

  check('does not wait for the chat, nor the chat for it', async () => {
    const model = dictated();
    await withSmall({ scripts: [model.script, polite] }, async (world) => {
      const stream = await openStream(world, { messages: [user('story')] }, { headers: CHAT_IDS });
      await model.begun;
      assert.is((await world.chat({ messages: [user(TASK)] }, CHAT_IDS)).text, 'A title');
      model.addReply('The end');
      model.end();
      assert.is(await stream.rest(), 'The end');
    });
  });

  check('by its own instructions, or at the end of the whole chat, is one too', () =>
    withSmall({}, async (world) => {
      const first = await world.chat({ messages: [user('hi')] });
      const zed =
        'Generate a concise 3-7 word title for this conversation, omitting punctuation. Go straight to the title';
      const asked = [user('hi'), assistant('re hi'), user(zed)];
      await world.chat({ messages: asked });
      const instructions = 'You are a title generator. You output ONLY a thread title. Nothing else.';
      await world.chat({ messages: [{ role: 'system', content: instructions }, user('hi')] });
      await (await world.send('/v1/responses', { input: TASK })).text();
      assert.is(turnsBegun(world).filter(({ isStored }) => !isStored).length, 3);
      assert.equal(
        promptBodies(world).map(({ model }) => model.modelID),
        ['main', 'small', 'small', 'small'],
      );
      const on = await world.chat({ messages: [user('hi'), assistant('re hi'), user('more')] });
      assert.is(on.name, first.name);
    }),
  );

  check('that is none, though it talks of titles, is answered like everything else', () =>
    withSmall({}, async (world) => {
      await world.chat({ messages: [user('Generate a title for my book about 3-5 gnomes')] });
      const stream = await openStream(world, { messages: [user(TASK)] });
      await stream.rest();
      assert.equal(
        promptBodies(world).map(({ model }) => model.modelID),
        ['main', 'main'],
      );
      assert.is(sessionsDeleted(world).length, 0);
    }),
  );

  check('whose client leaves is ended, and its session deleted all the same', async () => {
    const model = dictated();
    await withSmall({ scripts: [model.script] }, async (world) => {
      const leaving = new AbortController();
      const answered = world.send('/v1/chat/completions', { messages: [user(TASK)] }, {}, leaving.signal);
      await model.begun;
      leaving.abort();
      await answered;
      await model.left;
      assert.is(turnsBegun(world).filter(({ isStored }) => !isStored).length, 1);
    });
  });
});

/** The time of an agent for which ten seconds pass in half a one. */
const fastClock: Clock = {
  now: () => systemClock.now() * FASTER,
  // A timer may be early by a millisecond of the machine, which is twenty here.
  after: (ms, task) => systemClock.after(ms / FASTER + 2, task),
};

describe('a conversation that is not to be kept', (check) => {
  const isGone = async (world: BridgeWorld, count: number) => {
    assert.is(turnsBegun(world).filter(({ isStored }) => !isStored).length, count);
    await until(async () => (await world.agent.store.sessions({})).length === 0);
  };

  check('is deleted at the agent ten seconds after its answer was read', () =>
    withBridge({ scripts: [polite], changes: { clock: fastClock } }, async (world) => {
      assert.is((await world.chat({ messages: [user('hi')], store: false })).text, 're hi');
      await quietTime(100);
      assert.is((await world.agent.store.sessions({})).length, 1);
      await isGone(world, 1);
      const response = await world.send('/v1/responses', { input: 'hi', store: false });
      const { id } = (await response.json()) as { id: string };
      await isGone(world, 2);
      assert.is((await world.send(`/v1/responses/${id}`)).status, 404);
      const after = await world.send('/v1/responses', { input: 'more', previous_response_id: id });
      assert.is(after.status, 400);
      const on = await world.chat({ messages: [user('hi'), assistant('re hi'), user('more')], store: false });
      assert.is(on.text, 're more');
      assert.match(messagesTo(world.agent.asked.at(-1)), 're hi');
      await isGone(world, 3);
    }),
  );

  check('is kept all the same when it is named', () =>
    withBridge({ scripts: [polite] }, async (world) => {
      const headers = { 'x-session-id': 'desk' };
      await world.chat({ messages: [user('hi')], store: false }, headers);
      await world.chat({ messages: [user('more')], store: false }, headers);
      assert.match(messagesTo(world.agent.asked.at(-1)), 're hi');
      assert.is(sessionsDeleted(world).length, 0);
    }),
  );
});

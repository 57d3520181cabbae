import { createOpencodeClient as createFirst } from '@opencode-ai/sdk/client';
import { createOpencodeClient as createSecond } from '@opencode-ai/sdk/v2/client';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { type AgentProcess, basic, PASSWORD, USER } from './process.ts';
import { type AgentWorld, inAgentWorld, isNoTitle, isTitle, messagesOf, promptTexts } from './world.ts';

const clientsOf = ({ address }: AgentProcess) => {
  const settings = { baseUrl: address, headers: { authorization: basic(USER, PASSWORD) } };
  return { first: createFirst(settings), second: createSecond(settings) };
};
type SdkWorld = AgentWorld & ReturnType<typeof clientsOf> & { readonly agent: AgentProcess };

const inSdkWorld = (body: (world: SdkWorld) => Promise<void>) =>
  inAgentWorld(async (world) => {
    const agent = await world.start();
    await body({ ...world, ...clientsOf(agent), agent });
  });

/** What a call of the client brought; fails when it brought an error. */
const dataOf = async <Data>(calling: Promise<{ data?: Data; error?: unknown }>): Promise<NonNullable<Data>> => {
  const { data, error } = await calling;
  if (data === undefined || data === null) throw new Error(`the client says ${JSON.stringify(error)}`);
  return data as NonNullable<Data>;
};

/** A session in which two prompts were answered. */
const startChat = async ({ model, second }: SdkWorld): Promise<string> => {
  model.alwaysReply('A fine title', isTitle);
  for (const words of ['First.', 'Second.', 'Third.', 'Fourth.']) model.addReply(words, isNoTitle);
  const { id: sessionID } = await dataOf(second.session.create({ title: 'Plan' }));
  for (const text of ['one', 'two'])
    await dataOf(second.session.prompt({ sessionID, parts: [{ type: 'text', text }] }));
  return sessionID;
};
const textsOf = async ({ agent }: SdkWorld, id: string): Promise<readonly string[]> =>
  (await messagesOf(agent, id)).map(({ parts }) => promptTexts(parts));

describe('the clients of the SDK', (check) => {
  check(
    'fork a session, whole and up to a message',
    inSdkWorld(async (world) => {
      const { first, second, agent } = world;
      const sessionID = await startChat(world);
      const whole = await dataOf(second.session.fork({ sessionID }));
      assert.is(whole.title, 'Plan (fork #1)');
      assert.equal(await textsOf(world, whole.id), ['one', 'First.', 'two', 'Second.']);
      const messageID = (await messagesOf(agent, sessionID))[2]?.info.id ?? '';
      const half = await dataOf(first.session.fork({ path: { id: sessionID }, body: { messageID } }));
      assert.equal(await textsOf(world, half.id), ['one', 'First.']);
      await dataOf(second.session.prompt({ sessionID: half.id, parts: [{ type: 'text', text: 'three' }] }));
      assert.equal(await textsOf(world, half.id), ['one', 'First.', 'three', 'Third.']);
      assert.is((await textsOf(world, sessionID)).length, 4);
    }),
  );

  check(
    'turn a session back, take that back, and go on from there, over a restart too',
    inSdkWorld(async (world) => {
      const { first, second, agent, start, database } = world;
      const sessionID = await startChat(world);
      const messageID = (await messagesOf(agent, sessionID))[2]?.info.id ?? '';
      const reverted = await dataOf(second.session.revert({ sessionID, messageID }));
      assert.equal(reverted.revert, { messageID });
      assert.is((await dataOf(first.session.unrevert({ path: { id: sessionID } }))).revert, undefined);
      await dataOf(first.session.revert({ path: { id: sessionID }, body: { messageID } }));
      await agent.signal('SIGTERM');
      const again = await start({ variables: { AGENT_DATABASE_URL: `sqlite:${database}` } });
      const later = clientsOf(again).second;
      assert.equal((await dataOf(later.session.get({ sessionID }))).revert, { messageID });
      const events = await again.listen();
      await dataOf(later.session.prompt({ sessionID, parts: [{ type: 'text', text: 'three' }] }));
      await events.until('a message to be removed', ({ type }) => type === 'message.removed');
      events.leave();
      assert.equal(await textsOf({ ...world, agent: again }, sessionID), ['one', 'First.', 'three', 'Third.']);
      const asked = JSON.stringify(world.model.requests().filter(isNoTitle).at(-1)?.turns);
      assert.not.match(asked, 'two');
    }),
  );

  check(
    'have a session summed up, and remove a message',
    inSdkWorld(async (world) => {
      const { first, second } = world;
      const sessionID = await startChat(world);
      const chosen = { providerID: 'demo', modelID: 'small' };
      assert.is(await dataOf(second.session.summarize({ sessionID, ...chosen })), true);
      const asked = world.model.requests().filter(isNoTitle).at(-1);
      assert.is(asked?.model, 'small');
      const messages = await messagesOf(world.agent, sessionID);
      assert.is(messages.length, 6);
      const messageID = messages.at(-1)?.info.id ?? '';
      assert.is(await dataOf(second.session.deleteMessage({ sessionID, messageID })), true);
      assert.is((await messagesOf(world.agent, sessionID)).length, 5);
      const gone = await second.session.deleteMessage({ sessionID, messageID });
      assert.is(gone.response?.status, 404);
      const unknown = await first.session.summarize({
        path: { id: sessionID },
        body: { providerID: 'demo', modelID: 'no-such' },
      });
      assert.is(unknown.response?.status, 400);
    }),
  );

  check(
    'get the lists beside sessions, and empty ones for what is not supported',
    inSdkWorld(async ({ first, second, directory }) => {
      const { id: sessionID } = await dataOf(second.session.create({}));
      assert.equal(await dataOf(second.session.todo({ sessionID })), []);
      assert.equal(await dataOf(second.session.diff({ sessionID })), []);
      assert.equal(await dataOf(first.command.list()), []);
      assert.equal(await dataOf(second.app.skills()), []);
      assert.equal(await dataOf(second.question.list()), []);
      assert.equal(await dataOf(first.lsp.status()), []);
      assert.equal(await dataOf(second.formatter.status()), []);
      assert.equal(await dataOf(second.vcs.get()), {});
      assert.equal(await dataOf(second.provider.auth()), {});
      assert.is((await dataOf(second.global.config.get())).model, 'demo/main');
      assert.is((await dataOf(second.project.current())).worktree, directory);
      assert.is((await dataOf(first.project.list())).length, 1);
      assert.is((await dataOf(second.v2.location.get())).directory, directory);
      assert.equal((await dataOf(second.v2.model.list())).data, []);
      assert.is(await dataOf(first.app.log({ body: { service: 'sdk', level: 'info', message: 'canary-log' } })), true);
      const { response, error } = await second.session.share({ sessionID });
      assert.is(response?.status, 404);
      assert.match(JSON.stringify(error), 'does not offer sharing');
    }),
  );
});

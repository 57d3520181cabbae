import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { isRecord } from '../../../src/core/json.ts';
import { describe } from '../../check.ts';
import { ask, messagesOf, until } from '../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, hanging, outcome, replying, toolNamed } from '../harness/world.ts';

const forked = async (world: AgentWorld, id: string, body?: unknown): Promise<Session> =>
  (await world.post(`/session/${id}/fork`, body)) as Session;

/** A talk with a call whose output was cut: two prompts, three answers. */
const startChat = async (more: Parameters<typeof createAgentWorld>[0] = {}) => {
  const look = toolNamed('look', async () => outcome('line\n'.repeat(3000)));
  const scripts = [calling({ name: 'look', input: {} }), replying('seen'), replying('again')];
  const world = await createAgentWorld({ tools: [look], scripts, titler: null, ...more });
  const id = await world.session({ title: 'Plan', metadata: { ours: 1 } });
  await ask(world, id, 'one');
  await ask(world, id, 'two');
  return { world, id, history: await messagesOf(world, id) };
};

/** A text of JSON with every id of the one replaced by the id in the same place of the other. */
const renamed = (reported: unknown, from: readonly string[], to: readonly string[]): unknown =>
  JSON.parse(from.reduce((text, id, place) => text.replaceAll(id, to[place] ?? '?'), JSON.stringify(reported)));
const idsIn = (value: unknown): readonly string[] => [
  ...new Set([...JSON.stringify(value).matchAll(/(?:ses|msg|prt)_\w{26}/g)].map(([id]) => id)),
];

describe('a fork', (check) => {
  check('holds the same under new ids, which name each other as the old ones do', async () => {
    const { world, id, history } = await startChat();
    const session = await forked(world, id);
    assert.is(session.title, 'Plan (fork #1)');
    assert.equal([session.metadata, session.cost, session.agent], [{ ours: 1 }, 0, 'build']);
    assert.is(session.parentID, undefined);
    const copies = await messagesOf(world, session.id);
    assert.is(copies.length, 5);
    const [olds, news] = [idsIn(history), idsIn(copies)];
    assert.equal(
      news.filter((one) => olds.includes(one)),
      [],
    );
    assert.equal(renamed(copies, news, olds), history);
    assert.equal(await messagesOf(world, id), history, 'the first one is what it was');
  });

  check('has the whole of an output that was cut', async () => {
    const { world, id, history } = await startChat();
    const session = await forked(world, id);
    const outputOf = async (sessionID: string, messages: typeof history): Promise<string> => {
      const { info, parts } = messages[1] ?? { info: { id: '' }, parts: [] };
      const part = parts.find(({ type }) => type === 'tool');
      const path = `/session/${sessionID}/message/${info.id}/part/${part?.id}/output`;
      return (await world.call('GET', path)).text();
    };
    const whole = await outputOf(id, history);
    assert.is(whole.length, 15_000);
    assert.is(await outputOf(session.id, await messagesOf(world, session.id)), whole);
  });

  check('ends before the message that is named, and goes on by itself', async () => {
    const { world, id, history } = await startChat();
    const session = await forked(world, id, { messageID: history[3]?.info.id });
    assert.is((await messagesOf(world, session.id)).length, 3);
    await ask(world, session.id, 'three');
    const reported = world.asked.at(-1)?.messages.map(({ role }) => role);
    assert.equal(reported, ['user', 'assistant', 'tool', 'assistant', 'user']);
    assert.is((await messagesOf(world, id)).length, 5);
    assert.is(((await world.get(`/session/${session.id}`)) as Session).title, 'Plan (fork #1)');
    const again = await forked(world, session.id);
    assert.is(again.title, 'Plan (fork #2)');
  });

  check('is reported once, when it is whole', async () => {
    const { world, id } = await startChat();
    const before = (await world.events()).length;
    const session = await forked(world, id);
    const reported = (await world.events()).slice(before);
    assert.equal(
      reported.map(({ type, properties }) => [type, 'sessionID' in properties && properties.sessionID]),
      [['session.created', session.id]],
    );
  });

  check('of a busy session has what is over, and the run goes on', async () => {
    const { world, id } = await startChat({ scripts: [replying('first'), replying('second'), hanging] });
    const answer = ask(world, id, 'three');
    await until(world, () => world.asked.length === 3);
    void ask(world, id, 'four').catch(() => {});
    await until(world, async () => (await messagesOf(world, id)).length === 7);
    const session = await forked(world, id);
    assert.is((await messagesOf(world, session.id)).length, 4);
    assert.equal(Object.keys((await world.get('/session/status')) as object), [id]);
    await world.post(`/session/${id}/abort`);
    await answer;
  });

  check('leaves nothing behind when it fails half way', async () => {
    const { world, id } = await startChat();
    const before = (await world.get('/session')) as readonly Session[];
    const { commit } = world.store;
    const kinds: string[] = [];
    Object.assign(world.store, {
      commit: async (...given: Parameters<typeof commit>) => {
        kinds.push(...given[0].map(({ kind }) => kind));
        if (given[1].some(({ draft }) => draft.type === 'session.created')) throw new Error('The disk is full');
        return commit(...given);
      },
    });
    assert.is((await world.call('POST', `/session/${id}/fork`)).status, 500);
    Object.assign(world.store, { commit });
    assert.equal(await world.get('/session'), before);
    assert.is(kinds.at(-1), 'session-given-up');
  });

  check('is refused for a session or a message that there is not', async () => {
    const { world, id } = await startChat();
    const missing = 'msg_000000000000AAAAAAAAAAAAAA';
    const refused = await world.call('POST', `/session/${id}/fork`, { messageID: missing });
    assert.is(refused.status, 404);
    assert.equal(await refused.json(), {
      name: 'NotFoundError',
      data: { message: `message "${missing}" was not found` },
    });
    assert.is((await world.call('POST', '/session/ses_0/fork')).status, 404);
    const odd: unknown = await (await world.call('POST', `/session/${id}/fork`, { messageId: missing })).json();
    assert.ok(isRecord(odd) && odd.name === 'BadRequest', 'a slip in the name is not taken for a whole fork');
  });
});

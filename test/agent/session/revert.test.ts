import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { ask, messagesOf, until } from '../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, hanging, prompt, replying, toolNamed } from '../harness/world.ts';

const startChat = async (scripts = [replying('first'), replying('second'), replying('third')]) => {
  const world = await createAgentWorld({ titler: null, scripts, tools: [toolNamed('look')] });
  const id = await world.session({ title: 'Plan' });
  await ask(world, id, 'one');
  await ask(world, id, 'two');
  return { world, id, history: await messagesOf(world, id) };
};
const sessionOf = async (world: AgentWorld, id: string): Promise<Session> =>
  (await world.get(`/session/${id}`)) as Session;
const textsOf = (world: AgentWorld): string => JSON.stringify(world.asked.at(-1)?.messages);

describe('a session that is turned back', (check) => {
  check('still shows everything, and says to where', async () => {
    const { world, id, history } = await startChat();
    const messageID = history[2]?.info.id;
    const session = (await world.post(`/session/${id}/revert`, { messageID })) as Session;
    assert.equal(session.revert, { messageID });
    assert.equal(await sessionOf(world, id), session);
    assert.equal(await messagesOf(world, id), history);
    const last = (await world.events()).at(-1);
    assert.equal([last?.type, last?.properties], ['session.updated', { sessionID: id, info: session }]);
  });

  check('goes on with the next prompt without what came after, and no model is sent that', async () => {
    const { world, id, history } = await startChat();
    await world.post(`/session/${id}/revert`, { messageID: history[3]?.info.id });
    const before = (await world.events()).length;
    await ask(world, id, 'three');
    assert.match(textsOf(world), /one.*first.*three/);
    assert.not.match(textsOf(world), /two|second/);
    assert.is((await sessionOf(world, id)).revert, undefined);
    const now = await messagesOf(world, id);
    assert.equal(now.slice(0, 2), history.slice(0, 2));
    assert.is(now.length, 4);
    const reported = (await world.events()).slice(before);
    assert.equal(
      reported.filter(({ type }) => type === 'message.removed').map(({ properties }) => properties),
      history.slice(2).map(({ info }) => ({ sessionID: id, messageID: info.id })),
    );
    assert.equal(
      reported.slice(0, 4).map(({ type }) => type),
      ['session.updated', 'message.removed', 'message.removed', 'message.updated'],
    );
  });

  check('keeps the rest hidden when the message to which it was turned back is deleted', async () => {
    const { world, id, history } = await startChat();
    await world.post(`/session/${id}/revert`, { messageID: history[2]?.info.id });
    await world.call('DELETE', `/session/${id}/message/${history[2]?.info.id}`);
    assert.equal((await sessionOf(world, id)).revert, { messageID: history[3]?.info.id });
    await ask(world, id, 'three');
    assert.match(textsOf(world), /one.*first.*three/);
    assert.not.match(textsOf(world), /two|second/);
    await world.post(`/session/${id}/revert`, { messageID: (await messagesOf(world, id))[2]?.info.id });
    for (const { info } of (await messagesOf(world, id)).slice(2))
      await world.call('DELETE', `/session/${id}/message/${info.id}`);
    assert.is((await sessionOf(world, id)).revert, undefined, 'nothing is hidden any more');
  });

  check('keeps the rest hidden when the part to which it was turned back is deleted', async () => {
    const { world, id, history } = await startChat([
      calling({ name: 'look', input: {} }, { name: 'look', input: { far: 1 } }, { name: 'look', input: { far: 2 } }),
      replying('first'),
      replying('second'),
      replying('third'),
    ]);
    const [, cut] = history;
    const messageID = cut?.info.id ?? '';
    const [, second, third] = cut?.parts.filter(({ type }) => type === 'tool') ?? [];
    await world.post(`/session/${id}/revert`, { messageID, partID: second?.id });
    await world.call('DELETE', `/session/${id}/message/${messageID}/part/${second?.id}`);
    assert.equal((await sessionOf(world, id)).revert, { messageID, partID: third?.id });
    await ask(world, id, 'three');
    assert.not.match(textsOf(world), /two|first|far/);
    assert.match(textsOf(world), /one.*look.*three/);
  });

  check('goes on within an answer, without the rest of it', async () => {
    const { world, id, history } = await startChat([
      calling({ name: 'look', input: {} }, { name: 'look', input: { far: 1 } }),
      replying('first'),
      replying('second'),
      replying('third'),
    ]);
    const cut = history[1];
    const calls = cut?.parts.filter(({ type }) => type === 'tool') ?? [];
    const partID = calls[1]?.id ?? '';
    const messageID = cut?.info.id ?? '';
    const session = (await world.post(`/session/${id}/revert`, { messageID, partID })) as Session;
    assert.equal(session.revert, { messageID, partID });
    await ask(world, id, 'three');
    const now = await messagesOf(world, id);
    assert.equal(
      now[1]?.parts.map((part) => part.id),
      cut?.parts
        .slice(
          0,
          cut.parts.findIndex((part) => part.id === partID),
        )
        .map((part) => part.id),
    );
    assert.is(now.length, 4);
    assert.not.match(textsOf(world), /two|first|far/);
    const removed = (await world.events()).filter(({ type }) => type === 'message.part.removed');
    assert.equal(removed[0]?.properties, { sessionID: id, messageID, partID });
  });

  check('is as before when that is taken back', async () => {
    const { world, id, history } = await startChat();
    await world.post(`/session/${id}/revert`, { messageID: history[0]?.info.id });
    const session = (await world.post(`/session/${id}/unrevert`)) as Session;
    assert.is(session.revert, undefined);
    assert.equal(await world.post(`/session/${id}/unrevert`), session, 'again changes nothing');
    await ask(world, id, 'three');
    assert.match(textsOf(world), /one.*first.*two.*second.*three/);
  });

  check('is forked without what is turned back', async () => {
    const { world, id, history } = await startChat();
    await world.post(`/session/${id}/revert`, { messageID: history[2]?.info.id });
    const fork = (await world.post(`/session/${id}/fork`)) as Session;
    assert.is(fork.revert, undefined);
    assert.is((await messagesOf(world, fork.id)).length, 2);
  });

  check('is refused while it is busy, and for what there is not', async () => {
    const { world, id, history } = await startChat([replying('first'), replying('second'), hanging]);
    const messageID = history[2]?.info.id;
    const missing = await world.call('POST', `/session/${id}/revert`, { messageID: 'msg_000000000000AAAAAAAAAAAAAA' });
    assert.is(missing.status, 404);
    const answer = ask(world, id, 'three');
    await until(world, () => world.asked.length === 3);
    const refused = await world.call('POST', `/session/${id}/revert`, { messageID });
    assert.is(refused.status, 409);
    const message = `session "${id}" is busy. Abort it first, or wait until it is idle`;
    assert.equal(await refused.json(), { name: 'SessionBusyError', data: { message } });
    const kept = await world.call('DELETE', `/session/${id}/message/${messageID}`);
    assert.is(kept.status, 409);
    await world.post(`/session/${id}/abort`);
    await answer;
    await world.post(`/session/${id}/revert`, { messageID });
    await world.post(`/session/${id}/prompt_async`, prompt('no', { noReply: true })).catch(() => {});
    assert.is((await sessionOf(world, id)).revert, undefined);
  });
});

describe('a message that is removed', (check) => {
  check('is removed with its parts, which is published, and no model is sent it', async () => {
    const { world, id, history } = await startChat();
    const messageID = history[3]?.info.id ?? '';
    const response = await world.call('DELETE', `/session/${id}/message/${messageID}`);
    assert.equal([response.status, await response.json()], [200, true]);
    assert.equal(await messagesOf(world, id), history.slice(0, 3));
    const last = (await world.events()).at(-1);
    assert.equal([last?.type, last?.properties], ['message.removed', { sessionID: id, messageID }]);
    await ask(world, id, 'three');
    assert.not.match(textsOf(world), 'second');
    assert.is((await world.call('DELETE', `/session/${id}/message/${messageID}`)).status, 404);
  });

  check('is none of another session', async () => {
    const { world, id, history } = await startChat();
    const other = await world.session();
    assert.is((await world.call('DELETE', `/session/${other}/message/${history[0]?.info.id}`)).status, 404);
    assert.equal(await messagesOf(world, id), history);
  });
});

import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createAgentWorld } from '../harness/world.ts';
import { assistant, begin, ended, linesOf, refusedOf, send, user } from './world.ts';

type Made = { readonly id: string; readonly sessionID: string };
type Page = {
  readonly messages: { readonly info: { readonly id: string; readonly role: string } }[];
  hasMore: boolean;
};

describe('a conversation of a client', (check) => {
  check('is created with messages, read, changed, used by turns, and deleted', async () => {
    const world = await createAgentWorld();
    const made = await send(world, 'POST', '/conversations', {
      name: 'n',
      messages: [user('a'), assistant('b')],
      metadata: { topic: 'x' },
    });
    const { id, sessionID } = made.body as Made;
    assert.is(await refusedOf(send(world, 'POST', '/conversations', { name: 'n' })), '409 name_taken');
    await send(world, 'PATCH', `/conversations/${id}`, { metadata: { topic: 'y' } });
    const read = (await send(world, 'GET', `/conversations/${id}`)).body as { metadata: object; owner?: string };
    assert.equal([read.metadata, read.owner], [{ topic: 'y' }, undefined]);
    const { turn } = await begin(world, { conversation: { name: 'n' }, input: [user('c')] });
    await ended(world, turn.id);
    assert.is(turn.sessionID, sessionID);
    assert.equal(linesOf(world.asked[0]?.messages ?? []), ['user: a', 'assistant: b', 'user: c']);
    await send(world, 'DELETE', `/turns/${turn.id}`);
    assert.is((await send(world, 'GET', `/conversations/${id}`)).status, 200);
    await send(world, 'DELETE', `/conversations/${id}`);
    assert.is(await refusedOf(send(world, 'GET', `/conversations/${id}`)), '404 conversation_not_found');
    assert.equal(await world.get('/session'), []);
  });

  check('is named by the metadata of the session that it is in, and by no copy of that', async () => {
    const world = await createAgentWorld();
    const metadataOf = async (id: string) => ((await world.get(`/session/${id}`)) as { metadata?: object }).metadata;
    const named = { gatehouse: { owner: 'key-1', name: 'n' } };
    const { sessionID } = (await send(world, 'POST', '/conversations', { name: 'n' })).body as Made;
    assert.equal(await metadataOf(sessionID), named);
    const begun = async (body: object) => {
      const { turn } = await begin(world, body);
      await ended(world, turn.id);
      return turn.sessionID;
    };
    const other = await begun({ conversation: { name: 'm' }, input: [user('a')] });
    assert.equal(await metadataOf(other), { gatehouse: { owner: 'key-1', name: 'm' } });
    await begun({ conversation: { name: 'm' }, input: [user('b')] });
    const history = [user('a'), assistant('hello')];
    const moved = await begun({ conversation: { name: 'm' }, history, input: [user('c')] });
    assert.equal([moved === other, await metadataOf(moved)], [false, { gatehouse: { owner: 'key-1', name: 'm' } }]);
    const unnamed = await begun({ history, input: [user('d')] });
    const copy = (await world.call('POST', `/session/${moved}/fork`, {})).json() as Promise<{ id: string }>;
    for (const id of [unnamed, (await copy).id]) assert.is(await metadataOf(id), undefined);
    await world.server.stop();
  });

  check('is found by its history when it was created without messages', async () => {
    const world = await createAgentWorld();
    const { id, sessionID } = (await send(world, 'POST', '/conversations', {})).body as Made;
    await ended(world, (await begin(world, { conversation: { id }, input: [user('a')] })).turn.id);
    const next = await begin(world, { history: [user('a'), assistant('hello')], input: [user('b')] });
    assert.equal([next.turn.sessionID, next.turn.conversationID], [sessionID, id]);
  });

  check('gets and loses messages, but none of a turn, and lists them in both orders', async () => {
    const world = await createAgentWorld();
    const { id } = (await send(world, 'POST', '/conversations', {})).body as Made;
    const { turn } = await begin(world, { conversation: { id }, input: [user('a')] });
    assert.is(
      await refusedOf(send(world, 'POST', `/conversations/${id}/messages`, { messages: [user('x')] })),
      '409 conversation_busy',
    );
    await ended(world, turn.id);
    const added = await send(world, 'POST', `/conversations/${id}/messages`, {
      messages: [user('b'), assistant('c'), user('d')],
    });
    const { messageIDs } = added.body as { messageIDs: string[] };
    const page = async (query: string) =>
      (await send(world, 'GET', `/conversations/${id}/messages?${query}`)).body as Page;
    const all = (await page('')).messages.map(({ info }) => info.id);
    assert.equal(all.slice(2), messageIDs);
    const newest = await page('order=desc&limit=2');
    assert.equal([newest.messages.map(({ info }) => info.id), newest.hasMore], [all.slice(3).reverse(), true]);
    const rest = await page(`order=desc&after=${all[3]}`);
    assert.equal([rest.messages.map(({ info }) => info.id), rest.hasMore], [all.slice(0, 3).reverse(), false]);
    for (const own of all.slice(0, 2))
      assert.is(await refusedOf(send(world, 'DELETE', `/conversations/${id}/messages/${own}`)), '409 not_added');
    for (const one of [messageIDs[0], messageIDs[2]])
      await send(world, 'DELETE', `/conversations/${id}/messages/${one}`);
    assert.equal((await page('')).messages.length, 3);
    await ended(world, (await begin(world, { conversation: { id }, input: [user('e')] })).turn.id);
    assert.equal(linesOf(world.asked.at(-1)?.messages ?? []), [
      ...['user: a', 'assistant: hello', 'assistant: c', 'user: e'],
    ]);
  });

  check('is not there for another owner', async () => {
    const world = await createAgentWorld();
    const { id } = (await send(world, 'POST', '/conversations', {})).body as Made;
    const other = { 'x-gatehouse-owner': 'key-2' };
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { metadata: {} }],
      ['DELETE', '', undefined],
      ['GET', '/messages', undefined],
      ['POST', '/messages', { messages: [user('x')] }],
    ] as const)
      assert.is(
        await refusedOf(send(world, method, `/conversations/${id}${path}`, body, other)),
        '404 conversation_not_found',
      );
  });
});

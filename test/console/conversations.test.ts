import * as assert from 'uvu/assert';
import { nodeDigest } from '../../src/adapter/node/crypto.ts';
import { ownerOfKey } from '../../src/core/http/agent-api.ts';
import { describe } from '../check.ts';
import { BRIDGE_KEY, codeOf, createConsoleWorld } from './harness/world.ts';

type World = Awaited<ReturnType<typeof createConsoleWorld>>;

const chatsOf = ({ services }: World) => services.streams.filter(({ body }) => body !== undefined);
const nameOf = (world: World, chat = 0): string => chatsOf(world)[chat]?.headers['x-session-id'] ?? '';
const ownerOf = (key: string): string => ownerOfKey(key, nodeDigest);
const session = (id: string, updated: number, name: string | undefined, owner = ownerOf(BRIDGE_KEY)) => ({
  ...{ id, title: 'Credit for Ann', time: { created: 1, updated } },
  ...(name === undefined ? {} : { metadata: { gatehouse: { name, owner } } }),
});

/** Bob has begun the conversation c-1, and its session is at the second agent server, busy. */
const withChat = async () => {
  const world = await createConsoleWorld();
  const [bob, ann] = [await world.as('bob'), await world.as('ann')];
  const answer = await bob('POST', '/api/chat', { text: 'hello', conversation: 'c-1' });
  world.agents[0].others['/session'] = [];
  const stored = session('ses_7', 9, nameOf(world));
  world.agents[1].others['/session'] = [session('ses_8', 10, 'another'), session('ses_9', 10, undefined), stored];
  world.agents[1].others['/session/ses_7'] = stored;
  world.agents[1].others['/session/ses_7/abort'] = {};
  world.agents[1].others['/session/status'] = { ses_7: { type: 'busy' } };
  return { world, bob, ann, answer };
};
const aborts = ({ services }: World): readonly string[] =>
  services.sent.flatMap(({ method, path }) => (method === 'POST' && path.endsWith('/abort') ? [path] : []));

describe('a conversation of the console', (check) => {
  check('is found again by its id, with its session and whether it is answered', async () => {
    const { world, bob, answer } = await withChat();
    const find = async () => (await bob('GET', '/api/chat/conversations/c-1')).json();
    const found = (await find()) as { isAnswering: boolean; session: Record<string, unknown> };
    const { isAnswering, session: shown } = found;
    assert.equal([isAnswering, shown.agent, shown.id, shown.status], [true, 1, 'ses_7', 'busy']);
    assert.not.ok(JSON.stringify(found).includes('metadata'));
    chatsOf(world)[0]?.send('data: [DONE]\n\n');
    chatsOf(world)[0]?.end();
    await answer.text();
    assert.is(((await find()) as { isAnswering: boolean }).isAnswering, false);
    world.stop();
  });

  check('belongs to its account: the id alone opens and stops none of another', async () => {
    const { world, ann } = await withChat();
    for (const [method, path] of [
      ['GET', '/api/chat/conversations/c-1'],
      ['POST', '/api/chat/conversations/c-1/stop'],
    ] as const)
      assert.is((await ann(method, path)).status, 404);
    await ann('POST', '/api/chat', { text: 'hello', conversation: 'c-1' });
    assert.is.not(nameOf(world, 1), nameOf(world));
    // Nor does the whole name, as a viewer of sessions might know it.
    assert.is((await ann('GET', `/api/chat/conversations/${nameOf(world)}`)).status, 404);
    assert.equal([aborts(world), chatsOf(world)[0]?.signal.aborted], [[], false]);
    world.stop();
  });

  check('is named by its session for its own account alone', async () => {
    const { world, bob, ann } = await withChat();
    const conversationFor = async (ask: typeof bob) =>
      ((await (await ask('GET', '/api/sessions/1/ses_7')).json()) as { conversation?: string }).conversation;
    assert.equal([await conversationFor(bob), await conversationFor(ann)], ['c-1', undefined]);
    world.stop();
  });

  check('is none of a client of the bridge with another key, whatever that calls its own', async () => {
    const { world, bob } = await withChat();
    const others = session('ses_6', 99, nameOf(world), ownerOf('key-of-another'));
    world.agents[0].others['/session'] = [others];
    world.agents[0].others['/session/ses_6'] = others;
    const get = async (path: string) => (await (await bob('GET', path)).json()) as { conversation?: string };
    const { session: found } = (await get('/api/chat/conversations/c-1')) as { session?: { id: string } };
    assert.is(found?.id, 'ses_7');
    assert.is((await get('/api/sessions/0/ses_6')).conversation, undefined);
    await bob('POST', '/api/chat/conversations/c-1/stop');
    assert.equal(aborts(world), ['/session/ses_7/abort']);
    world.stop();
  });

  check('is answered to the end when its page is left, as the bridge aborts a turn without a reader', async () => {
    const { world, bob, answer } = await withChat();
    const [chat] = chatsOf(world);
    await answer.body?.cancel();
    for (let piece = 0; piece < 100; piece += 1) chat?.send('data: {}\n\n');
    await world.clock.advance(0);
    assert.is(chat?.signal.aborted, false);
    const isAnswering = async () => {
      const found = await bob('GET', '/api/chat/conversations/c-1');
      return ((await found.json()) as { isAnswering: boolean }).isAnswering;
    };
    assert.is(await isAnswering(), true);
    chat?.end();
    await world.clock.advance(0);
    assert.is(await isAnswering(), false);
    world.stop();
  });

  check('is stopped by its account: its run is aborted, and its answer read no more', async () => {
    const { world, bob } = await withChat();
    assert.is((await bob('POST', '/api/chat/conversations/c-1/stop')).status, 204);
    assert.equal([aborts(world), chatsOf(world)[0]?.signal.aborted], [['/session/ses_7/abort'], true]);
    world.stop();
  });

  check('that has no session yet is known while it is answered, and then is none', async () => {
    const { world, bob } = await withChat();
    world.agents[1].others['/session'] = [];
    const find = () => bob('GET', '/api/chat/conversations/c-1');
    assert.equal(await (await find()).json(), { isAnswering: true });
    assert.is((await bob('POST', '/api/chat/conversations/c-1/stop')).status, 204);
    await world.clock.advance(0);
    const gone = await find();
    assert.equal([gone.status, await codeOf(gone)], [404, 'not_found']);
    world.stop();
  });

  check('is not said to be gone while an agent server that may have it does not answer', async () => {
    const { world, bob } = await withChat();
    world.services.away.add('http://agent-2');
    const answer = await bob('GET', '/api/chat/conversations/c-1');
    assert.equal([answer.status, await codeOf(answer)], [502, 'service_down']);
    world.stop();
  });

  check('is looked for on further pages', async () => {
    const { world, bob } = await withChat();
    const { others } = world.agents[1];
    const all = others['/session'];
    const page = Array.from({ length: 200 }, (_, each) => session(`ses_x${each}`, 500 - each, `n${each}`));
    delete others['/session'];
    others['/session?roots=true&limit=200'] = page;
    others['/session?roots=true&limit=200&before=301%2Cses_x199'] = all ?? [];
    assert.is((await bob('GET', '/api/chat/conversations/c-1')).status, 200);
    world.stop();
  });

  check('gets an id where its client gives none, and goes on with it', async () => {
    const world = await createConsoleWorld();
    const bob = await world.as('bob');
    const answer = await bob('POST', '/api/chat', { text: 'hello' });
    const conversation = answer.headers.get('x-session-id') ?? '';
    await bob('POST', '/api/chat', { text: 'and now?', conversation });
    assert.is(nameOf(world, 1), nameOf(world));
    world.stop();
  });

  check(
    'is kept alive while nothing comes of it, and has broken off after two minutes of a silent bridge',
    async () => {
      const { world, bob, answer } = await withChat();
      const [chat] = chatsOf(world);
      let text = '';
      const read = async (): Promise<void> => {
        for await (const bytes of answer.body ?? []) text += new TextDecoder().decode(bytes);
      };
      void read();
      for (let minute = 1; minute <= 5; minute += 1) {
        chat?.send(': ping\n\n');
        await world.clock.advance(60_000);
      }
      assert.is(text, ': ping\n\n'.repeat(30));
      assert.is(chat?.signal.aborted, false);
      await world.clock.advance(60_000);
      assert.is(chat?.signal.aborted, true);
      assert.match(text, /"code":"service_down"\}\}\n\n$/);
      const found = await bob('GET', '/api/chat/conversations/c-1');
      assert.is(((await found.json()) as { isAnswering: boolean }).isAnswering, false);
      world.stop();
    },
  );

  check('is answered to the end when its reader stops reading, as a machine does that sleeps', async () => {
    const { world, bob } = await withChat();
    const [chat] = chatsOf(world);
    chat?.send('data: 1\n\n');
    await world.clock.advance(31_000);
    chat?.send('data: 2\n\n');
    chat?.end();
    await world.clock.advance(0);
    const found = await bob('GET', '/api/chat/conversations/c-1');
    assert.is(((await found.json()) as { isAnswering: boolean }).isAnswering, false);
    world.stop();
  });

  check('is not begun while eight of its account are answered, and of another account it is', async () => {
    const { world, bob, ann } = await withChat();
    const begin = (conversation: string, ask = bob) => ask('POST', '/api/chat', { text: 'hello', conversation });
    for (let chat = 2; chat <= 8; chat += 1) assert.is((await begin(`c-${chat}`)).status, 200);
    const refused = await begin('c-9');
    assert.is(refused.status, 429);
    const { error } = (await refused.json()) as { error: { code: string; message: string } };
    assert.is(error.code, 'too_many_answers');
    assert.match(error.message, 'wait until one has ended, or stop one');
    assert.is((await begin('c-9', ann)).status, 200);
    chatsOf(world)[1]?.end();
    await world.clock.advance(0);
    assert.is((await begin('c-9')).status, 200);
    await bob('POST', '/api/chat/conversations/c-9/stop');
    assert.is((await begin('c-10')).status, 200);
    world.stop();
  });

  check('whose bridge refuses it takes no place', async () => {
    const world = await createConsoleWorld();
    const bob = await world.as('bob');
    world.services.away.add('http://bridge');
    for (let chat = 0; chat < 9; chat += 1) assert.is((await bob('POST', '/api/chat', { text: 'hello' })).status, 502);
    world.stop();
  });
});

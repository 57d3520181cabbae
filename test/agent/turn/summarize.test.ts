import * as assert from 'uvu/assert';
import { ModelError } from '../../../src/agent/model/types.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { ask, messagesOf, until } from '../harness/permission-requests.ts';
import { createAgentWorld, failing, hanging, replying, type Script } from '../harness/world.ts';

const MODEL = { providerID: 'demo', modelID: 'main' };

const startChat = async (...scripts: readonly Script[]) => {
  const world = await createAgentWorld({ titler: null, scripts: [replying('first'), replying('second'), ...scripts] });
  const id = await world.session({ title: 'Plan' });
  await ask(world, id, 'one');
  await ask(world, id, 'two');
  return { world, id, path: `/session/${id}/summarize` };
};

describe('a summary that somebody asks for', (check) => {
  check('replaces the whole conversation, and is published', async () => {
    const { world, id, path } = await startChat(replying('in short'), replying('third'));
    const before = (await world.events()).length;
    assert.is(await world.post(path, { ...MODEL, auto: false }), true);
    assert.match(JSON.stringify(world.asked.at(-1)?.messages), /one.*first.*two.*second.*Summarise/);
    const [request, summary] = (await messagesOf(world, id)).slice(-2);
    assert.equal(
      request?.parts.map((part) => part.type === 'compaction' && part.auto),
      [false],
    );
    assert.ok(summary?.info.role === 'assistant' && summary.info.summary);
    assert.is(summary.info.parentID, request?.info.id);
    const types = (await world.events()).slice(before).map(({ type }) => type);
    assert.equal(
      types.filter((type) => type.startsWith('session.')),
      ['session.updated', 'session.status', 'session.updated', 'session.compacted', 'session.status', 'session.idle'],
    );
    await ask(world, id, 'three');
    const reported = world.asked.at(-1)?.messages ?? [];
    assert.equal(
      reported.map(({ role }) => role),
      ['user', 'user'],
    );
    assert.match(JSON.stringify(reported[0]), /in short/);
    assert.match(JSON.stringify(reported[1]), /three/);
    assert.is((await messagesOf(world, id)).length, 8, 'clients still see it all');
  });

  check('waits for its turn, and what waits behind it is not in it', async () => {
    let go = (): void => {};
    const slow: Script = async function* (request, signal) {
      await new Promise<void>((resolve) => (go = resolve));
      yield* replying('third')(request, signal);
    };
    const { world, id, path } = await startChat(slow, replying('in short'), replying('fourth'), replying('fifth'));
    const third = ask(world, id, 'three');
    await until(world, () => world.asked.length === 3);
    const summed = world.post(path, MODEL);
    await until(world, async () => (await messagesOf(world, id)).length === 7);
    const fourth = ask(world, id, 'four');
    await until(world, async () => (await messagesOf(world, id)).length === 8);
    go();
    assert.is(await summed, true);
    await Promise.all([third, fourth]);
    const [inSummary = '', after = ''] = world.asked.slice(-2).map(({ messages }) => JSON.stringify(messages));
    assert.match(inSummary, /three.*third/);
    assert.not.match(inSummary, /four/);
    assert.match(after, /in short.*four/);
    assert.not.match(after, /third/);
    await ask(world, id, 'five');
    const later = JSON.stringify(world.asked.at(-1)?.messages);
    assert.match(later, /in short.*four.*fourth.*five/);
  });

  check('that is not to be had leaves everything as it was, and says why', async () => {
    const problem = new ModelError('auth', 'The provider refused the key');
    const { world, id, path } = await startChat(failing(problem), replying('third'));
    assert.is(await world.post(path, MODEL), false);
    const last = (await messagesOf(world, id)).at(-1)?.info;
    assert.is(last?.role === 'assistant' && last.error?.name, 'ProviderAuthError');
    assert.ok((await world.events()).some(({ type }) => type === 'session.error'));
    assert.equal(await world.get('/session/status'), {});
    await ask(world, id, 'three');
    assert.match(JSON.stringify(world.asked.at(-1)?.messages), /one.*first.*two.*second.*three/);
  });

  check('is aborted like any other turn', async () => {
    const { world, id, path } = await startChat(hanging);
    const summed = world.post(path, MODEL);
    await until(world, () => world.asked.length === 3);
    await world.post(`/session/${id}/abort`);
    assert.is(await summed, false);
    const last = (await messagesOf(world, id)).at(-1)?.info;
    assert.is(last?.role === 'assistant' && last.error?.name, 'MessageAbortedError');
  });

  check('begins where the session was turned back to', async () => {
    const { world, id, path } = await startChat(replying('in short'));
    const [, , second] = await messagesOf(world, id);
    await world.post(`/session/${id}/revert`, { messageID: second?.info.id });
    assert.is(await world.post(path, MODEL), true);
    assert.match(JSON.stringify(world.asked.at(-1)?.messages), /^(?!.*(?:two|second))\[/);
    assert.is(((await world.get(`/session/${id}`)) as Session).revert, undefined);
    assert.is((await messagesOf(world, id)).length, 4);
  });

  check('sends no request where nothing was said, and is refused with a model that there is not', async () => {
    const { world, path } = await startChat();
    const empty = await world.session();
    assert.is(await world.post(`/session/${empty}/summarize`, MODEL), true);
    assert.is(world.asked.length, 2);
    assert.equal(await messagesOf(world, empty), []);
    const unknown = await world.call('POST', path, { providerID: 'demo', modelID: 'man' });
    assert.is(unknown.status, 400);
    assert.match(await unknown.text(), 'unknown_model');
    assert.is((await world.call('POST', '/session/ses_0/summarize', MODEL)).status, 404);
  });
});

import * as assert from 'uvu/assert';
import type { Session } from '../../../../src/agent/protocol/types.ts';
import { describe } from '../../../check.ts';
import { ask, messagesOf } from '../../harness/permission-requests.ts';
import { createAgentWorld } from '../../harness/world.ts';
import { file, refused } from './world.ts';

describe('metadata of a part of a prompt', (check) => {
  const noted = { metadata: { of: { a: 'client' } } };
  const text = { type: 'text', text: 'Hello', ...noted };
  const picture = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA', ...noted };

  check('are stored with it, and no model is shown them', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    await world.call('POST', `/session/${id}/message`, { parts: [text, picture] });
    const [stored] = await messagesOf(world, id);
    assert.equal(
      stored?.parts.map((part) => ('metadata' in part ? part.metadata : undefined)),
      [noted.metadata, noted.metadata],
    );
    assert.not.match(JSON.stringify(world.asked), 'client');
  });

  check('are at most a kibibyte', async () => {
    const world = await createAgentWorld();
    const path = `/session/${await world.session()}/message`;
    const parts = [{ ...text, metadata: { long: 'é'.repeat(507) } }];
    const { status, data } = await refused(world, ['POST', path, { parts }]);
    assert.equal([status, data.path], [400, 'parts[0].metadata']);
    assert.match(data.message, '1024 bytes');
    const fitting = [{ ...text, metadata: { long: 'é'.repeat(506) } }];
    assert.is((await world.call('POST', path, { parts: fitting })).status, 200);
  });
});

describe('who answers a prompt', (check) => {
  check('is remembered by the session: the agent and the model that were asked for last', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'plan', prompt: 'You plan.' }] });
    const id = await world.session();
    assert.is((await ask(world, id, 'a', { agent: 'plan', model: 'demo/main' })).info.agent, 'plan');
    assert.is((await ask(world, id)).info.agent, 'plan');
    assert.is(world.asked[1]?.system, 'You plan.');
    const session = (await world.get(`/session/${id}`)) as Session;
    assert.is(session.agent, 'plan');
    assert.equal(session.model, { providerID: 'demo', id: 'main' });
    assert.is((await ask(world, id, 'b', { agent: 'build' })).info.agent, 'build');
  });

  check('is the one that the session was made with', async () => {
    const world = await createAgentWorld({ agents: [{ name: 'plan' }] });
    const { info } = await ask(world, await world.session({ agent: 'plan', model: 'demo/main' }));
    assert.equal([info.agent, info.providerID, info.modelID], ['plan', 'demo', 'main']);
  });

  check('takes the model as the wire has it, and a variant beside it', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const model = { providerID: 'demo', modelID: 'main' };
    assert.is((await ask(world, id, 'a', { model, variant: 'high' })).info.variant, 'high');
    assert.equal(((await world.get(`/session/${id}`)) as Session).model, {
      providerID: 'demo',
      id: 'main',
      variant: 'high',
    });
    assert.is((await ask(world, id)).info.variant, 'high');
    assert.is((await ask(world, id, 'b', { model })).info.variant, undefined);
  });
});

describe('a file', (check) => {
  check('of any kind is taken, when a model can be sent it in some form', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    for (const [url, mime] of [
      ['data:image/png;base64,iVBORw0KGgo=', 'image/png'],
      ['data:image/png;BASE64,', 'image/png'],
      ['data:text/plain;charset=utf-8,50%25%20%E2%82%AC', 'text/plain; charset=utf-8'],
      ['data:text/plain,', 'text/plain'],
      ['data:image/svg+xml,<svg/>', 'image/svg+xml'],
      ['data:application/vnd.x-y.z+json;base64,AAAA', 'application/vnd.x-y.z+json'],
    ] as const)
      await world.post(`/session/${id}/message`, { ...file(url, mime), noReply: true });
    assert.is((await messagesOf(world, id)).length, 6);
  });

  check('of many megabytes is looked through in little time', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const startedAt = performance.now();
    for (const data of ['A'.repeat(4_000_000), `${'A'.repeat(4_000_000)}*AAA`])
      await world.call('POST', `/session/${id}/message`, { ...file(`data:image/png;base64,${data}`), noReply: true });
    assert.ok(performance.now() - startedAt < 3000);
    assert.is((await messagesOf(world, id)).length, 1);
  });
});

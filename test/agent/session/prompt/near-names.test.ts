import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createAgentWorld, prompt } from '../../harness/world.ts';
import { refused } from './world.ts';

describe('a name that is a slip away from one that is read', (check) => {
  check('is refused, with the place and the name that was meant', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const text = { type: 'text', text: 'x' };
    const [message, session] = [`/session/${id}/message`, '/session'];
    const cases: readonly (readonly [method: string, path: string, body: object, place: string, meant: string])[] = [
      ['POST', message, prompt('x', { modle: 'demo/main' }), 'modle', 'model'],
      ['POST', message, prompt('x', { agents: 'build' }), 'agents', 'agent'],
      ['POST', message, prompt('x', { messageId: 'x' }), 'messageId', 'messageID'],
      ['POST', message, prompt('x', { noreply: true }), 'noreply', 'noReply'],
      ['POST', message, prompt('x', { tool: {} }), 'tool', 'tools'],
      ['POST', message, { part: [text] }, 'part', 'parts'],
      ['POST', message, { parts: [text, { ...text, synthetc: true }] }, 'parts[1].synthetc', 'synthetic'],
      ['POST', message, { parts: [{ type: 'file', mime: 'a/b', uri: 'data:a/b,x' }] }, 'parts[0].uri', 'url'],
      [
        'POST',
        message,
        prompt('x', { model: { providerId: 'demo', modelID: 'main' } }),
        'model.providerId',
        'providerID',
      ],
      ['POST', session, { titel: 'x' }, 'titel', 'title'],
      ['POST', session, { permissions: [] }, 'permissions', 'permission'],
      ['POST', session, { parentId: id }, 'parentId', 'parentID'],
      [
        'POST',
        session,
        { permission: [{ permission: 'a', patern: '*', action: 'ask' }] },
        'permission[0].patern',
        'pattern',
      ],
      ['PATCH', `/session/${id}`, { time: { archive: 1 } }, 'time.archive', 'archived'],
      ['POST', '/permission/per_x/reply', { repyl: 'once' }, 'repyl', 'reply'],
      ['POST', '/permission/per_x/reply', { reply: 'reject', mesage: 'x' }, 'mesage', 'message'],
    ];
    for (const [method, path, body, place, meant] of cases) {
      const { status, data } = await refused(world, [method, path, body]);
      assert.equal([status, data.path], [400, place], JSON.stringify(body));
      assert.is(data.message, `${place}: unknown name, the nearest known one is ${meant}`);
    }
  });

  check('is not one that clients send and no one here reads', async () => {
    const world = await createAgentWorld();
    const id = await world.session({ workspaceID: 'x', projectID: 'y', mode: 'build', metadata: { titel: 1 } });
    const text = { type: 'text', text: 'x', id: 'prt_x', ignored: false, time: { start: 1 }, metadata: {} };
    const source = { type: 'file', path: 'x', text: { start: 0, end: 1, value: 'x' } };
    const attached = { type: 'file', mime: 'text/plain', url: 'data:text/plain,x', source };
    const more = {
      format: { type: 'text' },
      mode: 'build',
      tools: { modle: true },
      x: 1,
      '': 2,
      __proto__: { modle: 3 },
    };
    await world.post(`/session/${id}/message`, { parts: [text, attached], ...more });
    await world.call('PATCH', `/session/${id}`, { time: { created: 1, archived: 2 }, revert: {} });
    assert.is(world.asked.length, 1);
  });

  check('is looked for among the first hundred names, which is more than anybody means', async () => {
    const world = await createAgentWorld();
    const id = await world.session();
    const strange = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}q`, 0]));
    const path = `/session/${id}/message`;
    const few = { ...strange(97), ...prompt('x', { noReply: true, modle: 1 }) };
    assert.is((await refused(world, ['POST', path, few])).data.path, 'modle');
    const { parts } = prompt('x');
    assert.is((await world.call('POST', path, { parts, noReply: true, ...strange(98), modle: 1 })).status, 200);
  });
});

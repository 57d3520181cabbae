import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { createAgentWorld, prompt, replying } from '../../harness/world.ts';

const written = (revision: number) => ({ gatehouse: { revision, claim: `claim ${revision}` } });
const ifRevision = (revision: number) => ({ 'x-gatehouse-if-revision': String(revision) });

const withSession = async () => {
  const world = await createAgentWorld({ scripts: [replying('done')] });
  const id = await world.session({ metadata: written(3) });
  const session = async () => (await world.get(`/session/${id}`)) as { metadata: unknown };
  const send = (body: object, headers = {}) =>
    world.call('POST', `/session/${id}/message`, { ...prompt('go'), ...body }, headers);
  return { world, id, session, send };
};

describe('metadata that a prompt brings', (check) => {
  check('are stored in the commit of the prompt, and the header comes back', async () => {
    const { world, id, session, send } = await withSession();
    const commits: (readonly string[])[] = [];
    const { commit } = world.store;
    Object.assign(world.store, {
      commit: (...given: Parameters<typeof commit>) => {
        commits.push(given[0].map(({ kind }) => kind));
        return commit(...given);
      },
    });
    const response = await send({ metadata: written(4) }, ifRevision(3));
    await response.text();
    assert.is(response.headers.get('x-gatehouse-if-revision'), '3');
    assert.equal((await session()).metadata, written(4));
    const [first = []] = commits;
    assert.ok(first.includes('session') && first.includes('message'), first.join());
    const updated = (await world.events()).filter(({ type }) => type === 'session.updated')[0];
    assert.equal(JSON.parse(JSON.stringify(updated)).properties.info.metadata, written(4));
    assert.is(((await world.get(`/session/${id}/message`)) as unknown[]).length, 2);
    await world.server.stop();
  });

  check('refuse the prompt where the session has others by now: nothing is stored, and no model is asked', async () => {
    const { world, id, session, send } = await withSession();
    const response = await send({ metadata: written(4) }, ifRevision(2));
    assert.is(response.status, 409);
    const { name, data } = (await response.json()) as { name: string; data: { code?: string } };
    assert.equal([name, data.code], ['RevisionChangedError', 'revision_changed']);
    assert.equal((await session()).metadata, written(3));
    assert.equal(await world.get(`/session/${id}/message`), []);
    assert.is(world.asked.length, 0);
    await world.server.stop();
  });

  check('stay as they are for a prompt that brings none, and no header comes back that was not sent', async () => {
    const { world, session, send } = await withSession();
    const response = await send({});
    await response.text();
    assert.is(response.headers.get('x-gatehouse-if-revision'), null);
    assert.equal((await session()).metadata, written(3));
    await world.server.stop();
  });
});

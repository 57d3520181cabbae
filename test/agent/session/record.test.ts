import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { describe } from '../../check.ts';
import { ask, eventsOf } from '../harness/permission-requests.ts';
import { createAgentWorld, replying } from '../harness/world.ts';

const made = async (body: unknown = {}, path = '/session') => {
  const world = await createAgentWorld();
  return { world, session: (await world.post(path, body)) as Session };
};
const idsOf = (list: unknown): readonly string[] => (list as readonly Session[]).map(({ id }) => id);

describe('a session as it is made', (check) => {
  check('has every field of the specification', async () => {
    const { world, session } = await made({ model: 'demo/main' });
    assert.match(session.id, /^ses_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
    assert.match(session.slug, /^[a-z]+-[a-z]+$/);
    assert.is(session.version, '0.0.0-test');
    assert.is(session.projectID, 'global');
    assert.is(session.directory, '/srv/desk');
    assert.is(session.title, 'New session - 2026-01-01T00:00:00.000Z');
    assert.equal(session.time, { created: world.clock.now(), updated: world.clock.now() });
    assert.equal(session.model, { providerID: 'demo', id: 'main' });
    assert.is(session.cost, 0);
    assert.equal(session.tokens, { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } });
    assert.equal(await world.get(`/session/${session.id}`), session);
  });

  check('needs no body at all', async () => {
    const world = await createAgentWorld();
    const response = await world.call('POST', '/session');
    assert.is(response.status, 200);
    assert.is(((await response.json()) as Session).title, 'New session - 2026-01-01T00:00:00.000Z');
  });

  check('needs no body on a server that shows an empty one where there is none', async () => {
    const world = await createAgentWorld();
    const body = new Blob([]).stream();
    // Node wants `duplex`, which its types do not know.
    const init: RequestInit & { duplex: string } = { method: 'POST', body, duplex: 'half' };
    const request = new Request('http://agent.test/session', init);
    assert.is((await world.server.handler(request)).status, 200);
  });

  check('needs no body on a connection that says nothing of its end, whatever kind it is said to be', async () => {
    const world = await createAgentWorld();
    for (const type of ['application/json', 'application/json; charset=utf-8', 'text/plain']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: '' };
      const response = await world.server.handler(new Request('http://agent.test/session', init));
      assert.is(response.status, 200, type);
    }
    const id = await world.session();
    const json = { 'content-type': 'application/json' };
    const aborted = await world.call('POST', `/session/${id}/abort`, undefined, json);
    assert.equal([aborted.status, await aborted.json()], [200, true]);
    for (const body of [' ', 'null', '[]', '{']) {
      const init = { method: 'POST', headers: json, body };
      assert.is((await world.server.handler(new Request('http://agent.test/session', init))).status, 400, body);
    }
    const form = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'title=a' };
    assert.is((await world.server.handler(new Request('http://agent.test/session', form))).status, 415);
  });

  check('takes the model as a name, as an object with id and as one with modelID', async () => {
    for (const model of ['demo/main', { providerID: 'demo', id: 'main' }, { providerID: 'demo', modelID: 'main' }]) {
      assert.equal((await made({ model })).session.model, { providerID: 'demo', id: 'main' });
    }
  });

  check('keeps the title, metadata and rules that it is given', async () => {
    const permission = [{ permission: 'shell', pattern: '*', action: 'deny' as const }];
    const { session } = await made({ title: 'Mine', metadata: { from: 'tests' }, permission });
    assert.is(session.title, 'Mine');
    assert.equal(session.metadata, { from: 'tests' });
    assert.equal(session.permission, permission);
  });

  check('is called a child when it has a parent', async () => {
    const { world, session } = await made();
    const child = (await world.post('/session', { parentID: session.id })) as Session;
    assert.is(child.title, 'Child session - 2026-01-01T00:00:00.000Z');
    assert.is(child.parentID, session.id);
    assert.equal(idsOf(await world.get(`/session/${session.id}/children`)), [child.id]);
  });

  check('is in the directory of the query, or of the header with its escapes', async () => {
    assert.is((await made({}, '/session?directory=%2Fa%20b')).session.directory, '/a b');
    const world = await createAgentWorld();
    const response = await world.call('POST', '/session', {}, { 'x-opencode-directory': '%2Fc%20d' });
    assert.is(((await response.json()) as Session).directory, '/c d');
  });

  check('is reported with the record itself', async () => {
    const { world, session } = await made();
    assert.equal((await eventsOf(world, 'session.created'))[0]?.properties, { sessionID: session.id, info: session });
  });
});

describe('a session as it is changed', (check) => {
  check('takes a title, metadata and rules, and the time of the change', async () => {
    const { world, session } = await made();
    await world.clock.advance(5000);
    const permission = [{ permission: '*', pattern: '*', action: 'ask' }];
    const response = await world.call('PATCH', `/session/${session.id}`, {
      title: 'T',
      metadata: { a: 1 },
      permission,
    });
    const changed = (await response.json()) as Session;
    assert.is(changed.title, 'T');
    assert.equal(changed.metadata, { a: 1 });
    assert.equal(changed.permission, permission);
    assert.equal(changed.time, { created: session.time.created, updated: session.time.created + 5000 });
    assert.equal(await world.get(`/session/${session.id}`), changed);
  });

  check('is archived and taken back', async () => {
    const { world, session } = await made();
    const archived = await world.call('PATCH', `/session/${session.id}`, { time: { archived: 7 } });
    assert.is(((await archived.json()) as Session).time.archived, 7);
    const renamed = await world.call('PATCH', `/session/${session.id}`, { title: 'still archived' });
    assert.is(((await renamed.json()) as Session).time.archived, 7);
    const back = await world.call('PATCH', `/session/${session.id}`, { time: { archived: null } });
    assert.not.ok('archived' in ((await back.json()) as Session).time);
  });

  check('loses nothing when many change it at the same time', async () => {
    const { world, session } = await made();
    await Promise.all([
      world.call('PATCH', `/session/${session.id}`, { title: 'T' }),
      world.call('PATCH', `/session/${session.id}`, { metadata: { a: 1 } }),
      ask(world, session.id),
    ]);
    const now = (await world.get(`/session/${session.id}`)) as Session;
    assert.is(now.title, 'T');
    assert.equal(now.metadata, { a: 1 });
    assert.is(now.tokens.input, 10);
    assert.is(now.cost, 0.00002);
  });

  check('counts what all its steps have cost', async () => {
    const { world, session } = await made();
    await ask(world, session.id);
    await ask(world, session.id);
    const now = (await world.get(`/session/${session.id}`)) as Session;
    assert.is(now.cost, 0.00004);
    assert.equal(now.tokens, { input: 20, output: 10, reasoning: 0, cache: { read: 0, write: 0 } });
  });
});

describe('the list of sessions', (check) => {
  const three = async () => {
    const world = await createAgentWorld({ scripts: [replying('hello')] });
    const ids: string[] = [];
    for (const title of ['Alpha', 'beta', 'ALPHA two']) {
      ids.push(await world.session({ title }));
      await world.clock.advance(1000);
    }
    return { world, ids };
  };

  check('has the latest updated first', async () => {
    const { world, ids } = await three();
    const [first = '', second = '', third = ''] = ids;
    assert.equal(idsOf(await world.get('/session')), [third, second, first]);
    await ask(world, first);
    assert.is(idsOf(await world.get('/session'))[0], first);
  });

  check('is cut by limit, narrowed by search, start, roots and directory', async () => {
    const { world, ids } = await three();
    const [first = '', second = '', third = ''] = ids;
    assert.equal(idsOf(await world.get('/session?limit=2')), [third, second]);
    assert.equal(idsOf(await world.get('/session?limit=0')), []);
    assert.equal(idsOf(await world.get('/session?search=alpha')), [third, first]);
    assert.equal(idsOf(await world.get(`/session?start=${world.clock.now() - 2000}`)), [third, second]);
    const child = await world.session({ parentID: first });
    assert.ok(idsOf(await world.get('/session')).includes(child));
    assert.equal(idsOf(await world.get('/session?roots=true')).includes(child), false);
    assert.equal(idsOf(await world.get('/session?directory=/srv/desk')).length, 4);
    assert.equal(idsOf(await world.get('/session?directory=/elsewhere')), []);
  });
});

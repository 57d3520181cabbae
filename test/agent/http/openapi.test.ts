import * as assert from 'uvu/assert';
import { undocumented } from '../../../src/agent/http/openapi.ts';
import { describe } from '../../check.ts';
import { createAgentWorld } from '../harness/world.ts';

describe('the document of the routes', (check) => {
  check('has a line for every route, and no other', async () => {
    const { server } = await createAgentWorld();
    assert.equal(undocumented(server.table), []);
    assert.equal(undocumented({ ...server.table, '/new/:id': { PUT: () => new Response() } }), ['PUT /new/{id}']);
    const { '/doc': _, ...less } = server.table;
    assert.equal(undocumented(less), ['GET /doc']);
  });

  check('has a second name, and metrics have a route also where none are kept', async () => {
    const world = await createAgentWorld();
    assert.equal(await world.get('/openapi.json'), await world.get('/doc'));
    const response = await world.call('GET', '/metrics');
    assert.is(response.status, 404);
    assert.match(await response.text(), 'keeps no metrics');
  });

  check('names every path with its parameters, and the shape of what is sent', async () => {
    const world = await createAgentWorld();
    const doc = (await world.get('/doc')) as {
      openapi: string;
      info: { version: string };
      paths: Record<string, Record<string, { parameters?: { name: string }[]; requestBody?: unknown }>>;
    };
    assert.is(doc.openapi, '3.1.0');
    assert.is(doc.info.version, '0.0.0-test');
    const paths = Object.keys(world.server.table).map((pattern) => pattern.replace(/:(\w+)/g, '{$1}'));
    assert.equal(Object.keys(doc.paths).sort(), paths.sort());
    const output = doc.paths['/session/{id}/message/{messageID}/part/{partID}/output']?.get;
    assert.equal(
      output?.parameters?.map(({ name }) => name),
      ['id', 'messageID', 'partID'],
    );
    const outputText = JSON.stringify(doc.paths['/session/{id}/message']?.post?.requestBody);
    for (const field of ['parts', 'messageID', 'noReply', 'variant']) assert.match(outputText, `"${field}"`);
  });
});

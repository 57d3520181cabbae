import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { gatewayOver, judging, received } from './harness/world.ts';

type Operation = {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>>;
  readonly security?: unknown;
};
type Description = {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};

const described = async () => {
  const world = gatewayOver((sent) => (sent.method === 'GET' ? received(500, '') : judging()(sent)));
  const description = (await (await world.visit('/openapi.json', 'GET', { authorization: '' })).json()) as Description;
  return { ...world, description };
};
const refsIn = (value: unknown): string[] =>
  [...JSON.stringify(value).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to]) => to ?? '');

describe('openapi.json', (check) => {
  check('is served without a key, in version 3.1', async () => {
    const { description } = await described();
    assert.match(description.openapi, /^3\.1\./);
    assert.is(description.info.version, '0.1.0');
  });
  check('points only to what it holds', async () => {
    const { description } = await described();
    const names = Object.keys(description.components.schemas);
    assert.ok(refsIn(description).length > 10);
    for (const ref of refsIn(description)) assert.ok(names.includes(ref.replace('#/components/schemas/', '')), ref);
  });
  check('describes every path that is served, and none that is not', async () => {
    const { description, visit } = await described();
    for (const [path, operations] of Object.entries(description.paths)) {
      const response = await visit(path.replace('{id}', 'moderation-fast'), 'PURGE');
      assert.is(response.status, 405, path);
      const allowed = (response.headers.get('allow') ?? '').split(', ').filter((method) => method !== 'HEAD');
      assert.equal(
        Object.keys(operations).map((method) => method.toUpperCase()),
        allowed,
        path,
      );
    }
  });
  check('describes every status that a moderation is answered with', async () => {
    const { description, ask } = await described();
    const reported = Object.keys(description.paths['/v1/moderations']?.post?.responses ?? {});
    assert.equal(reported, ['200', '400', '401', '404', '408', '415', '429', '502', '503', '504']);
    for (const [body, headers] of [
      [{ input: 'a' }, {}],
      [{ input: 5 }, {}],
      [{ input: 'a', model: 'x' }, {}],
      [{ input: 'a' }, { authorization: 'Bearer no' }],
      [{ input: 'a' }, { 'content-type': 'text/plain' }],
    ] as const) {
      assert.ok(reported.includes(String((await ask(body, headers)).status)));
    }
  });
  check('requires every category of every member that holds them', async () => {
    const { description } = await described();
    for (const name of ['Flags', 'Scores', 'InputTypes']) {
      const { required, properties } = description.components.schemas[name] ?? {};
      assert.is((required as string[]).length, 13, name);
      assert.equal(Object.keys(properties as object), required, name);
    }
  });
  check('says which paths want a key, truly', async () => {
    const { description, visit } = await described();
    for (const [path, operations] of Object.entries(description.paths)) {
      for (const [method, { security }] of Object.entries(operations)) {
        const response = await visit(path.replace('{id}', 'moderation-fast'), method.toUpperCase(), {
          authorization: '',
        });
        // Portkey passes a 401: it is told that nothing was judged.
        const isRefused = response.status === 401 || (await response.text()).includes('"error":"unauthorized"');
        assert.is(isRefused, security !== undefined, `${method} ${path}`);
      }
    }
  });
});

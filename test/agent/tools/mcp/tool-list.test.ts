import * as assert from 'uvu/assert';
import { createListingBuilder } from '../../../../src/agent/tools/mcp/tool-list.ts';
import { describe } from '../../../check.ts';
import { tool } from './peer.ts';

const listed = (...entries: readonly unknown[]) => {
  const { add, listing } = createListingBuilder();
  for (const entry of entries) add(entry);
  return listing();
};
const only = (entry: unknown) => listed(entry).tools[0];
const nested = (depth: number): object => {
  let schema: object = { type: 'string' };
  for (let level = 0; level < depth; level++) schema = { type: 'object', properties: { next: schema } };
  return schema;
};

describe('the list of a server’s tools', (check) => {
  check('keeps a tool and its schema as they are', () => {
    const inputSchema = {
      type: 'object',
      properties: { user_id: { type: 'integer', description: 'Of the user', minimum: 1 } },
      required: ['user_id'],
      additionalProperties: false,
    };
    const entry = { name: 'find.user', description: 'Finds a user.\n\n- by id\n\t- exactly', inputSchema };
    assert.equal(only(entry), entry);
  });

  check('makes of every schema one that describes an object', () => {
    const plain = { type: 'object', properties: {} };
    for (const inputSchema of [undefined, null, 7, 'object', [], {}, { type: 'string' }, { properties: 3 }])
      assert.equal(only({ name: 'x', inputSchema })?.inputSchema, plain, JSON.stringify(inputSchema));
  });

  check('takes out of prose what cannot be seen, wherever a model would read it', () => {
    const hidden = '\u{e0049}\u{e0047}\u{e004e}';
    const found = only({
      name: 'x',
      description: `Adds\u200b two \u202enumbers${hidden}\u0000\u2028next`,
      inputSchema: {
        title: `T\u2066`,
        properties: {
          description: { type: 'string', description: `a${hidden}`, enum: ['a\u200bb'], default: '\u200b' },
          list: { type: 'array', items: [{ description: 'in\u00adside' }] },
        },
      },
    });
    assert.equal(found, {
      name: 'x',
      description: 'Adds two numbers\nnext',
      inputSchema: {
        title: 'T',
        properties: {
          description: { type: 'string', description: 'a', enum: ['a\u200bb'], default: '\u200b' },
          list: { type: 'array', items: [{ description: 'inside' }] },
        },
        type: 'object',
      },
    });
  });

  check('cuts a description that is too long, and takes none for an empty one', () => {
    assert.is(only(tool('x', { description: '𝒳'.repeat(5000) }))?.description, `${'𝒳'.repeat(4095)}…`);
    assert.is(only(tool('x', { description: '\u200b'.repeat(1_000_000) }))?.description, '…');
    for (const description of [undefined, null, 5, {}]) assert.is(only(tool('x', { description }))?.description, '');
  });

  check('skips what has no name, a name twice, and a schema that is too deep or too large', () => {
    const inputSchema = { properties: { x: { enum: Array.from({ length: 10_000 }, (_, index) => `e${index}`) } } };
    const endless = JSON.parse(`${'{"a":['.repeat(50_000)}1${']}'.repeat(50_000)}`);
    const { tools, skipped } = listed(
      null,
      'echo',
      {},
      { name: 7 },
      { name: '' },
      { name: 'n'.repeat(257) },
      tool('twice'),
      tool('twice', { description: 'another' }),
      { name: 'large', inputSchema },
      { name: 'deep', inputSchema: nested(60) },
      { name: 'endless', inputSchema: endless },
      { name: 'fine', inputSchema: nested(10) },
    );
    assert.equal(
      tools.map(({ name, description }) => [name, description]),
      [
        ['twice', ''],
        ['fine', ''],
      ],
    );
    assert.equal(
      skipped.map(({ name, reason }) => `${name}: ${reason}`),
      [
        ...Array.from({ length: 6 }, () => ': no usable name'),
        'twice: listed twice',
        'large: a schema that is too large or too deep',
        'deep: a schema that is too large or too deep',
        'endless: a schema that is too large or too deep',
      ],
    );
  });

  check('does not let a schema touch the prototype of anything', () => {
    const entry = JSON.parse('{"name":"x","inputSchema":{"__proto__":{"polluted":true},"properties":{}}}');
    const schema: object = only(entry)?.inputSchema ?? {};
    assert.equal(Object.getOwnPropertyNames(schema), ['properties', 'type']);
    assert.is('polluted' in schema, false);
    assert.is('polluted' in {}, false);
  });

  check('holds a megabyte at most', () => {
    const inputSchema = { properties: { x: { pattern: 'x'.repeat(60_000) } } };
    const { add, listing } = createListingBuilder();
    let count = 0;
    while (add({ name: `t${count}`, inputSchema })) count += 1;
    assert.is(count, 16);
    assert.ok(JSON.stringify(listing().tools).length < 1_000_000);
    assert.equal(listing().skipped, [{ name: 't16', reason: 'a list that is too large' }]);
  });

  check('ends with a server that lists nothing of use for ever', () => {
    const { add, listing } = createListingBuilder();
    let count = 0;
    while (add(null)) count += 1;
    assert.is(listing().skipped.length, count + 1);
    assert.is(count, 199);
  });
});

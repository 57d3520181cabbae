import * as assert from 'uvu/assert';
import { createSchemaCompiler } from '../../../src/adapter/node/json-schema.ts';
import { SchemaError } from '../../../src/core/json.ts';
import { describe } from '../../check.ts';
import { createStopwatch } from '../../stopwatch.ts';

const compile = createSchemaCompiler();
const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { enum: ['a', 'b'] } },
  },
  required: ['name', 'age'],
  additionalProperties: false,
};

describe('a JSON Schema', (check) => {
  check('lets a value pass that fits', () => {
    assert.is(compile(PERSON)({ name: 'Ann', age: 3, tags: ['a', 'b'] }), undefined);
  });

  check('says of another value what is wrong and where', () => {
    const fits = compile(PERSON);
    assert.match(fits({ name: 'Ann', age: 3.5 }) ?? '', /^\/age: .*integer/);
    assert.match(fits({ name: 'Ann' }) ?? '', /age/);
    assert.match(fits({ name: 'Ann', age: 1, tags: ['a', 'c'] }) ?? '', /^\/tags\/1: /);
    assert.match(fits({ name: 'Ann', age: 1, more: 1 }) ?? '', /more/);
    assert.match(fits('Ann') ?? '', /^the value: /);
    assert.match(fits(null) ?? '', /^the value: /);
  });

  check('may name members as those that every object has', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const members = names.map((name) => `"${name}":{"type":"string"}`).join(',');
    const fits = compile(
      JSON.parse(`{"type":"object","properties":{${members}},"required":["constructor"],"additionalProperties":false}`),
    );
    assert.match(fits({}) ?? '', 'constructor');
    assert.is(fits(JSON.parse('{"constructor":"a","__proto__":"b"}')), undefined);
    assert.match(fits(JSON.parse('{"constructor":"a","__proto__":1}')) ?? '', /^\/__proto__: /);
  });

  check('follows references, also in circles', () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/$defs/node' }, value: { type: 'number' } },
      required: ['value'],
    };
    const fits = compile({ $ref: '#/$defs/node', $defs: { node } });
    assert.is(fits({ value: 1, next: { value: 2, next: { value: 3 } } }), undefined);
    assert.match(fits({ value: 1, next: { value: 2, next: {} } }) ?? '', /^\/next\/next: /);
  });

  check('is not changed by its check', () => {
    const schema = structuredClone(PERSON);
    compile(schema)({ name: 'Ann', age: 3 });
    assert.equal(schema, PERSON);
  });

  check('is refused where it cannot be used', () => {
    for (const schema of [
      { $ref: '#/$defs/none' },
      { $ref: 'https://schemas.example/a.json' },
      { allOf: [{ $ref: '#' }] },
      { $id: 'http://[' },
      { $defs: { a: { $id: 'same' }, b: { $id: 'same' } } },
      { properties: null },
      { properties: [] },
      { type: 'int' },
      { required: 'a' },
      { properties: { a: { pattern: '(' } } },
      { properties: { a: { exclusiveMinimum: true } } },
      { properties: { a: { items: { $ref: '#/$defs/none' } } } },
      { anyOf: [{ $ref: 'other.json#/a' }] },
      { patternProperties: { '^(a+)+$': {} } },
    ])
      assert.throws(
        () => compile(schema),
        (error: unknown) => error instanceof SchemaError,
      );
  });

  check('is refused at once where its references multiply', () => {
    const doubling = (levels: number, keyword: string) => {
      const next = (level: number) => ({ $ref: `#/$defs/d${level + 1}` });
      const defs = Array.from({ length: levels }, (_, level) => [
        `d${level}`,
        { [keyword]: [next(level), next(level)] },
      ]);
      return { type: 'object', $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(defs), [`d${levels}`]: {} } };
    };
    for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
      const took = createStopwatch();
      assert.throws(
        () => compile(doubling(40, keyword)),
        (error: unknown) => error instanceof SchemaError,
      );
      assert.ok(took() < 100, `${took()} ms`);
      assert.type(compile(doubling(3, keyword)), 'function');
    }
  });

  check('has no pattern checked that may take for ever, and all others', () => {
    const slow = ['^(a+)+$', '^(a|a)*$', '^(a?){40}$', '((ab*)c)*', '(?:x[)]*)+', '^([\\w-]+\\.)+$'];
    for (const pattern of slow) {
      const took = createStopwatch();
      const fits = compile({ type: 'object', properties: { a: { type: 'string', pattern }, b: { type: 'number' } } });
      assert.is(fits({ a: `${'a'.repeat(40)}!` }), undefined, pattern);
      assert.match(fits({ a: 1, b: '' }) ?? '', '/a: ');
      assert.ok(took() < 200, `${pattern} took ${took()} ms`);
    }
    const fast = ['^\\d{4}-\\d{2}(-\\d{2})?$', '^[^@]+@[^@]+$', '^(a|b)c+$', '^(ab){2,}$', '^[(a+)+]$', '^\\(a+\\)+$'];
    for (const pattern of fast)
      assert.match(compile({ properties: { a: { pattern } } })({ a: '%' }) ?? '', 'pattern', pattern);
  });

  check('has no pattern checked that is none with the flag u, as programs write them', () => {
    for (const pattern of ['^[\\w-.]+$', '^\\#[0-9a-f]{6}$', '^[^@]+\\@[^@]+$']) {
      const fits = compile({ type: 'object', properties: { a: { type: 'string', pattern } } });
      assert.is(fits({ a: ' ' }), undefined, pattern);
      assert.match(fits({ a: 1 }) ?? '', '/a: ');
    }
  });

  check('is applied also where other processes had the processor for longer than a check may take', () => {
    const fits = compile(PERSON);
    let reads = 0;
    const value = {
      get name() {
        reads += 1;
        if (reads === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
        return 'Ann';
      },
      age: 3,
    };
    assert.is(fits(value), undefined);
    assert.is(fits({ name: 'Ann', age: 3 }), undefined);
    assert.ok(reads > 1);
  });

  check('may hold the event loop once, where another pattern takes long for a long text', () => {
    const fits = compile({ properties: { a: { pattern: `^${'a*'.repeat(8)}$` } } });
    const refused = (error: unknown): boolean => error instanceof SchemaError;
    const value = { a: `${'a'.repeat(5000)}b` };
    assert.throws(() => fits(value), refused);
    const again = createStopwatch();
    assert.throws(() => fits(value), refused);
    assert.ok(again() < 100, `${again()} ms`);
  });
});

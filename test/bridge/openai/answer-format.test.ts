import * as assert from 'uvu/assert';
import { parseTextFormat } from '../../../src/bridge/openai/answer-format.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };

describe('the format of an answer', (check) => {
  check('is read from both APIs', () => {
    const expected = (schemaAt: string) => ({ kind: 'text', schema: SCHEMA, schemaAt });
    const nested = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } };
    assert.equal(parseTextFormat(nested, 'response_format'), expected('response_format.json_schema.schema'));
    const flat = { type: 'json_schema', name: 'city', schema: SCHEMA };
    assert.equal(parseTextFormat(flat, 'text.format'), expected('text.format.schema'));
    assert.equal(parseTextFormat({ type: 'json_object' }, 'text.format')?.schema, { type: 'object' });
    for (const text of [undefined, null, { type: 'text' }]) assert.is(parseTextFormat(text, 'text.format'), undefined);
  });

  check('is refused where no object can have it', () => {
    const refused = (format: unknown) => refusalOf(() => parseTextFormat(format, 'response_format'));
    assert.is(refused('json'), 'invalid_type at response_format');
    assert.is(refused({ type: 'grammar' }), 'unsupported_value at response_format.type');
    assert.is(refused({ type: 'json_schema' }), 'invalid_value at response_format.json_schema.schema');
    assert.is(refused({ type: 'json_schema', json_schema: {} }), 'invalid_value at response_format.json_schema.schema');
    const list = { type: 'json_schema', json_schema: { schema: { type: 'array' } } };
    assert.is(refused(list), 'invalid_value at response_format.json_schema.schema');
    const long = { type: 'json_schema', json_schema: { schema: { ...SCHEMA, description: 'x'.repeat(65_536) } } };
    assert.is(refused(long), 'invalid_value at response_format.json_schema.schema');
  });
});

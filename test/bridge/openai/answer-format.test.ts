import * as assert from 'uvu/assert';
import { parseForcedCall, parseTextFormat } from '../../../src/bridge/openai/answer-format.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const chatTool = (name: string, parameters: unknown = SCHEMA) => ({ type: 'function', function: { name, parameters } });
const responsesTool = (name: string, parameters: unknown = SCHEMA) => ({ type: 'function', name, parameters });

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

  check('may be the call of a function that is forced', () => {
    const expected = { kind: 'call', name: 'city', schema: SCHEMA };
    const forced = (body: Record<string, unknown>) => {
      const { schemaAt: _at, ...format } = parseForcedCall(body) ?? { schemaAt: '' };
      return format;
    };
    const named = { type: 'function', function: { name: 'city' } };
    assert.equal(forced({ tools: [chatTool('a'), chatTool('city')], tool_choice: named }), expected);
    assert.equal(forced({ tools: [chatTool('city')], tool_choice: 'required' }), expected);
    assert.equal(forced({ tools: [responsesTool('city')], tool_choice: { type: 'function', name: 'city' } }), expected);
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [] };
    assert.equal(forced({ tools: [responsesTool('city')], tool_choice: allowed }), expected);
    const empty = { ...expected, schema: { type: 'object', properties: {} } };
    for (const parameters of [null, {}])
      assert.equal(forced({ tools: [chatTool('city', parameters)], tool_choice: 'required' }), empty);
    assert.is(parseForcedCall({ tools: [chatTool('a'), chatTool('b')], tool_choice: 'required' }), undefined);
    for (const tool_choice of [undefined, null, 'auto', 'none', { type: 'allowed_tools', mode: 'auto', tools: [] }])
      assert.is(parseForcedCall({ tools: [chatTool('city')], tool_choice }), undefined);
  });

  check('is refused where it is not clear which function is forced', () => {
    const refused = (body: Record<string, unknown>) => refusalOf(() => parseForcedCall(body));
    const several = [chatTool('a'), chatTool('b')];
    assert.is(refused({ tool_choice: 'required' }), 'unsupported_value at tool_choice');
    const missing = { type: 'function', function: { name: 'c' } };
    assert.is(refused({ tools: several, tool_choice: missing }), 'unsupported_value at tool_choice');
    assert.is(refused({ tools: several, tool_choice: { type: 'web_search' } }), 'unsupported_value at tool_choice');
    assert.is(refused({ tools: several, tool_choice: 'some' }), 'unsupported_value at tool_choice');
    for (const tool_choice of [{ type: 'web_search' }, { type: 'custom', name: 'a' }, { type: 'function' }])
      assert.is(refused({ tools: [chatTool('a')], tool_choice }), 'unsupported_value at tool_choice');
    const list = [chatTool('a', { type: 'array' })];
    assert.is(refused({ tools: list, tool_choice: 'required' }), 'invalid_value at tools[0].function.parameters');
  });
});

import * as assert from 'uvu/assert';
import {
  areAllFunctions,
  customArguments,
  customInput,
  parseClientTools,
} from '../../../src/bridge/openai/client-tools.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const OBJECT = { type: 'object' };
const chatTool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, parameters: OBJECT, ...more },
});
const TOOLS = [chatTool('a'), chatTool('b')];
const namesOf = (body: object) => parseClientTools({ tools: TOOLS, ...body })?.tools.map(({ name }) => name);

describe('the functions that a client brings', (check) => {
  check('are read from both APIs, with their place', () => {
    const expected = (at: string) => ({ name: 'a', description: 'Looks', inputSchema: OBJECT, at, isCustom: false });
    const nested = parseClientTools({ tools: [chatTool('a', { description: ' Looks ' })] });
    assert.equal(nested, { tools: [expected('tools[0].function')], choice: 'auto', isParallel: true });
    const flat = { type: 'function', name: 'a', description: 'Looks', parameters: OBJECT };
    assert.equal(parseClientTools({ tools: [{ type: 'web_search' }, flat] })?.tools, [expected('tools[1]')]);
  });

  check('may be called as tool_choice and parallel_tool_calls say', () => {
    assert.is(parseClientTools({ tools: TOOLS, tool_choice: 'none' }), undefined);
    assert.is(parseClientTools({ tools: [] }), undefined);
    assert.is(parseClientTools({ tools: TOOLS, tool_choice: 'required' })?.choice, 'required');
    const forced = { type: 'function', function: { name: 'b' } };
    assert.equal(parseClientTools({ tools: TOOLS, tool_choice: forced })?.choice, { name: 'b' });
    assert.equal(parseClientTools({ tools: [chatTool('a')], tool_choice: 'required' })?.choice, { name: 'a' });
    assert.is(parseClientTools({ tools: TOOLS, parallel_tool_calls: false })?.isParallel, false);
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] };
    assert.equal([namesOf({}), namesOf({ tool_choice: allowed })], [['a', 'b'], ['b']]);
  });

  check('may be custom tools, which take one text', () => {
    const custom = (more: object = {}) => ({ type: 'custom', custom: { name: 'sh', description: 'Runs', ...more } });
    const [tool] = parseClientTools({ tools: [custom()] })?.tools ?? [];
    assert.equal([tool?.isCustom, tool?.at, tool?.inputSchema.required], [true, 'tools[0].custom', ['input']]);
    const flat = parseClientTools({
      tools: [{ type: 'custom', name: 'sh' }],
      tool_choice: { type: 'custom', name: 'sh' },
    });
    assert.equal([flat?.tools[0]?.at, flat?.choice], ['tools[0]', { name: 'sh' }]);
    assert.is(customInput(customArguments('ls "x"')), 'ls "x"');
    assert.is(customInput('no JSON'), 'no JSON');
  });

  check('may be custom tools with a grammar, which the model reads and the header names as ignored', () => {
    const grammar = { syntax: 'lark', definition: 'start: INT' };
    const nested = { type: 'custom', custom: { name: 'sum', format: { type: 'grammar', grammar } } };
    const flat = { type: 'custom', name: 'sum', format: { type: 'grammar', ...grammar } };
    for (const tool of [nested, flat]) {
      const [parsed] = parseClientTools({ tools: [tool] })?.tools ?? [];
      assert.match(JSON.stringify(parsed?.inputSchema), String.raw`which fits this lark grammar:\nstart: INT`);
      assert.is(areAllFunctions([tool]), false);
    }
    const refused = (definition: unknown) =>
      refusalOf(() => parseClientTools({ tools: [{ ...flat, format: { ...flat.format, definition } }] }));
    assert.is(refused(undefined), 'invalid_value at tools[0].format');
    assert.is(refused('x'.repeat(70_000)), 'invalid_value at tools[0].format');
    assert.is(areAllFunctions([{ ...flat, format: { type: 'text' } }]), true);
  });

  check('need not say that their arguments are an object', () => {
    const schemaOf = (parameters: unknown) =>
      parseClientTools({ tools: [chatTool('a', { parameters })] })?.tools[0]?.inputSchema;
    for (const parameters of [undefined, null, {}])
      assert.equal(schemaOf(parameters), { type: 'object', properties: {} });
    assert.equal(schemaOf({ properties: {} }), { type: 'object', properties: {} });
  });

  check('are refused with their place where they cannot be used', () => {
    const refused = (...tools: readonly object[]) => refusalOf(() => parseClientTools({ tools }));
    assert.is(refused(chatTool('a b')), 'invalid_value at tools[0].function.name');
    assert.is(refused(...TOOLS, chatTool('a')), 'invalid_value at tools[2].function.name');
    assert.is(refused(chatTool('a', { parameters: [] })), 'invalid_value at tools[0].function.parameters');
    const long = { description: 'x'.repeat(16_001) };
    assert.is(refused(chatTool('a', long)), 'invalid_value at tools[0].function.description');
    assert.is(refused(...Array.from({ length: 129 }, (_, index) => chatTool(`f${index}`))), 'invalid_value at tools');
  });

  check('are not all that there is where another tool, or one without a name, is among them', () => {
    assert.is(areAllFunctions(TOOLS), true);
    assert.is(areAllFunctions([...TOOLS, { type: 'web_search' }]), false);
    assert.is(areAllFunctions([{ type: 'function' }]), false);
  });
});

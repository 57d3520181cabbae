import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { parseMember } from '../../../src/bridge/openai/body.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const Named = v.object({ name: v.string(), kind: v.nullish(v.picklist(['a', 'b'])) });
const refused = (schema: v.GenericSchema, value: unknown, at?: string) =>
  refusalOf(() => parseMember(schema, value, at));

describe('what a client sent', (check) => {
  check('is handed on as the schema has it', () => {
    assert.equal(parseMember(Named, { name: 'x', other: 1 }), { name: 'x' });
  });
  check('is refused at its place in the whole body', () => {
    assert.is(refused(Named, { name: 1 }), 'invalid_type at name');
    assert.is(refused(Named, { name: 1 }, 'one'), 'invalid_type at one.name');
    assert.is(refused(v.array(Named), [{ name: 'x' }, { name: 1 }], 'many'), 'invalid_type at many[1].name');
    assert.is(refused(v.array(Named), 'x', 'many'), 'invalid_type at many');
    assert.is(refused(Named, 'x'), 'invalid_type at null');
  });
  check('is refused by what is wrong with it', () => {
    assert.is(refused(Named, {}), 'missing_required_parameter at name');
    assert.is(refused(Named, { name: 'x', kind: 'c' }), 'invalid_value at kind');
    assert.is(refused(Named, { name: 'x', kind: 3 }, 'one'), 'invalid_value at one.kind');
  });
});

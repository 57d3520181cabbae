import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { issueOf } from '../../../../src/core/http/body.ts';
import { describe } from '../../../check.ts';

describe('what a schema finds wrong', (check) => {
  const Schema = v.object({
    input: v.array(v.object({ text: v.string() })),
    mode: v.optional(v.picklist(['a', 'b'])),
    size: v.optional(v.pipe(v.number(), v.integer())),
  });
  const first = (value: unknown) => {
    const [issue] = v.safeParse(Schema, value).issues ?? [];
    return issue === undefined ? undefined : issueOf(issue);
  };

  check('is reported by its place, with indices in brackets, and by what was expected', () => {
    assert.equal(first({ input: [{ text: 'a' }, { text: 5 }] }), { path: 'input[1].text', expected: 'string' });
    assert.equal(first({ input: [5] }), { path: 'input[0]', expected: 'Object' });
    assert.equal(first([]), { path: 'input', expected: '"input"' });
    assert.equal(first('text'), { path: '', expected: 'Object' });
    assert.equal(first({ input: [], size: 1.5 }), { path: 'size', expected: 'integer' });
  });

  check('says lengths and choices in words, and a rule in those of its schema', () => {
    const expectedOf = (schema: v.GenericSchema, value: unknown) => {
      const [issue] = v.safeParse(schema, value).issues ?? [];
      return issue === undefined ? undefined : issueOf(issue).expected;
    };
    assert.is(expectedOf(v.pipe(v.array(v.string()), v.minLength(1)), []), 'at least 1 entries');
    assert.is(expectedOf(v.pipe(v.string(), v.maxLength(2)), 'abc'), 'at most 2 characters');
    assert.is(expectedOf(v.pipe(v.number(), v.minValue(3)), 2), 'at least 3');
    assert.is(expectedOf(v.picklist(['once', 'always', 'reject']), 'x'), 'once, always or reject');
    assert.is(expectedOf(v.pipe(v.string(), v.regex(/^a$/, 'expected the letter a')), 'b'), 'the letter a');
    assert.is(expectedOf(v.pipe(v.string(), v.regex(/^a$/)), 'canary'), '/^a$/');
  });

  check('has brackets for indices only, also where a list is the whole', () => {
    const at = (schema: v.GenericSchema, value: unknown) => {
      const [issue] = v.safeParse(schema, value).issues ?? [];
      return issue === undefined ? undefined : issueOf(issue).path;
    };
    assert.is(at(v.array(v.object({ text: v.string() })), [{ text: 'a' }, { text: 5 }]), '[1].text');
    assert.is(at(v.array(v.array(v.string())), [['a', 5]]), '[0][1]');
    assert.is(
      at(v.object({ '1st': v.string(), a: v.object({ '2nd': v.string() }) }), { '1st': 'a', a: { '2nd': 5 } }),
      'a.2nd',
    );
  });

  check('never holds the value', () => {
    for (const value of [
      'canary',
      { input: 'canary' },
      { input: [{ text: ['canary'] }] },
      { input: [], mode: 'canary' },
    ]) {
      assert.not.match(JSON.stringify(first(value)), /canary/);
    }
  });
});

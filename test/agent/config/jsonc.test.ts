import * as assert from 'uvu/assert';
import { parseJsonc } from '../../../src/agent/config/jsonc.ts';
import { describe } from '../../check.ts';

const valueIn = (text: string): unknown => {
  const outcome = parseJsonc(text);
  if (outcome.kind === 'read') return outcome.value;
  throw new Error(`${outcome.line}:${outcome.column}: ${outcome.expected}`);
};
const placeOf = (text: string): string => {
  const outcome = parseJsonc(text);
  if (outcome.kind === 'unreadable') return `${outcome.line}:${outcome.column}: ${outcome.expected}`;
  throw new Error('The text was read');
};

describe('JSON with comments', (check) => {
  check('may have comments, trailing commas and a byte order mark', () => {
    const text = '\uFEFF// one\n{ "a": [1, 2,], /* two */ "b": {"c": null,}, "d": "// no comment", } // three\n';
    assert.equal(valueIn(text), { a: [1, 2], b: { c: null }, d: '// no comment' });
  });

  check('reads plain JSON as JSON does', () => {
    for (const text of ['{}', '[]', '"\\u00e9\\n"', '-1.5e3', 'true', 'null', '{"a":{"b":[{"c":false}]}}', '{"":0}'])
      assert.equal(valueIn(text), JSON.parse(text));
  });

  const FAILURES: Readonly<Record<string, string>> = {
    '': '1:1: expected a value',
    '{\n  "a": 1\n  "b": 2\n}': '3:3: expected a comma',
    '{"a" 1}': '1:6: expected a colon',
    '{"a":1': '1:7: expected a closing brace',
    '[1': '1:3: expected a closing bracket',
    "{'a': 1}": '1:2: expected a value, or a name or text in double quotes',
    '{"a": {env:KEY}}': '1:8: expected a value, or a name or text in double quotes',
    '{"a": "x\n"}': '1:7: expected the end of a text, on the line on which it began',
    '{"a": "\\x"}': '1:7: expected one of " \\ / b f n r t u behind a backslash',
    '/* and so on': '1:1: expected the end of a comment',
    '{} {}': '1:4: expected nothing more',
  };
  for (const [text, expected] of Object.entries(FAILURES)) {
    check(`reports where ${JSON.stringify(text)} goes wrong`, () => assert.is(placeOf(text), expected));
  }

  check('has every name once: the second of two rules would silently be the only one', () => {
    assert.is(placeOf('{"a": {"b": 1,\n"b": 2}}'), '2:1: expected a name only once in an object');
    assert.equal(valueIn('[{"b": 1}, {"b": 2}]'), [{ b: 1 }, { b: 2 }]);
  });

  check('has no names that objects have by themselves, at any depth', () => {
    for (const name of ['__proto__', 'constructor', 'prototype', '\\u005f_proto__'])
      assert.is(placeOf(`{"a": [{"${name}": {"isAdmin": true}}]}`), '1:9: expected another name');
    assert.is(Reflect.get({}, 'isAdmin'), undefined);
  });

  check('is refused for its depth before anything goes down there', () => {
    for (const text of ['['.repeat(200_000), '{"a":'.repeat(200_000), `${']'.repeat(300)}${'['.repeat(200_000)}`])
      assert.match(placeOf(text), /^1:\d+: expected at most 64 levels$/);
    assert.ok(Array.isArray(valueIn(`${'['.repeat(64)}${']'.repeat(64)}`)));
  });
});

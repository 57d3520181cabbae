import * as assert from 'uvu/assert';
import { findJsonError, parseJsonValue } from '../../src/core/json.ts';
import { describe } from '../check.ts';

const WHOLE = [
  '{}',
  '[]',
  ' {"a":[1,-2.5e+3,{"b":null}],"c":"\\u00e9\\n\x7f\u2028","d":{"e":[[],{}]}}\r\n',
  '"a"',
  '0',
  'true',
];
const placeOf = (text: string): string => {
  const place = findJsonError(text);
  return place === undefined ? 'none' : `${place.line}:${place.column} ${place.expected}`;
};

describe('the place where a text is no JSON', (check) => {
  check('is none where the parser takes the text, and somewhere where it does not', () => {
    const marks = ['{', '}', '[', ']', ',', ':', '"', '\\', '\n', '0', 'x', ' ', '-', '\u0001'];
    for (const text of WHOLE) {
      assert.is(placeOf(text), 'none', text);
      for (let at = 0; at <= text.length; at++) {
        const changed = [text.slice(0, at), ...marks.map((mark) => text.slice(0, at) + mark + text.slice(at))];
        for (const one of changed)
          assert.is(findJsonError(one) === undefined, parseJsonValue(one) !== undefined, JSON.stringify(one));
      }
    }
  });

  check('has what was expected there', () => {
    assert.is(placeOf(''), '1:1 a value');
    assert.is(placeOf('{"a" 1}'), '1:6 a colon');
    assert.is(placeOf('{"a":1 "b":2}'), '1:8 a comma or a closing brace');
    assert.is(placeOf('[1\n2]'), '2:1 a comma or a closing bracket');
    assert.is(placeOf('{"a":"open\n'), '1:6 a value');
    assert.is(placeOf('{a:1}'), '1:2 a name in double quotes or a closing brace');
    assert.is(placeOf('{}\n{}'), '2:1 nothing more');
    assert.is(placeOf('{"a":[1}'), '1:8 a comma or a closing bracket');
  });

  check('is where an object has a name again, also one that is written in another way', () => {
    assert.is(placeOf('{"a":1,\n "a":2}'), '2:2 a name that its object does not have yet');
    assert.is(placeOf('{"a":{"b":1},"c":[{"b":1},{"b":1}],"\\u0062":1}'), 'none');
    assert.is(placeOf('{"b":{"c":[],"d":1},"\\u0062":1}'), '1:21 a name that its object does not have yet');
    assert.is(placeOf('{"a":[{"b":{},"b":1}]}'), '1:15 a name that its object does not have yet');
  });

  check('is found in any depth', () => {
    assert.is(placeOf('['.repeat(200_000)), '1:200001 a value or a closing bracket');
  });
});

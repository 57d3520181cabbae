import * as assert from 'uvu/assert';
import { isJsonText, parseEnvelope, parseRefusalCode } from '../../../src/relay-admin/relay/response.ts';
import { describe } from '../../check.ts';

const NOT_JSON = [
  '',
  ' ',
  '<!doctype html><html><head><title>Relay</title></head></html>',
  '{"code":0,"message":"success","data":{"id":',
  '{"code":0}}',
  "{'code':0}",
  '{"code":00}',
  '{"code":NaN}',
  'undefined',
  'ok',
  '\ufeff{"code":0}',
];
const NO_ENVELOPES = [
  'null',
  'true',
  '0',
  '"code"',
  '[]',
  '[{"code":0}]',
  '{}',
  '{"data":{"id":2}}',
  '{"id":2}',
  '{"code":null,"data":{}}',
  '{"code":"0","data":{}}',
  '{"code":false,"data":{}}',
  '{"code":[0],"data":{}}',
  '{"code":1,"data":{}}',
  '{"code":200,"data":{}}',
  '{"code":500,"message":"success","data":{}}',
  '{"code":"SUCCESS","data":{}}',
  '{"__proto__":{"code":0},"data":{}}',
  '{"Code":0,"data":{}}',
  '{"code":0,"code":500}',
];

describe('a success of the relay', (check) => {
  check('carries its data, whatever that is', () => {
    for (const data of [{ id: 2 }, [1], 'x', 0, false, null])
      assert.equal(parseEnvelope(JSON.stringify({ code: 0, message: 'success', data })), { data });
  });
  check('may carry nothing', () => {
    assert.equal(parseEnvelope('{"code":0,"message":"success"}'), { data: undefined });
    assert.equal(parseEnvelope('{"code":0}'), { data: undefined });
  });
  check('is known by its code and not by its message', () => {
    assert.equal(parseEnvelope('{"code":0,"message":"internal error","data":1}'), { data: 1 });
  });
  for (const text of [...NOT_JSON, ...NO_ENVELOPES]) {
    check(`is not ${JSON.stringify(text)}`, () => assert.is(parseEnvelope(text), undefined));
  }
  check('is not a nest of a million brackets, and reading that ends', () => {
    const text = '['.repeat(1_000_000);
    assert.is(parseEnvelope(text), undefined);
    assert.not(isJsonText(text));
  });
  check('brings no prototype with it', () => {
    const { data } = parseEnvelope('{"code":0,"data":{"__proto__":{"isAdmin":true}}}') ?? { data: undefined };
    assert.is(Object.getPrototypeOf(data), Object.prototype);
    assert.is(({} as { isAdmin?: boolean }).isAdmin, undefined);
  });
});

describe('an answer', (check) => {
  check('is JSON or it is not', () => {
    for (const text of NOT_JSON) assert.not(isJsonText(text), JSON.stringify(text));
    for (const text of NO_ENVELOPES) assert.ok(isJsonText(text), text);
  });
});

describe("the relay's word for a refusal", (check) => {
  check('stands as the code of what comes before the handlers', () => {
    assert.is(parseRefusalCode('{"code":"INVALID_ADMIN_KEY","message":"Invalid admin API key"}'), 'INVALID_ADMIN_KEY');
    assert.is(
      parseRefusalCode('{"code":"ADMIN_COMPLIANCE_ACK_REQUIRED","message":"m","metadata":{"version":"v2026.06.10"}}'),
      'ADMIN_COMPLIANCE_ACK_REQUIRED',
    );
  });
  check('stands as the reason beside a numeric code of the handlers', () => {
    assert.is(
      parseRefusalCode('{"code":409,"message":"m","reason":"IDEMPOTENCY_IN_PROGRESS","metadata":{"retry_after":"30"}}'),
      'IDEMPOTENCY_IN_PROGRESS',
    );
    assert.is(parseRefusalCode('{"reason":"USER_NOT_FOUND"}'), 'USER_NOT_FOUND');
  });
  check('may be missing', () => {
    assert.is(parseRefusalCode('{"code":500,"message":"internal error"}'), undefined);
    for (const text of NOT_JSON) assert.is(parseRefusalCode(text), undefined);
    for (const text of ['null', '[]', '7', '"IDEMPOTENCY_IN_PROGRESS"', '["IDEMPOTENCY_IN_PROGRESS"]'])
      assert.is(parseRefusalCode(text), undefined);
  });
  check('is a word of at most 64 capitals, digits and underscores, and never any other text', () => {
    const STRANGE = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '',
      ' ',
      '_A',
      '0A',
      'lower_case',
      'Mixed_Case',
      'TWO WORDS',
      'A-B',
      'A.B',
      'LINE\nBREAK',
      'END\n',
      'ÄÖÜ',
      'ＡＢＣ',
      'A'.repeat(65),
      'A'.repeat(100_000),
      'Ignore previous instructions',
      '<script>',
    ];
    for (const word of STRANGE) {
      assert.is(parseRefusalCode(JSON.stringify({ code: word })), undefined, JSON.stringify(word).slice(0, 40));
      assert.is(parseRefusalCode(JSON.stringify({ code: 400, reason: word })), undefined);
    }
    assert.is(parseRefusalCode(JSON.stringify({ code: 'A'.repeat(64) })), 'A'.repeat(64));
    assert.is(parseRefusalCode('{"code":"HTTP_2"}'), 'HTTP_2');
  });
  check('is no number, list or object', () => {
    for (const reason of [7, null, true, ['A'], { A: 1 }])
      assert.is(parseRefusalCode(JSON.stringify({ code: 400, reason })), undefined);
  });
});

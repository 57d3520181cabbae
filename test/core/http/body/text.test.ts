import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { readJsonIfAny } from '../../../../src/core/http/body.ts';
import { describe } from '../../../check.ts';
import {
  breaking,
  bytes,
  endless,
  faultOf,
  flowing,
  LIMIT_BYTES,
  NEVER,
  padded,
  posting,
  read,
  type Sent,
} from './world.ts';

describe('the type of a body', (check) => {
  for (const type of [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    ' application/json ; charset=utf-8',
    'application/problem+json',
    'application/vnd.api.v2+json',
  ]) {
    check(`may be ${type}`, async () => assert.equal(await read(posting('{}', { 'content-type': type })), {}));
  }

  check('may be left out', async () => {
    const request = posting(bytes('{}'));
    request.headers.delete('content-type');
    assert.equal(await read(request), {});
  });

  for (const type of [
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json-seq',
    'application/x-json',
    'application/xml',
    'application/+json',
    'xapplication/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'text/plain; application/json',
    'application/json, text/plain',
    'json',
    '*/*',
  ]) {
    check(`may not be ${type}, and then nothing is read`, async () => {
      const { taken, body } = flowing(endless(8));
      const request = posting(body, { 'content-type': type });
      assert.equal(await faultOf(read(request)), { kind: 'unsupported-media-type' });
      assert.is(request.bodyUsed, false);
      assert.is(taken.bytes, 0);
    });
  }
});

describe('the text of a body', (check) => {
  const texts: Readonly<Record<string, unknown>> = {
    '{"a":[1,"多",null]}': { a: [1, '多', null] },
    ' "text" \n': 'text',
    null: null,
    '0': 0,
    false: false,
    '[]': [],
    '"\\u0000\\u2028"': '\0\u2028',
    '{"a":1,"a":2}': { a: 2 },
  };
  for (const [text, value] of Object.entries(texts)) {
    check(`${text} is read as JSON`, async () => assert.equal(await read(posting(text)), value));
  }

  check('may open with a byte order mark', async () => {
    assert.equal(await read(posting(bytes([0xef, 0xbb, 0xbf], '{"a":1}'))), { a: 1 });
  });

  check('keeps escapes of lone surrogates as they are: anyone who reads the text must expect them', async () => {
    assert.is(await read(posting('"\\ud83d"')), '\ud83d');
    assert.is(await read(posting('"\\ude00\\ud83d"')), '\ude00\ud83d');
    assert.is(await read(posting('"\\ud83d\\ude00"')), '😀');
  });

  check('gives an own property for __proto__ and touches no prototype', async () => {
    const value = await read(posting('{"__proto__":{"isAdmin":true}}'));
    assert.ok(Object.hasOwn(Object(value), '__proto__'));
    assert.is(({} as { isAdmin?: boolean }).isAdmin, undefined);
  });

  const broken: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {
    'nothing at all': bytes(),
    'only blanks': bytes('  \n'),
    'only a byte order mark': bytes([0xef, 0xbb, 0xbf]),
    'two byte order marks': bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], '{}'),
    'half an object': bytes('{"a":'),
    'two values': bytes('{} {}'),
    'a trailing comma': bytes('[1,]'),
    'single quotes': bytes("{'a':1}"),
    NaN: bytes('NaN'),
    'a comment': bytes('{} // ok'),
    'a bare line break in a string': bytes('"a\nb"'),
    'a form': bytes('input=text'),
    'a stray byte in a string': bytes('"', [0xff], '"'),
    'a cut-off character in a string': bytes('"', [0xe5, 0xa4], '"'),
    'an overlong slash in a string': bytes('"', [0xc0, 0xaf], '"'),
    'a surrogate in UTF-8': bytes('"', [0xed, 0xa0, 0xbd], '"'),
    'a letter in Latin-1': bytes('"caf', [0xe9], '"'),
    'UTF-16': bytes([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
    gzip: bytes([0x1f, 0x8b, 0x08, 0x00]),
  };
  /** A place, and never what stands there. */
  const NOT_JSON =
    /^The request body is not JSON(?: in UTF-8|: it is empty|; at line \d+, column \d+ it needs [a-z ]+)?$/;
  for (const [what, body] of Object.entries(broken)) {
    check(`may not be ${what}, and is not quoted`, async () => {
      for (const request of [posting(body), posting(body, { 'content-length': String(body.length) })]) {
        const fault = await faultOf(read(request));
        assert.equal(fault.kind === 'bad-input' && [fault.code, fault.param], ['invalid_json', null]);
        assert.match(fault.kind === 'bad-input' ? fault.message : '', NOT_JSON);
      }
    });
  }

  check('is told where it is no JSON, as long as it is short', async () => {
    const messageOf = async (body: Sent | null): Promise<string> => {
      const fault = await faultOf(read(posting(body), 10_000));
      return fault.kind === 'bad-input' ? fault.message : fault.kind;
    };
    assert.is(
      await messageOf(bytes("{'a':1}")),
      'The request body is not JSON; at line 1, column 2 it needs a name in double quotes or a closing brace',
    );
    assert.is(
      await messageOf(bytes('{"a":1,\n"b":}')),
      'The request body is not JSON; at line 2, column 5 it needs a value',
    );
    assert.is(
      await messageOf(bytes('{"a":1,"a":2,}')),
      'The request body is not JSON; at line 1, column 14 it needs a name in double quotes',
    );
    assert.is(await messageOf(bytes(`[${'1,'.repeat(2100)}]`)), 'The request body is not JSON');
    assert.is(await messageOf(null), 'The request body is not JSON: it is empty');
    assert.is(await messageOf(bytes('"', [0xff], '"')), 'The request body is not JSON in UTF-8');
  });

  check('may not be missing', async () => {
    const fault = await faultOf(read(posting(null)));
    assert.is(fault.kind === 'bad-input' && fault.code, 'invalid_json');
    assert.is((await faultOf(read(posting(null, { 'content-length': '0' })))).kind, 'bad-input');
  });

  check('may be nested as deep as its bytes allow without harm to the service', async () => {
    const depth = 500_000;
    const deep = '['.repeat(depth) + ']'.repeat(depth);
    const outcome = await read(posting(deep), deep.length).then(
      () => 'read',
      (thrown) => thrown instanceof Fault && thrown.detail.kind,
    );
    assert.ok(outcome === 'read' || outcome === 'bad-input', String(outcome));
    assert.is((await faultOf(read(posting('['.repeat(depth)), depth))).kind, 'bad-input');
  });
});

describe('a body that may be left out', (check) => {
  const readIfAny = (request: Request) => readJsonIfAny(request, { limitBytes: LIMIT_BYTES, signal: NEVER });

  check('is nothing when it is empty, in whatever way and of whatever type', async () => {
    for (const type of ['application/json', 'text/plain']) {
      const typed = { 'content-type': type };
      assert.is(await readIfAny(posting(null, typed)), undefined);
      assert.is(await readIfAny(posting('', typed)), undefined);
      assert.is(await readIfAny(posting('', { ...typed, 'content-length': '0' })), undefined);
      assert.is(await readIfAny(posting(flowing([]).body, typed)), undefined);
    }
  });

  check('is held to the same rules when it is there', async () => {
    assert.equal(await readIfAny(posting('{"a":1}')), { a: 1 });
    assert.is(await readIfAny(posting('null')), null);
    assert.is((await faultOf(readIfAny(posting(' ')))).kind, 'bad-input');
    assert.is(
      (await faultOf(readIfAny(posting('{}', { 'content-type': 'text/plain' })))).kind,
      'unsupported-media-type',
    );
    assert.is((await faultOf(readIfAny(posting(padded(LIMIT_BYTES + 1))))).kind, 'body-too-large');
    assert.is((await faultOf(readIfAny(posting(breaking())))).kind, 'client-left');
  });
});

import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { createDeadline } from '../../../src/core/async.ts';
import { type CoreFault, Fault } from '../../../src/core/fault.ts';
import { issueOf, readJson, readJsonIfAny } from '../../../src/core/http/body.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const LIMIT_BYTES = 64;
/** What is read of a body that is too large anyway. One chunk that crosses it is taken as well. */
const CEILING_BYTES = 16 * LIMIT_BYTES;

const NEVER = new AbortController().signal;
const read = (request: Request, limitBytes = LIMIT_BYTES): Promise<unknown> =>
  readJson(request, { limitBytes, signal: NEVER });
const faultOf = async (reading: Promise<unknown>): Promise<CoreFault> => {
  const thrown = await rejection(reading);
  if (thrown instanceof Fault) return thrown.detail;
  throw thrown;
};

type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
const posting = (body: Sent | null, headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Request =>
  new Request('http://gateway.test/', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === null ? {} : { body, duplex: 'half' }),
    ...(signal === undefined ? {} : { signal }),
  } as RequestInit);
const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => (typeof part === 'string' ? [...new TextEncoder().encode(part)] : [...part])));
/** A body whose connection breaks as soon as it is read. */
const breaking = () =>
  new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.error(new TypeError('terminated'));
      },
    },
    { highWaterMark: 0 },
  );
/** A body of unknown length that counts what is taken from it. */
const flowing = (chunks: Iterable<Uint8Array>) => {
  const source = chunks[Symbol.iterator]();
  const taken = { bytes: 0, isCancelled: false, isOver: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = source.next();
        if (done) {
          taken.isOver = true;
          return controller.close();
        }
        taken.bytes += value.byteLength;
        controller.enqueue(value);
      },
      cancel() {
        taken.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { taken, body };
};
function* endless(chunkBytes: number): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(chunkBytes).fill(0x20);
}
const padded = (totalBytes: number): string => `"${'x'.repeat(totalBytes - 2)}"`;

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

describe('the size of a body', (check) => {
  const TOO_LARGE: CoreFault = { kind: 'body-too-large', limitBytes: LIMIT_BYTES };
  const one = (text: string) => flowing([bytes(text)]);

  check('may be exactly the limit, declared or not', async () => {
    const text = padded(LIMIT_BYTES);
    assert.is(await read(posting(text, { 'content-length': String(LIMIT_BYTES) })), text.slice(1, -1));
    assert.is(await read(posting(one(text).body)), text.slice(1, -1));
    assert.is(await read(posting(flowing([...bytes(text)].map((byte) => bytes([byte]))).body)), text.slice(1, -1));
  });

  check('counts bytes and not characters', async () => {
    const text = `"${'多'.repeat(21)}"`;
    assert.is(text.length, 23);
    assert.equal(await faultOf(read(posting(one(text).body))), TOO_LARGE);
    assert.equal(await faultOf(read(posting(text, { 'content-length': '65' }))), TOO_LARGE);
  });

  check('counts the byte order mark', async () => {
    const marked = bytes([0xef, 0xbb, 0xbf], padded(LIMIT_BYTES - 2));
    assert.equal(await faultOf(read(posting(flowing([marked]).body))), TOO_LARGE);
  });

  for (const declared of ['65', '1000000000', '9'.repeat(400), '00065']) {
    check(`declared as ${declared.slice(0, 12)} is refused before anything is read`, async () => {
      const { taken, body } = flowing(endless(8));
      const request = posting(body, { 'content-length': declared });
      assert.equal(await faultOf(read(request)), TOO_LARGE);
      assert.is(request.bodyUsed, false);
      assert.is(taken.bytes, 0);
      assert.is(taken.isCancelled, false);
    });
  }

  check('one byte over the limit is refused though no one declared it', async () => {
    assert.equal(await faultOf(read(posting(one(padded(LIMIT_BYTES + 1)).body))), TOO_LARGE);
  });

  check('over the limit is read to its end, so that the sender comes to read the answer', async () => {
    const { taken, body } = flowing(Array.from({ length: 10 }, () => bytes(padded(LIMIT_BYTES))));
    assert.equal(await faultOf(read(posting(body))), TOO_LARGE);
    assert.equal(taken, { bytes: 10 * LIMIT_BYTES, isOver: true, isCancelled: false });
  });

  check('of exactly the ceiling is read to its end, one byte more is broken off', async () => {
    const chunks = Array.from({ length: 16 }, () => new Uint8Array(LIMIT_BYTES));
    const whole = flowing(chunks);
    assert.equal(await faultOf(read(posting(whole.body))), TOO_LARGE);
    assert.equal(whole.taken, { bytes: CEILING_BYTES, isOver: true, isCancelled: false });
    const more = flowing([...chunks, new Uint8Array(1), new Uint8Array(1), new Uint8Array(1)]);
    assert.equal(await faultOf(read(posting(more.body))), TOO_LARGE);
    assert.is(more.taken.isCancelled, true);
  });

  check('without end is given up at the ceiling', async () => {
    const { taken, body } = flowing(endless(32));
    assert.equal(await faultOf(read(posting(body))), TOO_LARGE);
    assert.is(taken.isCancelled, true);
    assert.ok(taken.bytes <= CEILING_BYTES + 32, `${taken.bytes} bytes`);
  });

  check('is refused for its bytes even if its beginning would do as JSON', async () => {
    assert.equal(await faultOf(read(posting(flowing([bytes('{}'), bytes(' '.repeat(LIMIT_BYTES))]).body))), TOO_LARGE);
  });

  for (const headers of [
    { 'content-length': '2', 'transfer-encoding': 'chunked' },
    { 'content-length': '' },
    { 'content-length': '-1' },
    { 'content-length': '2, 2' },
    { 'content-length': '0x2' },
    { 'content-length': '1e1' },
    { 'content-length': ' ' },
    { 'transfer-encoding': 'chunked' },
  ]) {
    check(`is counted when it is declared in a way that binds no one: ${JSON.stringify(headers)}`, async () => {
      const { taken, body } = flowing(endless(32));
      assert.equal(await faultOf(read(posting(body, headers))), TOO_LARGE);
      assert.ok(taken.bytes <= CEILING_BYTES + 32, `${taken.bytes} bytes`);
      assert.equal(await read(posting('{}', headers)), {});
    });
  }

  check('may be cut into chunks anywhere, also within a character', async () => {
    const text = '{"a":"多😀é"}';
    for (const size of [1, 2, 3, 5]) {
      const all = [...bytes(text)];
      const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
        bytes(all.slice(index * size, (index + 1) * size)),
      );
      assert.equal(await read(posting(flowing([bytes(), ...chunks, bytes()]).body)), { a: '多😀é' });
    }
  });
});

describe('a body that does not arrive', (check) => {
  /** The start of a body, whose rest the test sends or withholds. */
  const slowly = (headers: Readonly<Record<string, string>> = {}) => {
    const clock = createFakeClock();
    const client = new AbortController();
    let pipe: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        pipe = controller;
        controller.enqueue(bytes('{"a":'));
      },
    });
    const request = posting(body, headers, client.signal);
    const deadline = createDeadline(clock, 1000, request.signal);
    const reading = readJson(request, { limitBytes: LIMIT_BYTES, signal: deadline.signal });
    reading.catch(() => {});
    return { clock, client, deadline, reading, pipe: pipe as ReadableStreamDefaultController<Uint8Array> };
  };

  for (const [how, headers] of [
    ['of unknown length', {}],
    ['of declared length', { 'content-length': '9' }],
  ] as const) {
    check(`in time is body-too-slow, ${how}`, async () => {
      const { clock, reading } = slowly(headers);
      await clock.advance(999);
      assert.is(await Promise.race([reading, 'still reading']), 'still reading');
      await clock.advance(1);
      assert.equal(await faultOf(reading), { kind: 'body-too-slow' });
    });

    check(`because its sender leaves is client-left, ${how}`, async () => {
      const { client, reading } = slowly(headers);
      client.abort();
      assert.equal(await faultOf(reading), { kind: 'client-left' });
    });

    check(`because its connection breaks is client-left, ${how}, even before the signal aborts`, async () => {
      const { pipe, reading } = slowly(headers);
      pipe.error(new TypeError('terminated'));
      assert.equal(await faultOf(reading), { kind: 'client-left' });
    });

    check(`because its sender leaves after its time is over is body-too-slow, ${how}`, async () => {
      const { clock, client, reading } = slowly(headers);
      await clock.advance(1000);
      client.abort();
      assert.equal(await faultOf(reading), { kind: 'body-too-slow' });
    });

    check(`at once but in time is read, ${how}`, async () => {
      const { clock, pipe, reading } = slowly(headers);
      await clock.advance(999);
      pipe.enqueue(bytes('1}  '));
      pipe.close();
      assert.equal(await reading, { a: 1 });
    });

    check(
      `to a client that left before it was asked for is client-left, ${how}, and nothing is left unheard`,
      async () => {
        const unhandled: unknown[] = [];
        const listen = (reason: unknown): void => void unhandled.push(reason);
        process.on('unhandledRejection', listen);
        try {
          const clock = createFakeClock();
          const request = posting(breaking(), headers, AbortSignal.abort());
          const { signal, clear } = createDeadline(clock, 1000, request.signal);
          assert.equal(await faultOf(readJson(request, { limitBytes: LIMIT_BYTES, signal })), { kind: 'client-left' });
          clear();
          await clock.advance(0);
          await clock.advance(0);
          assert.equal(unhandled, []);
        } finally {
          process.off('unhandledRejection', listen);
        }
      },
    );
  }

  check('when time was over before is body-too-slow', async () => {
    const signal = AbortSignal.abort(new Fault({ kind: 'backend-timeout' }));
    assert.equal(await faultOf(readJson(posting('{}'), { limitBytes: LIMIT_BYTES, signal })), {
      kind: 'body-too-slow',
    });
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

  check('says lengths and choices in words', () => {
    const expectedOf = (schema: v.GenericSchema, value: unknown) => {
      const [issue] = v.safeParse(schema, value).issues ?? [];
      return issue === undefined ? undefined : issueOf(issue).expected;
    };
    assert.is(expectedOf(v.pipe(v.array(v.string()), v.minLength(1)), []), 'at least 1 entries');
    assert.is(expectedOf(v.pipe(v.string(), v.maxLength(2)), 'abc'), 'at most 2 characters');
    assert.is(expectedOf(v.pipe(v.number(), v.minValue(3)), 2), 'at least 3');
    assert.is(expectedOf(v.picklist(['once', 'always', 'reject']), 'x'), 'once, always or reject');
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

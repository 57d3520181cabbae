import * as assert from 'uvu/assert';
import { createDeadline } from '../../../../src/core/async.ts';
import { type CoreFault, Fault } from '../../../../src/core/fault.ts';
import { readJson } from '../../../../src/core/http/body.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { breaking, bytes, endless, faultOf, flowing, LIMIT_BYTES, padded, posting, read } from './world.ts';

/** What is read of a body that is too large anyway. One chunk that crosses it is taken as well. */
const CEILING_BYTES = 16 * LIMIT_BYTES;

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

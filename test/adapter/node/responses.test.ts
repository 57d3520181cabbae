import { connect } from 'node:net';
import * as assert from 'uvu/assert';
import { useLibraryResponse } from '../../../src/adapter/node/server.ts';
import type { Handler } from '../../../src/core/http/handler.ts';
import { jsonTextResponse } from '../../../src/core/http/response.ts';
import { streamedResponse } from '../../../src/core/http/streamed-response.ts';
import { describe } from '../../check.ts';
import { exchange, post, whileServing } from './connection-world.ts';

const LONG = Array.from({ length: 20 }, (_, index) => `${index} ü`.repeat(9999));

/** What a handler may answer: its name is sent in the header `do`. */
const DEEDS: Readonly<Record<string, (request: Request) => Promise<Response> | Response>> = {
  echo: async (request) => jsonTextResponse(200, await request.text()),
  wide: () => jsonTextResponse(200, '"häß€ 😀"'),
  unread: () => jsonTextResponse(401, '"nothing was read"', { 'x-reason': 'no key' }),
  cookies() {
    const response = jsonTextResponse(200, '"two cookies"');
    response.headers.append('set-cookie', 'a=1');
    response.headers.append('set-cookie', 'b=2');
    return response;
  },
  nothing: () => new Response(null, { status: 204 }),
  reason: () => new Response('', { status: 499, statusText: 'Gone Early' }),
  stream: () => new Response(new Blob(['piece by piece']).stream()),
  pushed: () =>
    streamedResponse(
      async ({ write }) => {
        await write('häß€ ');
        await new Promise((resolve) => setTimeout(resolve, 5));
        await write('😀');
      },
      { 'content-type': 'text/plain', 'x-a': '1' },
    ),
  pushedAtOnce: () => streamedResponse(async ({ write }) => void write('at once'), {}),
  pushedNothing: () => streamedResponse(async () => {}, {}),
  pushedInMany: () =>
    streamedResponse(async ({ write }) => {
      for (const piece of ['one ', '', 'häß€ ', ...LONG]) await write(piece);
    }, {}),
};

const HEAD = 'HEAD / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: wide\r\n\r\n';

const handler: Handler = async (request) => {
  const deed = DEEDS[request.headers.get('do') ?? ''];
  return deed === undefined ? new Response('no such deed', { status: 404 }) : deed(request);
};

const sent = (pieces: readonly string[]): Promise<string> =>
  whileServing(handler, (address) => exchange(address, pieces));

/** The bodies that came over a connection, out of their chunks. */
const bodiesOf = (received: string): readonly string[] =>
  received.split(/(?=HTTP\/1\.1 \d{3})/).map((answer) => {
    const [head = '', ...rest] = answer.split('\r\n\r\n');
    const body = rest.join('\r\n\r\n');
    return /transfer-encoding: chunked/i.test(head) ? body.replace(/[\da-f]+\r\n([^\r]*)\r\n/g, '$1').trimEnd() : body;
  });

describe('a response over a connection', (check) => {
  const BODIES: Readonly<Record<string, string>> = {
    echo: '{"a":"häß"}',
    wide: '"häß€ 😀"',
    unread: '"nothing was read"',
    cookies: '"two cookies"',
    nothing: '',
    reason: '',
    stream: 'piece by piece',
    pushed: 'häß€ 😀',
    pushedAtOnce: 'at once',
    pushedNothing: '',
    pushedInMany: `one häß€ ${LONG.join('')}`,
  };
  for (const [deed, body] of Object.entries(BODIES))
    check(`${deed}: the body arrives whole`, async () =>
      assert.equal(bodiesOf(await sent([post(deed, '{"a":"häß"}')])), [body]),
    );

  check('a text in the gateway: its length, in one piece, and the usual words for its status', async () => {
    const { Response: globalResponse } = globalThis;
    useLibraryResponse();
    const [wide = '', head = '', unread = ''] = await Promise.all(
      [post('wide', ''), HEAD, post('unread', '')].map((bytes) => sent([bytes])),
    ).finally(() => {
      globalThis.Response = globalResponse;
    });
    assert.match(wide, /^HTTP\/1\.1 200 OK\r\n/);
    for (const answer of [wide, head]) assert.match(answer, `content-length: ${Buffer.byteLength('"häß€ 😀"')}\r\n`);
    assert.not.match(wide, /transfer-encoding/i);
    assert.match(unread, /^HTTP\/1\.1 401 Unauthorized\r\n[\s\S]*x-reason: no key\r\n/);
    assert.equal([bodiesOf(wide), bodiesOf(head)], [['"häß€ 😀"'], ['']]);
  });

  check('headers and words of its own: they are sent', async () => {
    assert.match(await sent([post('cookies', '')]), /set-cookie: a=1\r\nset-cookie: b=2\r\n/);
    assert.match(await sent([post('pushed', '')]), /x-a: 1\r\n/);
    assert.match(await sent([post('reason', '')]), /^HTTP\/1\.1 499 Gone Early\r\n/);
  });

  check('several on one connection: in the order of their requests', async () => {
    const alive = (deed: string, body: string): string => post(deed, body, '', '1.1', 'keep-alive');
    assert.equal(
      bodiesOf(
        await sent([alive('pushed', 'x') + alive('unread', 'two') + alive('pushedInMany', '') + post('echo', '3')]),
      ),
      ['häß€ 😀', '"nothing was read"', BODIES.pushedInMany, '3'],
    );
  });

  check('HTTP/1.0: a streamed body ends with the connection', async () => {
    const answer = await sent([post('pushed', '', '', '1.0')]);
    assert.not.match(answer, /transfer-encoding/i);
    assert.equal(bodiesOf(answer), ['häß€ 😀']);
  });
});

describe('a request over a connection', (check) => {
  const whole = post('echo', '{"a":1}');
  const REQUESTS: Readonly<Record<string, readonly [pieces: readonly string[], body: string]>> = {
    'in pieces': [[whole.slice(0, 20), whole.slice(20, -3), whole.slice(-3)], '{"a":1}'],
    'in chunks': [
      [
        `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: echo\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`,
      ],
      'abcde',
    ],
    'of 1 MB that nobody reads': [[post('unread', 'a'.repeat(1_000_000))], '"nothing was read"'],
    'with an empty host': [
      [`POST / HTTP/1.1\r\nHost: \r\nConnection: close\r\nDo: echo\r\nContent-Length: 1\r\n\r\nx`],
      'x',
    ],
    'of HTTP/1.0 without a host': [[`POST / HTTP/1.0\r\nDo: echo\r\nContent-Length: 1\r\n\r\nx`], 'x'],
  };
  for (const [name, [pieces, body]] of Object.entries(REQUESTS))
    check(`${name}: it is answered`, async () => assert.equal(bodiesOf(await sent(pieces)), [body]));

  check('a length that is none: 400', async () => {
    const head = `POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: echo\r\n`;
    assert.match(await sent([`${head}Content-Length: x\r\n\r\n`]), /^HTTP\/1\.1 400 /);
  });

  check('a client that leaves: the signal aborts, and the body is not read to its end', async () => {
    const seen = Promise.withResolvers<readonly [boolean, boolean]>();
    const reading: Handler = async (request) => {
      const aborted = new Promise<boolean>((resolve) =>
        request.signal.addEventListener('abort', () => resolve(request.signal.aborted), { once: true }),
      );
      const isRead = await request.arrayBuffer().then(
        () => true,
        () => false,
      );
      seen.resolve([await aborted, isRead]);
      return new Response('too late');
    };
    await whileServing(reading, async (address) => {
      const socket = connect(Number(new URL(address).port), '127.0.0.1');
      socket.write(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.destroy();
      assert.equal(await seen.promise, [true, false]);
    });
  });

  check('an answer: the signal does not abort', async () => {
    const signals: AbortSignal[] = [];
    const answering: Handler = async (request) => {
      signals.push(request.signal);
      return jsonTextResponse(200, await request.text());
    };
    assert.match(await whileServing(answering, (address) => exchange(address, [post('', 'well')])), 'well');
    assert.equal(
      signals.map(({ aborted }) => aborted),
      [false],
    );
  });
});

describe('a streamed response', (check) => {
  check('a client that does not read: the writer waits, and is told when it leaves', async () => {
    const seen = Promise.withResolvers<number>();
    const endless: Handler = async () =>
      streamedResponse(async ({ write }, left) => {
        let count = 0;
        while (!left.aborted) {
          const taken = write('x'.repeat(65_536));
          count += 1;
          await (taken ?? new Promise((resolve) => setImmediate(resolve)));
        }
        await write('nobody reads this');
        seen.resolve(count);
      }, {});
    await whileServing(endless, async (address) => {
      const socket = connect(Number(new URL(address).port), '127.0.0.1');
      socket.pause();
      socket.write(post('', ''));
      await new Promise((resolve) => setTimeout(resolve, 300));
      socket.destroy();
      // The buffers of a connection hold some megabytes; the rest was not written.
      assert.ok((await seen.promise) < 400, 'it waits for its reader');
    });
  });
});

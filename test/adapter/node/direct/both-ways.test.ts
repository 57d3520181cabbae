import * as assert from 'uvu/assert';
import { Response } from '../../../../src/adapter/node/direct/response.ts';
import type { Handler } from '../../../../src/core/http/handler.ts';
import { streamedResponse } from '../../../../src/core/http/streamed-response.ts';
import { describe } from '../../../check.ts';
import { exchange, post, WAYS, whileServing } from './world.ts';

const textOf = (bytes: ArrayBuffer | Uint8Array): string => new TextDecoder().decode(bytes);

/** What a handler may do with a request: its name is sent in the header `do`. */
const DEEDS: Readonly<Record<string, (request: Request) => Promise<Response> | Response>> = {
  arrayBuffer: async (request) => new Response(textOf(await request.arrayBuffer())),
  text: async (request) => new Response(await request.text()),
  json: async (request) => Response.json(await request.json()),
  bytes: async (request) => new Response(textOf(await request.bytes())),
  blob: async (request) => new Response(await (await request.blob()).text()),
  async form(request) {
    const form = await request.formData();
    return new Response([...form.keys()].join());
  },
  async stream({ body }) {
    let bytes = 0;
    for await (const piece of body ?? []) bytes += piece.byteLength;
    return new Response(`${bytes} bytes`);
  },
  async clone(request) {
    const other = request.clone();
    return new Response(`${await request.text()} ${await other.text()}`);
  },
  unread: () => new Response('nothing was read', { status: 401, headers: { 'x-reason': 'no key' } }),
  headers({ headers }) {
    const named = ['Authorization', 'x-two', 'x-three', 'cookie'].map((name) => headers.get(name));
    return new Response(JSON.stringify([named, headers.has('X-TWO'), [...headers.keys()].includes('x-two')]));
  },
  changed({ headers }) {
    headers.set('x-two', 'another');
    headers.delete('authorization');
    return new Response(JSON.stringify([headers.get('x-two'), headers.get('authorization'), headers.has('x-three')]));
  },
  parts({ method, url, signal, redirect, keepalive }) {
    const { pathname, search } = new URL(url);
    return new Response(JSON.stringify([method, pathname.length > 0, search, signal.aborted, redirect, keepalive]));
  },
  path: ({ url }) => new Response(String(WAYS.some((path) => path === new URL(url).pathname))),
  nothing: () => new Response(null, { status: 204 }),
  empty: () => new Response(''),
  wide: () => new Response('häß€ 😀', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
  reason: () => new Response('', { status: 499, statusText: 'Gone Early' }),
  cookies() {
    const response = new Response('two cookies');
    response.headers.append('set-cookie', 'a=1');
    response.headers.append('set-cookie', 'b=2');
    response.headers.set('x-late', 'yes');
    return response;
  },
  copied: () => new Response('copied', { headers: new Headers({ 'x-a': '1' }) }),
  readBefore: async () => new Response(`was ${await new Response('read').text()}`),
  touched() {
    const response = new Response('its body was asked for');
    void response.body;
    return response;
  },
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
      for (const piece of [
        'one ',
        '',
        'häß€ ',
        '',
        ...Array.from({ length: 20 }, (_, index) => `${index}ü `.repeat(9999)),
      ])
        await write(piece);
    }, {}),
  streamed: () => new Response(new Blob(['piece by piece']).stream()),
  forged() {
    try {
      return new Response('x', { headers: { 'x-a': 'b\r\nx-forged: 1' } });
    } catch (error) {
      return new Response(error instanceof TypeError ? 'refused' : String(error));
    }
  },
  forgedLater() {
    const response = new Response('x');
    try {
      response.headers.set('x-a', 'b\nx-forged: 1');
    } catch (error) {
      return new Response(error instanceof TypeError ? 'refused' : String(error));
    }
    return response;
  },
};

const handler: Handler = async (request) => {
  const deed = DEEDS[request.headers.get('do') ?? ''];
  return deed === undefined ? new Response('no such deed', { status: 404 }) : deed(request);
};

/** A head without what differs by nature: the date, and how the end of the body is told. */
const normalisedHead = (head: string): string => {
  const [statusLine = '', ...fields] = head.split('\r\n');
  const kept = fields
    .map((field) => field.replace(/^[\w-]+/, (name) => name.toLowerCase()))
    .filter((field) => !/^(?:date|content-length|transfer-encoding|keep-alive):/.test(field));
  return [statusLine, ...kept.sort()].join('\n');
};

/** The answers that came over a connection: heads in one form, bodies out of their chunks. */
const normalised = (received: string): string =>
  received
    .split(/(?=HTTP\/1\.1 \d{3})/)
    .map((answer) => {
      const [head = '', ...rest] = answer.split('\r\n\r\n');
      const body = rest.join('\r\n\r\n');
      const chunks = /transfer-encoding: chunked/i.test(head) ? body.replace(/[\da-f]+\r\n([^\r]*)\r\n/g, '$1') : body;
      return `${normalisedHead(head)}\n\n${chunks.trimEnd()}`;
    })
    .join('\n');

const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const NAMED = 'Authorization: Bearer k\r\nX-Two: a\r\nX-Two: b\r\nCookie: c=1\r\nCookie: d=2\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';

/** Requests as bytes; each is sent to both paths. */
const REQUESTS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  ...Object.fromEntries(
    Object.keys(DEEDS).map((deed) => [
      `whose handler does "${deed}"`,
      (path: string) => [post(path, deed, deed === 'form' ? 'a=1&b=2' : '{"a":"häß"}', deed === 'form' ? FORM : NAMED)],
    ]),
  ),
  'with an empty body': (path) => [post(path, 'text', '')],
  'with an empty body, read as a whole': (path) => [post(path, 'arrayBuffer', '')],
  'with a body of 1 MB': (path) => [post(path, 'stream', 'a'.repeat(1_000_000))],
  'with a body of 1 MB that nobody reads': (path) => [post(path, 'unread', 'a'.repeat(1_000_000))],
  'in chunks': (path) => [
    `POST ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: arrayBuffer\r\n${CHUNKED}`,
  ],
  'in pieces': (path) => {
    const whole = post(path, 'arrayBuffer', '{"a":1}');
    return [whole.slice(0, 20), whole.slice(20, -3), whole.slice(-3)];
  },
  'that waits to be told to continue': (path) => {
    const whole = post(path, 'text', 'continued', 'Expect: 100-continue\r\n');
    return [whole.slice(0, -9), whole.slice(-9)];
  },
  'of HTTP/1.0': (path) => [post(path, 'text', 'old', '', '1.0')],
  'of HTTP/1.0 for a streamed body': (path) => [post(path, 'pushed', '', '', '1.0')],
  'for streamed bodies, beside others on one connection': (path) => [
    post(path, 'pushed', 'one', '', '1.1', 'keep-alive') +
      post(path, 'pushedInMany', 'two', '', '1.1', 'keep-alive') +
      post(path, 'pushed', 'three'),
  ],
  'of HTTP/1.0 without a host': (path) => [`POST ${path} HTTP/1.0\r\nDo: parts\r\nContent-Length: 1\r\n\r\nx`],
  'with an empty host': (path) => [
    `POST ${path} HTTP/1.1\r\nHost: \r\nConnection: close\r\nDo: path\r\nContent-Length: 1\r\n\r\nx`,
  ],
  'beside two others on one connection': (path) => [
    post(path, 'text', 'one', '', '1.1', 'keep-alive') +
      post(path, 'unread', 'two', '', '1.1', 'keep-alive') +
      post(path, 'text', 'three'),
  ],
  'with HEAD': (path) => [`HEAD ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: wide\r\n\r\n`],
  'with GET': (path) => [`GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: parts\r\n\r\n`],
  'with a length that is none': (path) => [
    `POST ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nDo: text\r\nContent-Length: x\r\n\r\n`,
  ],
};

describe('a request over both ways', (check) => {
  for (const [name, bytesOf] of Object.entries(REQUESTS)) {
    check(`${name} is answered alike`, async () => {
      const [direct = '', adapter = ''] = await whileServing(handler, (address) =>
        Promise.all(WAYS.map((path) => exchange(address, bytesOf(path)))),
      );
      assert.match(direct, /^HTTP\/1\.1 \d{3}/);
      assert.is(normalised(direct), normalised(adapter));
      assert.not.match(direct, 'no such deed');
    });
  }
});

describe('either way', (check) => {
  for (const path of WAYS)
    check(`of ${path}: sends a text with its length, in one piece, and the usual words for its status`, async () => {
      const [wide = '', unread = ''] = await whileServing(handler, (address) =>
        Promise.all(['wide', 'unread'].map((deed) => exchange(address, [post(path, deed, '')]))),
      );
      assert.match(wide, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(wide, `content-length: ${Buffer.byteLength('häß€ 😀')}\r\n`);
      assert.not.match(wide, /transfer-encoding/i);
      assert.match(unread, /^HTTP\/1\.1 401 Unauthorized\r\n/);
    });
});

import * as assert from 'uvu/assert';
import { createConnectionFetch, type Fetch } from '../../../../src/agent/adapter/mcp/connection-fetch.ts';
import { McpServerError } from '../../../../src/agent/tools/mcp/errors.ts';
import { describe, rejection } from '../../../check.ts';

const ORIGIN = 'http://tools.example';
const ADDRESS = `${ORIGIN}/mcp`;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const streamOf = (...pieces: readonly string[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(bytes(piece));
      controller.close();
    },
  });
const breaking = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull() {
      throw new Error('CANARY');
    },
  });
const events = (body: ReadableStream<Uint8Array>): Response =>
  new Response(body, { headers: { 'content-type': 'text/event-stream' } });
/** A server that never answers, until it is left. */
const unanswered: Fetch = (_url, init) =>
  new Promise((_settle, reject) => {
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
  });
const message = (id: number) => ({ method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id, method: 'x' }) });

const watching = (ask: Fetch, { livesByStream = false, limitBytes = 100, isOpen = true } = {}) => {
  const gone: string[] = [];
  const onGone = ({ message: why }: McpServerError) => void gone.push(why);
  const watched = createConnectionFetch({
    fetch: ask,
    origin: ORIGIN,
    limitBytes,
    endsWithStream: livesByStream,
    onGone,
  });
  if (isOpen) watched.markOpen();
  return { ...watched, gone };
};

describe('HTTP for a tool server', (check) => {
  check('asks nothing of any other origin', async () => {
    const { fetch } = watching(() => assert.unreachable('nothing may be asked') as never);
    for (const url of ['http://other.example/mcp', 'https://tools.example/mcp', 'http://tools.example:81/mcp'])
      assert.instance(await rejection(fetch(url)), McpServerError);
  });

  check('breaks off a request whose message is cancelled, which says nothing of the server', async () => {
    const waiting = watching(unanswered);
    const asked = rejection(waiting.fetch(ADDRESS, message(7)));
    waiting.abort(6);
    waiting.abort(7);
    assert.is(((await asked) as Error).name, 'AbortError');
    const answering = watching(async (_url, init) =>
      events(
        new ReadableStream({
          start(controller) {
            init?.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
          },
        }),
      ),
    );
    const reading = rejection((await answering.fetch(ADDRESS, message(7))).text());
    answering.abort(7);
    assert.instance(await reading, McpServerError);
    assert.equal([waiting.gone, answering.gone], [[], []]);
  });

  check('ends with a server that asks and asks, and takes no answers', async () => {
    const answer = (id: number, more = '') => ({
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id, result: { more } }),
    });
    const many = watching(unanswered, { limitBytes: 1_000_000 });
    const controller = new AbortController();
    const send = (count: number, more?: string) =>
      rejection(many.fetch(ADDRESS, { ...answer(count, more), signal: controller.signal }));
    const held = Array.from({ length: 100 }, (_, count) => send(count));
    assert.equal(many.gone, []);
    const late = await send(100);
    assert.is((late as McpServerError).message, 'The server sends requests faster than it reads the responses');
    assert.equal(many.gone, ['The server sends requests faster than it reads the responses']);
    controller.abort();
    await Promise.all(held);

    const few = watching(unanswered, { limitBytes: 1000 });
    void few.fetch(ADDRESS, { ...answer(1, 'x'.repeat(1000)), signal: AbortSignal.abort() }).catch(() => {});
    void rejection(few.fetch(ADDRESS, answer(2, 'x'.repeat(1000))));
    assert.instance(await rejection(few.fetch(ADDRESS, answer(3))), McpServerError);
  });

  check('counts no answer that was taken, and none of the messages that ask something', async () => {
    const taking = watching(async () => new Response(null, { status: 202 }));
    for (let id = 0; id < 1000; id++)
      await taking.fetch(ADDRESS, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id, result: {} }) });
    const asking = watching(unanswered);
    const controller = new AbortController();
    const asked = Array.from({ length: 300 }, (_, id) =>
      rejection(asking.fetch(ADDRESS, { ...message(id), signal: controller.signal })),
    );
    assert.equal([taking.gone, asking.gone], [[], []]);
    controller.abort();
    await Promise.all(asked);
  });

  check('knows a server that cannot be reached, once it was', async () => {
    const refusing: Fetch = async () => {
      throw new TypeError('CANARY');
    };
    const before = watching(refusing, { isOpen: false });
    await rejection(before.fetch(ADDRESS, message(1)));
    const after = watching(refusing);
    await rejection(after.fetch(ADDRESS, message(1)));
    assert.equal([before.gone, after.gone], [[], ['The server cannot be reached any more']]);
  });

  check('takes an answer that breaks for the end, and a stream to listen to only where all comes over it', async () => {
    const ask: Fetch = async () => events(breaking());
    const answered = watching(ask);
    await rejection((await answered.fetch(ADDRESS, message(1))).text());
    assert.equal(answered.gone, ['The connection broke']);
    const listening = watching(ask);
    await rejection((await listening.fetch(ADDRESS)).text());
    assert.equal(listening.gone, []);
    const living = watching(ask, { livesByStream: true });
    await rejection((await living.fetch(ADDRESS)).text());
    assert.is(living.gone[0], 'The connection broke');
  });

  check('bounds an answer, and of a stream each event', async () => {
    const event = `data: ${'x'.repeat(60)}\r\n\r\n`;
    const long = `data: ${'x'.repeat(95)}`;
    const many = watching(async () => events(streamOf(event, event, event.slice(0, 30), event.slice(30))));
    assert.is((await (await many.fetch(ADDRESS, message(1))).text()).length, event.length * 3);
    assert.equal(many.gone, []);
    const one = watching(async () => events(streamOf(event, long)));
    await rejection((await one.fetch(ADDRESS, message(1))).text());
    assert.equal(one.gone, ['The server sent a message that is too long']);
    const plain = watching(async () => new Response(streamOf(event, event)));
    await rejection((await plain.fetch(ADDRESS, message(1))).text());
    assert.equal(plain.gone, ['The server sent a message that is too long']);
  });

  check('bounds what comes with a refusal too, which is not the end', async () => {
    const { fetch, gone } = watching(async () => new Response(streamOf('x'.repeat(101)), { status: 500 }));
    await rejection((await fetch(ADDRESS, message(1))).text());
    assert.equal(gone, []);
  });

  check('lets go of what is not read, which is not the end either', async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true;
      },
    });
    const { fetch, gone } = watching(async () => new Response(body, { status: 202 }));
    await (await fetch(ADDRESS, message(1))).body?.cancel();
    await new Promise((settle) => setImmediate(settle));
    assert.equal([isCancelled, gone], [true, []]);
  });
});

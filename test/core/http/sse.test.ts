import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { encodeSse, type SseEvent, sseResponse } from '../../../src/core/http/sse.ts';
import { streamedResponse } from '../../../src/core/http/streamed-response.ts';
import { describe } from '../../check.ts';
import { codePoint } from '../../code-points.ts';
import { createFakeClock } from '../../fake-clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A stream that the test feeds. */
const fed = () => {
  const clock = createFakeClock();
  const bugs: unknown[] = [];
  const waiting: PromiseWithResolvers<IteratorResult<SseEvent>>[] = [];
  const state = { isLeft: false, isReturned: false };
  const source = (left: AbortSignal): AsyncIterable<SseEvent> => {
    left.addEventListener('abort', () => {
      state.isLeft = true;
      waiting.shift()?.resolve({ done: true, value: undefined });
    });
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const next = Promise.withResolvers<IteratorResult<SseEvent>>();
          waiting.push(next);
          return next.promise;
        },
        return: async () => {
          state.isReturned = true;
          return { done: true, value: undefined };
        },
      }),
    };
  };
  const heartbeat = () => ({ data: 'beat' });
  const response = sseResponse(source, { clock, heartbeat, onBug: (error) => void bugs.push(error) });
  return { clock, bugs, waiting, state, response };
};
const readerOf = (response: Response) => {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  return async (): Promise<string | undefined> => (await reader?.read())?.value;
};

describe('an event of a stream', (check) => {
  check('has its id and its data in lines of their own', () => {
    assert.is(encodeSse({ id: 'e1', data: '{"a":1}' }), 'id: e1\ndata: {"a":1}\n\n');
    assert.is(encodeSse({ data: 'x' }), 'data: x\n\n');
    assert.is(encodeSse({ comment: 'why', id: 'e1', data: 'x' }), ': why\nid: e1\ndata: x\n\n');
    assert.is(encodeSse({ data: 'a\nb\r\nc\rd' }), 'data: a\ndata: b\ndata: c\ndata: d\n\n');
  });

  check('is read as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), (data) => {
        const lines = encodeSse({ data }).split('\n');
        assert.equal(lines.slice(-2), ['', '']);
        const read = lines.slice(0, -2).map((line) => line.slice('data: '.length));
        assert.is(read.join('\n'), data.replace(/\r\n?/g, '\n'));
      }),
    );
  });
});

describe('a stream of events', (check) => {
  check('is not to be kept or changed on the way', () => {
    const { headers, status } = fed().response;
    assert.is(status, 200);
    assert.is(headers.get('content-type'), 'text/event-stream');
    assert.is(headers.get('cache-control'), 'no-cache, no-transform');
    assert.is(headers.get('x-accel-buffering'), 'no');
  });

  check('beats while nothing else is said, and only then', async () => {
    const { clock, waiting, response } = fed();
    const read = readerOf(response);
    const first = read();
    await clock.advance(9000);
    waiting.shift()?.resolve({ done: false, value: { data: 'one' } });
    assert.is(await first, 'data: one\n\n');
    const second = read();
    await clock.advance(9999);
    assert.is(waiting.length, 1);
    await clock.advance(2);
    assert.is(await second, 'data: beat\n\n');
    const third = read();
    await clock.advance(10_001);
    assert.is(await third, 'data: beat\n\n');
    assert.is(waiting.length, 1, 'the source is asked once for each event');
  });

  check('loses nothing that comes between a heartbeat and the next look', async () => {
    const { clock, waiting, response } = fed();
    const reader = response.body?.getReader();
    // Nobody reads: the heartbeat lies in the stream, and the event comes while no one looks.
    await clock.advance(10_001);
    waiting.shift()?.resolve({ done: false, value: { data: 'one' } });
    await turn();
    // What nobody has taken is taken together.
    assert.is(new TextDecoder().decode((await reader?.read())?.value), 'data: beat\n\ndata: one\n\n');
  });

  check('ends with its source', async () => {
    const { waiting, response, clock } = fed();
    const read = readerOf(response);
    const first = read();
    await turn();
    waiting.shift()?.resolve({ done: true, value: undefined });
    assert.is(await first, undefined);
    assert.is(clock.pending(), 0);
  });

  check('ends when its source fails, and the failure is reported', async () => {
    const { waiting, response, bugs, clock } = fed();
    const read = readerOf(response);
    const first = read();
    await turn();
    const broken = new Error('broken');
    waiting.shift()?.reject(broken);
    assert.is(await first, undefined);
    assert.equal(bugs, [broken]);
    assert.is(clock.pending(), 0);
  });

  check('ends its source when the client leaves, and leaves no timer and no unhandled error', async () => {
    const { clock, response, bugs, state } = fed();
    const reader = response.body?.getReader();
    const reading = reader?.read();
    await turn();
    await reader?.cancel();
    await reading;
    await turn();
    assert.equal(state, { isLeft: true, isReturned: true });
    assert.is(clock.pending(), 0);
    await clock.advance(60_000);
    assert.equal(bugs, []);
  });

  check('waits for a client that reads slowly', async () => {
    const { waiting, response } = fed();
    await turn();
    for (let count = 0; count < 5; count++) {
      waiting.shift()?.resolve({ done: false, value: { data: `${count}` } });
      await turn();
    }
    assert.is(waiting.length, 0, 'no more is asked for than one that lies ready');
    await response.body?.cancel();
  });

  check('gives a very long text in chunks that are the text again', async () => {
    const text = 'a😀'.repeat(500_000);
    const response = streamedResponse(async ({ write }) => {
      await write(text);
      await write('!');
    }, {});
    let chunks = 0;
    let received = '';
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const chunk of response.body ?? []) {
      chunks += 1;
      received += decoder.decode(chunk);
    }
    assert.ok(received === `${text}!`);
    assert.ok(chunks > 2, `${chunks} chunks`);
  });
});

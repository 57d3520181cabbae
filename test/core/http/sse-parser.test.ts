import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { encodeSse, type SseEvent } from '../../../src/core/http/sse.ts';
import { createSseParser, type SseItem } from '../../../src/core/http/sse-parser.ts';
import { describe } from '../../check.ts';
import { codePoint } from '../../code-points.ts';

const LIMIT = 1_000_000;
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const named = (name: string, data: string): SseItem => ({ kind: 'event', name, data });
const event = (data: string): SseItem => named('message', data);

/** What a text brings when it comes in pieces of so many bytes. */
const readIn = (text: string, pieceBytes: number, limitChars = LIMIT) => {
  const lines = createSseParser({ limitChars });
  const bytes = bytesOf(text);
  const news: SseItem[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) news.push(...lines.push(bytes.subarray(at, at + pieceBytes)));
  return { news, lines };
};
const read = (text: string, limitChars?: number): readonly SseItem[] => {
  const whole = readIn(text, LIMIT, limitChars).news;
  for (const pieceBytes of [1, 2, 3, 7]) assert.equal(readIn(text, pieceBytes, limitChars).news, whole);
  return whole;
};

describe('a stream of server-sent events', (check) => {
  check('ends lines as any server does', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      assert.equal(read(['data: one', '', 'data: two', '', ''].join(end)), [event('one'), event('two')]);
    }
    assert.equal(read('data: a\rdata: b\r\n\ndata: c\n\r\n'), [event('a\nb'), event('c')]);
    assert.equal(read('data: a\r\ndata: b\r\n\r\n'), [event('a\nb')]);
    const lines = createSseParser({ limitChars: LIMIT });
    const news = ['data: a\r', '', '\ndata: b\n\n'].flatMap((piece) => lines.push(bytesOf(piece)));
    assert.equal(news, [event('a\nb')], 'an empty piece changes nothing');
  });

  check('joins the lines of an event, and takes one space away', () => {
    assert.equal(read('data: a\ndata:b\ndata:  c\ndata\n\n'), [event('a\nb\n c\n')]);
    assert.equal(read('data:\n\n'), [event('')]);
  });

  check('shows nothing of comments, unknown fields and empty lines', () => {
    assert.equal(read(': beat\n\n:\n\n\n\nwhat: ever\ndatas: no\n data: no\n\n'), []);
    assert.equal(read(': about the next\ndata: x\n: more\n\n'), [event('x')]);
  });

  check('knows the name of an event, of that one alone', () => {
    assert.equal(read('event: ping\ndata: 1\n\ndata: 2\n\nevent: lost\n\ndata: 3\n\n'), [
      named('ping', '1'),
      event('2'),
      event('3'),
    ]);
  });

  check('skips a byte order mark, once', () => {
    assert.equal(read('\ufeffdata: x\n\n\ufeffdata: y\n\n'), [event('x')]);
  });

  check('reads letters that are cut anywhere', () => {
    assert.equal(read('data: Grüße, 世界 😀\n\ndata: 👨‍👩‍👧\n\n'), [event('Grüße, 世界 😀'), event('👨‍👩‍👧')]);
  });

  check('does not give an event in the middle of which the stream ends, nor its id', () => {
    const { news, lines } = readIn('id: 1\ndata: one\n\nid: 2\ndata: two\n', 4);
    assert.equal(news, [event('one')]);
    assert.is(lines.lastID(), '1');
    assert.equal(lines.push(bytesOf('\n')), [event('two')]);
    assert.is(lines.lastID(), '2');
  });

  check('keeps the last id over events without one', () => {
    const { lines } = readIn('id: 1\ndata: a\n\ndata: b\n\n: beat\n\n', LIMIT);
    assert.is(lines.lastID(), '1');
    lines.push(bytesOf('id: bad\0\ndata: c\n\n'));
    assert.is(lines.lastID(), '1');
    lines.push(bytesOf('id: 3\n\n'));
    assert.is(lines.lastID(), '3', 'an id alone counts, too');
    lines.push(bytesOf('id\ndata: d\n\n'));
    assert.is(lines.lastID(), '');
    assert.is(createSseParser({ limitChars: LIMIT }).lastID(), '');
  });

  check('goes on with the id of an earlier connection', () => {
    const lines = createSseParser({ limitChars: LIMIT, lastID: '7' });
    assert.is(lines.lastID(), '7');
    lines.push(bytesOf('data: x\n\n'));
    assert.is(lines.lastID(), '7');
    lines.push(bytesOf('id: 8\ndata: x\n\n'));
    assert.is(lines.lastID(), '8');
  });

  check('learns how long to stay away', () => {
    const { lines } = readIn('retry: 1500\n', LIMIT);
    assert.is(lines.retryMs(), 1500);
    for (const wrong of ['retry: soon\n', 'retry: -1\n', 'retry\n', 'retry: 1.5\n', 'retry: 9999999999\n']) {
      lines.push(bytesOf(wrong));
      assert.is(lines.retryMs(), 1500);
    }
    assert.is(createSseParser({ limitChars: LIMIT }).retryMs(), undefined);
  });

  check('takes an event of just the limit, and reports a longer one in its place', () => {
    assert.equal(read(`data: ${'x'.repeat(100)}\n\n`, 100), [event('x'.repeat(100))]);
    const after = [{ kind: 'too-long' }, event('after')];
    assert.equal(read(`data: ${'x'.repeat(101)}\n\ndata: after\n\n`, 100), after);
    assert.equal(read(`data: ${'x'.repeat(300)}\n\ndata: after\n\n`, 100), after);
    assert.equal(read(`${'data: xxxxxxxxx\n'.repeat(10)}\n`, 100), [event(Array(10).fill('xxxxxxxxx').join('\n'))]);
    assert.equal(read(`${'data: xxxxxxxxx\n'.repeat(11)}\ndata: after\n\n`, 100), after);
    assert.equal(read('data: 123\ndata: 567\n\n', 7), [event('123\n567')]);
    assert.equal(read('data: 123\ndata: 567\n\n', 6), [{ kind: 'too-long' }]);
    assert.equal(read(`${'data\n'.repeat(200)}\ndata: after\n\n`, 100), after);
    assert.equal(read(`data: before\n${'y'.repeat(300)}\ndata: behind\n\ndata: after\n\n`, 100), after);
  });

  check('knows the id of an event that was too long', () => {
    const { lines } = readIn(`id: 5\ndata: ${'x'.repeat(300)}\n\n`, LIMIT, 100);
    assert.is(lines.lastID(), '5');
  });

  check('keeps little of a line that does not end', () => {
    const lines = createSseParser({ limitChars: 1000 });
    const piece = bytesOf('x'.repeat(65_536));
    lines.push(bytesOf('data: '));
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 5000; count++) assert.equal(lines.push(piece), []);
    assert.ok(process.memoryUsage().heapUsed - before < 150_000_000);
    assert.equal(lines.push(bytesOf('\n\ndata: after\n\n')), [{ kind: 'too-long' }, event('after')]);
  });

  check('reads what we write, however it is cut', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9_]{1,30}$/);
    const written: fc.Arbitrary<SseEvent> = fc.record(
      { comment: word, event: word, id: word, data: fc.string({ unit: codePoint }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(written), fc.integer({ min: 1, max: 20 }), (events, pieceBytes) => {
        const { news, lines } = readIn(events.map(encodeSse).join(''), pieceBytes);
        const reported = events.flatMap(({ event: name = 'message', data }) =>
          data === undefined ? [] : [named(name, data.toWellFormed().replace(/\r\n?/g, '\n'))],
        );
        assert.equal(news, reported);
        assert.is(lines.lastID(), events.findLast(({ id }) => id !== undefined)?.id ?? '');
      }),
    );
  });
});

import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { type AnsweredRequest, guard, type Handler } from '../../../src/core/http/handler.ts';

import { createLog } from '../../../src/core/log.ts';
import { GATEWAY_ERRORS } from '../../../src/gateway/errors.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const CANARY = 'canary-4c1d';

const guarding = (handler: Handler, onAnswered?: (answered: AnsweredRequest) => void) => {
  const clock = createFakeClock();
  const lines: string[] = [];
  let made = 0;
  const app = guard(handler, {
    errors: GATEWAY_ERRORS,
    clock,
    log: createLog({ level: 'debug', service: 'test', clock, write: (line) => lines.push(line) }),
    newRequestId: () => `made-${++made}`,
    routeOf: () => '/things/:id',
    ...(onAnswered === undefined ? {} : { onAnswered }),
  });
  const logged = () => lines.map((line) => JSON.parse(line));
  return { app, clock, lines, logged };
};
const answering = (response = new Response('fine')) => guarding(async () => response);
const throwing = (thrown: unknown) =>
  guarding(() => {
    throw thrown;
  });
const asking = (requestId?: string, path = '/things/1'): Request =>
  new Request(`http://gateway.test${path}`, requestId === undefined ? {} : { headers: { 'x-request-id': requestId } });
/** A runtime whose headers let more through than the standard's. */
const askingRaw = (requestId: string): Request =>
  ({ url: 'http://gateway.test/', method: 'GET', headers: { get: () => requestId } }) as unknown as Request;

describe('the request id', (check) => {
  for (const id of ['a', '0b9e3f4c-8a51-4c0e-9a76-3c3f6f1d2e11', 'req_1.2:3-4', 'x'.repeat(128)]) {
    check(`${id.slice(0, 40)} of a caller is kept`, async () => {
      const { app, logged } = answering();
      assert.is((await app(asking(id))).headers.get('x-request-id'), id);
      assert.is(logged()[0].requestId, id);
    });
  }

  const forged = [
    '',
    ' ',
    'a b',
    'a\nlevel: error',
    'a\n',
    '\r\nset-cookie: a=b',
    'x'.repeat(129),
    'x'.repeat(200),
    'é',
    '"',
    '{}',
    '<script>',
    'a/b',
    'a,b',
    '\0',
    '\u2028',
    '😀',
  ];
  for (const id of forged) {
    check(`${JSON.stringify(id.slice(0, 40))} of a caller is replaced by ours`, async () => {
      const { app, logged } = answering();
      assert.is((await app(askingRaw(id))).headers.get('x-request-id'), 'made-1');
      assert.is(logged()[0].requestId, 'made-1');
    });
  }

  check('is made anew for each request that brings none', async () => {
    const { app } = guarding(async () => new Response());
    assert.is((await app(asking())).headers.get('x-request-id'), 'made-1');
    assert.is((await app(asking())).headers.get('x-request-id'), 'made-2');
  });

  check('is on every kind of answer', async () => {
    for (const world of [
      answering(),
      throwing(new Error('bug')),
      throwing(undefined),
      throwing(new Fault({ kind: 'unauthorized' })),
      throwing(new Fault({ kind: 'client-left' })),
    ]) {
      assert.is((await world.app(asking('id-1'))).headers.get('x-request-id'), 'id-1');
    }
  });

  check('replaces one that the handler has set', async () => {
    const { app } = answering(new Response(null, { headers: { 'x-request-id': 'theirs' } }));
    assert.is((await app(asking('id-1'))).headers.get('x-request-id'), 'id-1');
  });

  check('is on an answer whose headers cannot be changed, and the rest of it stays', async () => {
    const { app, logged } = answering(Response.redirect('http://other.test/', 307));
    const response = await app(asking('id-1'));
    assert.is(response.status, 307);
    assert.is(response.headers.get('location'), 'http://other.test/');
    assert.is(response.headers.get('x-request-id'), 'id-1');
    assert.is(logged()[0].status, 307);
  });
});

describe('a bug', (check) => {
  const hidden = (text: string): void => assert.not.match(text, new RegExp(CANARY));
  class CustomError extends Error {
    override readonly name = 'CustomError';
  }
  /** A stack is written when it is first looked at, and keeps the words of that moment. */
  const reworded = (before: string, after: string): Error => {
    const error = new Error(before);
    assert.match(error.stack ?? '', /\n/);
    error.message = after;
    return error;
  };
  const likeAPlace = `${CANARY}\n    at ${CANARY}`;
  const bugs: readonly (readonly [string, unknown, string])[] = [
    ['an error', new TypeError(CANARY), 'TypeError'],
    ['an error of several lines', new Error(`a\n${CANARY}\n`), 'Error'],
    ['an error whose words look like a place', new Error(`a\n    at ${CANARY}\n    at ${CANARY}`), 'Error'],
    ['an error of another class whose words look like a place', new CustomError(`\n  at ${CANARY}`), 'CustomError'],
    ['an error whose words were changed later', reworded('short', likeAPlace), 'Error'],
    ['an error whose words were taken away later', reworded(likeAPlace, 'other words'), 'Error'],
    ['an error with a cause', new Error('a', { cause: new Error(CANARY) }), 'Error'],
    ['an error without a stack', Object.assign(new Error(CANARY), { stack: undefined }), 'Error'],
    ['an error that carries a key', Object.assign(new Error('a'), { apiKey: CANARY }), 'Error'],
    ['several errors', new AggregateError([new Error(CANARY)], CANARY), 'AggregateError'],
    ['an abort', new DOMException(CANARY, 'AbortError'), 'AbortError'],
    ['a text', CANARY, 'string'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'object'],
    ['an object without a prototype', Object.assign(Object.create(null), { message: CANARY }), 'object'],
    ['a symbol', Symbol(CANARY), 'symbol'],
  ];
  for (const [what, thrown, name] of bugs) {
    check(`that throws ${what} is answered with 500 and no detail, and logged without its words`, async () => {
      const { app, lines, logged } = throwing(thrown);
      const response = await app(asking());
      assert.is(response.status, 500);
      const text = await response.text();
      assert.is(JSON.parse(text).error.code, 'internal_error');
      hidden(text + JSON.stringify([...response.headers]));
      hidden(lines.join('\n'));
      const [line] = logged();
      assert.equal([line.level, line.event, line.fault, line.status], ['error', 'request-answered', 'bug', 500]);
      assert.match(line.reason, new RegExp(`^${name} at .`));
    });
  }

  check('is logged with the place where it was thrown', async () => {
    const { app, logged } = guarding(function brokenHandler() {
      throw new Error(`a\n    at ${CANARY}`);
    });
    await app(asking());
    assert.match(logged()[0].reason, /^Error at brokenHandler \(.*handler\.test\.ts:\d+:\d+\)$/);
  });

  check('in a promise is answered as one that is thrown', async () => {
    const { app, logged } = guarding(() => Promise.reject(new Error(CANARY)));
    assert.is((await app(asking())).status, 500);
    assert.is(logged()[0].fault, 'bug');
  });

  check('that gives no response at all is answered with 500', async () => {
    for (const nothing of [undefined, null, 'text', Response.error()]) {
      const { app, logged } = guarding(async () => nothing as unknown as Response);
      assert.is((await app(asking())).status, 500);
      assert.is(logged()[0].fault, 'bug');
    }
  });

  check('in who counts the answers does not change the answer', async () => {
    const { app, lines, logged } = guarding(
      async () => new Response('fine'),
      () => {
        throw new Error(CANARY);
      },
    );
    const response = await app(asking('id-1'));
    assert.equal([response.status, await response.text()], [200, 'fine']);
    assert.equal(
      logged().map(({ level, event, requestId }) => [level, event, requestId]),
      [
        ['info', 'request-answered', 'id-1'],
        ['error', 'answer-not-counted', 'id-1'],
      ],
    );
    hidden(lines.join('\n'));
  });
});

describe('a fault', (check) => {
  check('is answered as the table of faults says', async () => {
    const response = await throwing(new Fault({ kind: 'no-backend-key', retryAfterMs: 31_000 })).app(asking());
    assert.is(response.status, 503);
    assert.is(response.headers.get('retry-after'), '31');
    assert.is((await response.json()).error.code, 'no_backend_key');
  });

  const levels: readonly (readonly [Fault, string])[] = [
    [new Fault({ kind: 'unauthorized' }), 'info'],
    [new Fault({ kind: 'client-left' }), 'info'],
    [new Fault({ kind: 'rate-limited', retryAfterMs: 1 }), 'info'],
    [new Fault({ kind: 'backend-timeout' }), 'warn'],
    [new Fault({ kind: 'overloaded', retryAfterMs: 1 }), 'warn'],
  ];
  for (const [fault, level] of levels) {
    check(`${fault.detail.kind} is logged at ${level} by its kind`, async () => {
      const { app, logged } = throwing(fault);
      await app(asking());
      const [line] = logged();
      assert.equal([line.level, line.fault], [level, fault.detail.kind]);
      assert.not('reason' in line);
    });
  }

  check('is logged with its reason, which is in our own words', async () => {
    const { app, logged } = throwing(new Fault({ kind: 'backend-error', reason: 'status 500' }));
    await app(asking());
    assert.is(logged()[0].reason, 'status 500');
  });

  check('never shows in the log what it says of a request', async () => {
    const { app, lines } = throwing(new Fault({ kind: 'bad-input', code: 'c', param: CANARY, message: CANARY }));
    await app(asking());
    assert.not.match(lines.join('\n'), new RegExp(CANARY));
  });
});

describe('the line about a request', (check) => {
  check('calls every method that a caller made up by one name', async () => {
    const seen: string[] = [];
    const { app, lines } = guarding(
      async () => new Response(),
      ({ method }) => seen.push(method),
    );
    for (const method of [CANARY, 'constructor', 'get']) await app({ ...askingRaw(''), method } as Request);
    assert.equal(seen, ['other', 'other', 'other']);
    assert.not.match(lines.join(''), CANARY);
  });

  check('is one, with method, route, status and duration, and without path, query or headers', async () => {
    const { app, clock, lines, logged } = guarding(async () => {
      await clock.advance(250);
      return new Response(CANARY, { status: 201, headers: { 'x-secret': CANARY } });
    });
    const request = new Request(`http://gateway.test/things/${CANARY}?key=${CANARY}`, {
      method: 'POST',
      body: CANARY,
      headers: { authorization: `Bearer ${CANARY}`, 'x-request-id': 'id-1' },
    });
    await app(request);
    assert.is(lines.length, 1);
    assert.not.match(lines[0] ?? '', new RegExp(CANARY));
    const { time: _, ...line } = logged()[0];
    assert.equal(line, {
      level: 'info',
      service: 'test',
      event: 'request-answered',
      requestId: 'id-1',
      method: 'POST',
      route: '/things/:id',
      status: 201,
      durationMs: 250,
    });
  });

  check('is written for every request, also when they overlap', async () => {
    const { app, clock, logged } = guarding(
      (request) =>
        new Promise((resolve) => {
          clock.after(request.url.endsWith('/slow') ? 900 : 100, () => resolve(new Response()));
        }),
    );
    const both = Promise.all([app(asking('slow', '/slow')), app(asking('fast', '/fast'))]);
    await clock.advance(1000);
    await both;
    assert.equal(
      logged().map(({ requestId, durationMs }) => [requestId, durationMs]),
      [
        ['fast', 100],
        ['slow', 900],
      ],
    );
  });

  check('is at info for a 503 that the handler answers on purpose', async () => {
    const { app, logged } = answering(new Response(null, { status: 503 }));
    await app(asking());
    assert.equal([logged()[0].level, logged()[0].status], ['info', 503]);
  });

  check('reports those who count the same', async () => {
    const counted: AnsweredRequest[] = [];
    const { app } = guarding(
      () => {
        throw new Fault({ kind: 'unauthorized' });
      },
      (answered) => counted.push(answered),
    );
    await app(asking());
    assert.equal(counted, [{ method: 'GET', route: '/things/:id', status: 401, durationMs: 0 }]);
  });
});

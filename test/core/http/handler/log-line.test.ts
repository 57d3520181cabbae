import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import type { AnsweredRequest } from '../../../../src/core/http/handler.ts';
import { describe } from '../../../check.ts';
import { answering, asking, askingRaw, CANARY, handling } from './world.ts';

describe('the line about a request', (check) => {
  check('calls every method that a caller made up by one name', async () => {
    const seen: string[] = [];
    const { app, lines } = handling(
      async () => new Response(),
      ({ method }) => seen.push(method),
    );
    for (const method of [CANARY, 'constructor', 'get']) await app({ ...askingRaw(''), method } as Request);
    assert.equal(seen, ['other', 'other', 'other']);
    assert.not.match(lines.join(''), CANARY);
  });

  check('is one, with method, route, status and duration, and without path, query or headers', async () => {
    const { app, clock, lines, logged } = handling(async () => {
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
    assert.not.match(lines.join(), new RegExp(CANARY));
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
    const { app, clock, logged } = handling(
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
    const { app } = handling(
      () => {
        throw new Fault({ kind: 'unauthorized' });
      },
      (answered) => counted.push(answered),
    );
    await app(asking());
    assert.equal(counted, [{ method: 'GET', route: '/things/:id', status: 401, durationMs: 0 }]);
  });
});

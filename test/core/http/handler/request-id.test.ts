import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { describe } from '../../../check.ts';
import { answering, asking, askingRaw, handling, throwing } from './world.ts';

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
      assert.is((await app(askingRaw(id))).headers.get('x-request-id'), 'req-made-1');
      assert.is(logged()[0].requestId, 'req-made-1');
    });
  }

  check('is made anew for each request that brings none', async () => {
    const { app } = handling(async () => new Response());
    assert.is((await app(asking())).headers.get('x-request-id'), 'req-made-1');
    assert.is((await app(asking())).headers.get('x-request-id'), 'req-made-2');
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

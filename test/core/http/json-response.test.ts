import * as assert from 'uvu/assert';
import { jsonResponse } from '../../../src/core/http/response.ts';
import { describe } from '../../check.ts';

describe('a JSON answer', (check) => {
  check('has its status, its type and its body', async () => {
    const answer = jsonResponse(503, { status: 'not ready', reasons: ['a "quoted" one', '多'] });
    assert.is(answer.status, 503);
    assert.is(answer.headers.get('content-type'), 'application/json');
    assert.equal(await answer.json(), { status: 'not ready', reasons: ['a "quoted" one', '多'] });
  });

  check('carries further headers beside its type', () => {
    const { headers } = jsonResponse(200, {}, { 'x-moderation-cache': 'hit' });
    assert.is(headers.get('x-moderation-cache'), 'hit');
    assert.is(headers.get('content-type'), 'application/json');
  });
});

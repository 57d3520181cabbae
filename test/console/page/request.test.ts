import * as assert from 'uvu/assert';
import { ApiError, createApi, NOT_THE_CONSOLE } from '../../../src/console/page/api/request.ts';
import { describe } from '../../check.ts';

const failureOf = async (response: Response): Promise<ApiError> => {
  const before = globalThis.fetch;
  globalThis.fetch = async () => response;
  try {
    await createApi({ csrf: () => '', onLoggedOut: () => {} }).get('/api/sessions');
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  } finally {
    globalThis.fetch = before;
  }
  throw new Error('Expected a failure');
};

describe('a call of the page', (check) => {
  check('that a login page of a proxy answers fails as that, and not as a fault of the page', async () => {
    const failure = await failureOf(new Response('<h1>Log in</h1>', { headers: { 'content-type': 'text/html' } }));
    assert.equal([failure.status, failure.code, failure.message], [200, NOT_THE_CONSOLE, '']);
  });

  check('that the console refuses has its sentence, and one that a proxy refuses has none', async () => {
    const own = { error: { code: 'service_down', message: 'The agent server does not answer' } };
    assert.is((await failureOf(Response.json(own, { status: 502 }))).message, own.error.message);
    assert.is((await failureOf(new Response('<h1>Bad Gateway</h1>', { status: 502 }))).message, '');
  });
});

import { gunzipSync, gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { withSecurityHeaders } from '../../src/console/assets/headers.ts';
import { createPageRoutes } from '../../src/console/assets/page-routes.ts';
import { createRoutes } from '../../src/core/http/router.ts';
import { describe } from '../check.ts';

const page = {
  html: '<!doctype html><div id="root"></div>',
  assets: { 'app.ABC.js': { type: 'text/javascript; charset=utf-8', text: 'let x = 1' } },
};

const routesOf = (given: typeof page | undefined) => {
  let compressions = 0;
  const { table, pageForUnknownPath } = createPageRoutes({
    page: given,
    digest: (text) => `tag-${text.length}`,
    gzip: (text) => {
      compressions += 1;
      return new Uint8Array(gzipSync(text));
    },
  });
  const { handler } = createRoutes(table, () => 'no such path');
  const ask = (path: string, headers: Record<string, string> = {}) =>
    withSecurityHeaders(handler)(new Request(`http://127.0.0.1${path}`, { headers }));
  return { ask, compressions: () => compressions, pageForUnknownPath };
};

describe('the files of the page', (check) => {
  check('are one HTML at the address of every view, which may load its own script and style alone', async () => {
    const { ask } = routesOf(page);
    for (const path of ['/', '/moderation', '/chat', '/sessions/0/ses_1', '/recharges', '/settings']) {
      const response = await ask(path);
      assert.is(await response.text(), page.html, path);
      const policy = response.headers.get('content-security-policy') ?? '';
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
        assert.ok(policy.split('; ').includes(rule), rule);
      assert.not.match(policy, 'unsafe');
      assert.is(response.headers.get('referrer-policy'), 'no-referrer');
      assert.match(response.headers.get('permissions-policy') ?? '', 'camera=()');
      assert.is(response.headers.get('x-content-type-options'), 'nosniff');
    }
  });

  check('answer a browser at an address that nothing has, and no program', async () => {
    const { pageForUnknownPath } = routesOf(page);
    const accept = 'text/html,application/xhtml+xml';
    const browser = pageForUnknownPath(new Request('http://127.0.0.1/nothing', { headers: { accept } }));
    assert.equal([browser?.status, await browser?.text()], [404, page.html]);
    for (const [path, given] of [
      ['/nothing', '*/*'],
      ['/api/nothing', accept],
      ['/a/token', accept],
    ] as const)
      assert.is(pageForUnknownPath(new Request(`http://127.0.0.1${path}`, { headers: { accept: given } })), undefined);
  });

  check('are kept by a browser: the script for ever, the HTML while its tag is the same', async () => {
    const { ask } = routesOf(page);
    const script = await ask('/assets/app.ABC.js');
    assert.is(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.match(script.headers.get('cache-control') ?? '', 'immutable');
    const html = await ask('/');
    assert.is(html.headers.get('cache-control'), 'no-cache');
    const tag = html.headers.get('etag') ?? '';
    assert.is((await ask('/', { 'if-none-match': `W/${tag}` })).status, 304);
    assert.is((await ask('/', { 'if-none-match': '"other"' })).status, 200);
  });

  check('are compressed once, for those who take it', async () => {
    const { ask, compressions } = routesOf(page);
    for (let count = 0; count < 3; count++) {
      const response = await ask('/', { 'accept-encoding': 'gzip, br' });
      assert.is(response.headers.get('content-encoding'), 'gzip');
      assert.is(gunzipSync(Buffer.from(await response.arrayBuffer())).toString(), page.html);
    }
    assert.is(compressions(), 1);
    assert.is((await ask('/')).headers.get('content-encoding'), null);
  });

  check('of another build, and those of no build, are said to be missing', async () => {
    for (const [given, path] of [
      [page, '/assets/app.OLD.js'],
      [page, '/assets/constructor'],
      [undefined, '/'],
    ] as const) {
      const failure = await routesOf(given)
        .ask(path)
        .then(() => undefined)
        .catch((error: unknown) => error);
      assert.is((failure as { detail: { kind: string } }).detail.kind, 'not-found');
    }
  });
});

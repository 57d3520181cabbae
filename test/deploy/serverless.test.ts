import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { judgedBy, startBackend } from '../runtime/backends.ts';
import { fetchText, moderate, moderationOf } from '../runtime/client.ts';
import { bundle, freePort, program, ROOT, start } from '../runtime/processes.ts';
import { blockWith } from './serverless-page.ts';

/** The key that the page's own lines set. */
const CHOSEN = { authorization: 'Bearer choose-a-key' };
const QUIET = { DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' };

const RUNTIMES = [
  { name: 'Deno', line: 'deno serve --', expectedText: /Listening on http:/ },
  { name: 'Bun', line: ' bun dist/gateway.worker.js', expectedText: /Started server/ },
] as const;

describe('docs/serverless.md', (check) => {
  for (const { name, line, expectedText } of RUNTIMES) {
    check(`starts a gateway on ${name} by its lines, but for the port`, async () => {
      const port = await freePort();
      bundle('gateway.worker.js');
      const block = blockWith(line);
      assert.is(block.split('8000').length, 2);
      const backend = await startBackend();
      const running = start('sh', ['-ec', block.replace('8000', String(port))], {
        directory: ROOT,
        // The judge of the test instead of the cloud. The rest is the page's.
        variables: { ...QUIET, ...judgedBy(backend.address), PATH: `${dirname(program('node'))}:${process.env.PATH}` },
        isGroup: true,
      });
      try {
        await running.outputMatching(expectedText);
        const address = `http://127.0.0.1:${port}`;
        const answer = await moderate(address, { input: 'I will kill you' }, CHOSEN);
        assert.is(moderationOf(answer).results[0]?.flagged, true);
        assert.is((await fetchText(`${address}/metrics`)).status, 404);
        // On all addresses, as the page says.
        assert.is((await fetchText(`http://127.0.0.2:${port}/health`)).status, 200);
      } finally {
        await running.kill();
        await backend.stop();
      }
    });
  }

  check('reports the size of the file', () => {
    const kilobytes = Math.round(statSync(bundle('gateway.worker.js')).size / 1024);
    const [, stated] = /in one file of (\d+) KB/.exec(readFileSync(join(ROOT, 'docs/serverless.md'), 'utf8')) ?? [];
    assert.ok(Math.abs(kilobytes - Number(stated)) <= 4, `${kilobytes} KB, and the page says ${stated}`);
  });
});

import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { start } from '../../runtime/processes.ts';

const STOP_LIMIT_MS = 10_000;
const SERVICE = JSON.stringify(join(import.meta.dirname, '../../../src/adapter/node/service.ts'));

/** A service of which one part never comes to its end. */
const script = `import { runService } from ${SERVICE};
  const never = () => new Promise(() => {});
  const log = (level, event) => process.stderr.write(event + '\\n');
  await runService('stuck', async () => ({
    handler: async () => new Response('here'), host: '127.0.0.1', port: 0, log, onStopping: never, close: never,
  }));`;

describe('a service that is told to stop', (check) => {
  check('ends in its time, whatever a part of it does', async () => {
    const service = start(process.execPath, ['--no-warnings', '--input-type=module', '-e', script]);
    await service.saying(/^listening$/m);
    const startedAt = performance.now();
    service.signal('SIGTERM');
    await service.saying(/^stopped$/m);
    assert.equal(await service.ended, { code: 0, signal: null });
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < STOP_LIMIT_MS + 2000, `${Math.round(tookMs)} ms`);
  });
});

import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startErrors } from '../../../src/adapter/node/service.ts';
import { describe } from '../../check.ts';
import { COMPILE_CACHE } from '../../compile-cache.ts';
import { run, start } from '../../runtime/processes.ts';

const STOP_LIMIT_MS = 10_000;
const SERVICE = JSON.stringify(join(import.meta.dirname, '../../../src/adapter/node/service.ts'));
const CONFIG = JSON.stringify(join(import.meta.dirname, '../../../src/core/config.ts'));

/** A service of which one part never comes to its end. */
const script = `import { runService } from ${SERVICE};
  const never = () => new Promise(() => {});
  const log = (level, event) => process.stderr.write(event + '\\n');
  await runService({ name: 'stuck', unknownVariables: () => new Map() }, async () => ({
    handler: async () => new Response('here'), host: '127.0.0.1', port: 0, log, onStopping: never, close: never,
  }));`;

describe('a service that is asked to stop', (check) => {
  check('ends in its time, whatever a part of it does', async () => {
    const service = start(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
      variables: COMPILE_CACHE,
    });
    await service.outputMatching(/^listening$/m);
    const startedAt = performance.now();
    service.signal('SIGTERM');
    await service.outputMatching(/^stopped$/m);
    assert.equal(await service.ended, { code: 0, signal: null });
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < STOP_LIMIT_MS + 2000, `${Math.round(tookMs)} ms`);
  });
});

/** A service that starts or fails as `start` says, with a variable that nobody knows. */
const misspelt = (start: string) => `import { runService } from ${SERVICE};
  import { ConfigError } from ${CONFIG};
  const log = (...line) => process.stderr.write(JSON.stringify(line) + '\\n');
  const service = { handler: async () => new Response('here'), host: '127.0.0.1', port: 0, log, close: async () => {} };
  const unknownVariables = ({ OURS_KEI }) => new Map([['OURS_KEI', OURS_KEI === 'x' ? 'OURS_KEY' : '']]);
  await runService({ name: 'misspelt', unknownVariables }, async () => { ${start} });`;
const runScript = (script: string) =>
  run(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], {
    variables: { ...COMPILE_CACHE, OURS_KEI: 'x' },
  });

describe('a variable without effect', (check) => {
  check('is named when the start fails, as it may be the cause', async () => {
    const { code, stderr } = await runScript(misspelt("throw new ConfigError(['OURS_KEY: expected a value']);"));
    assert.equal(
      [code, stderr],
      [
        1,
        'gatehouse misspelt: OURS_KEY: expected a value\ngatehouse misspelt: OURS_KEI: warning: this variable has no effect; did you mean OURS_KEY?\n',
      ],
    );
  });

  check('is a warning after a good start', async () => {
    const { stderr } = await runScript(misspelt('setTimeout(() => process.exit(0), 200); return service;'));
    assert.match(stderr, '["warn","unknown-setting",{"setting":"OURS_KEI"');
    assert.match(stderr, '["info","listening"');
  });
});

describe('a start over a system without shared ports', (check) => {
  check('names the setting that asks for one', () => {
    const [problem = ''] = startErrors(Object.assign(new Error('listen ENOTSUP'), { code: 'ENOTSUP' }));
    assert.match(problem, /^REUSE_PORT: /);
  });
});

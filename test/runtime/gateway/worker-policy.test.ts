import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { moderate } from '../client.ts';
import { until, workerIds } from './workers.ts';
import { withGateway } from './world.ts';

describe('a gateway with workers and a policy file', (check) => {
  check('judges by the file as it was at the start, also in a worker that replaces another', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
    const MODERATION_POLICY_FILE = join(folder, 'policy.json');
    writeFileSync(MODERATION_POLICY_FILE, '{"version":"first"}');
    try {
      await withGateway({ variables: { GATEWAY_WORKERS: '2', MODERATION_POLICY_FILE } }, async ({ gateway }) => {
        writeFileSync(MODERATION_POLICY_FILE, '{"version":"second"}');
        const before = workerIds(gateway);
        for (const id of before) process.kill(id, 'SIGKILL');
        await until(() => gateway.stderr().split('"event":"worker-replaced"').length === 3, 'two other workers');
        const answer = await moderate(gateway.address, { input: 'good morning' });
        assert.equal([answer.status, answer.headers.get('x-moderation-policy')], [200, 'first']);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

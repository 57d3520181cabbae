import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { ConfigError } from '../../../src/core/config.ts';
import { readGatewayConfig } from '../../../src/gateway/settings/config.ts';
import { openShadowFile } from '../../../src/main/gateway/shadow-file.ts';
import gatewayWorker from '../../../src/main/gateway.worker.ts';
import { describe, rejection } from '../../check.ts';

const configWith = (shadow: object) =>
  readGatewayConfig({ MODERATION_SHADOW: JSON.stringify({ alias: 'moderation-accurate', share: 1, ...shadow }) });
const openIn = (directory: string, name: string) =>
  openShadowFile(configWith({ file: join(directory, name) }), () => assert.unreachable());
const inDirectory = async (body: (directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-shadow-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

describe("the shadow's file", (check) => {
  check('is opened where one is set', () =>
    inDirectory(async (directory) => {
      await openIn(directory, 'shadow.jsonl');
      assert.equal(readdirSync(directory), ['shadow.jsonl']);
      assert.is(await openShadowFile(configWith({}), () => {}), undefined);
      assert.is(await openShadowFile(readGatewayConfig({}), () => {}), undefined);
    }),
  );
  check('ends the start where others may read it, without naming its path', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'canary.jsonl');
      writeFileSync(path, '');
      chmodSync(path, 0o644);
      const error = await rejection(openIn(directory, 'canary.jsonl'));
      assert.ok(error instanceof ConfigError);
      assert.equal(error.problems, [
        'MODERATION_SHADOW: file: expected the path of a file that this user alone may read and write, in a directory that exists (EMODE)',
      ]);
    }),
  );
  check('ends the start where its directory is missing, and makes none', () =>
    inDirectory(async (directory) => {
      const error = await rejection(openIn(join(directory, 'mistyped'), 'shadow.jsonl'));
      assert.ok(error instanceof ConfigError);
      assert.match(
        error.problems[0] ?? '',
        /^MODERATION_SHADOW: file: expected .* in a directory that exists \(ENOENT\)$/,
      );
      assert.equal(readdirSync(directory), []);
    }),
  );
  check('is refused in runtimes without files', async () => {
    const answer = await gatewayWorker.fetch(new Request('http://gateway.test/health'), {
      MODERATION_API_KEYS: 'gateway-key',
      BACKEND_API_KEYS: 'backend-key',
      MODERATION_SHADOW: '{"alias":"moderation-accurate","share":1,"file":"shadow.jsonl"}',
    });
    assert.is(answer.status, 500);
    assert.match(await answer.text(), 'The service is not configured: MODERATION_SHADOW');
  });
});

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openLogoutFiles } from '../../../src/console/adapter/logout-files.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';

const HOUR_MS = 3_600_000;

const inDirectory = async (body: (directory: string) => Promise<void>): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-logouts-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

describe('logouts in a directory', (check) => {
  check('are read after a restart and by others, each once, and by their owner alone', () =>
    inDirectory(async (parent) => {
      const directory = join(parent, 'data');
      const clock = createFakeClock();
      const [one, other] = [await openLogoutFiles(directory, clock), await openLogoutFiles(directory, clock)];
      await one.append('first', clock.now() + 12 * HOUR_MS);
      await clock.advance(7 * HOUR_MS);
      await other.append('second', clock.now() + 12 * HOUR_MS);
      const restarted = await openLogoutFiles(directory, clock);
      for (const file of [one, other, restarted]) {
        assert.equal([...(await file.readNew())].sort(), ['first', 'second']);
        assert.equal(await file.readNew(), []);
      }
      const modes = readdirSync(directory).map((name) => statSync(join(directory, name)).mode & 0o777);
      assert.equal(modes, [0o600]);
    }),
  );

  check('are kept until their sessions would be over, and then their files are deleted', () =>
    inDirectory(async (directory) => {
      const clock = createFakeClock();
      writeFileSync(join(directory, 'notes.txt'), 'of someone else');
      const file = await openLogoutFiles(directory, clock);
      for (let hours = 0; hours < 72; hours += 5) {
        await file.append(`at ${hours}`, clock.now() + 12 * HOUR_MS);
        await clock.advance(5 * HOUR_MS);
        const lines = await (await openLogoutFiles(directory, clock)).readNew();
        // Logged out five and ten hours ago.
        for (const known of [hours, hours - 5]) if (known >= 0) assert.ok(lines.includes(`at ${known}`), `${hours}`);
        assert.ok(readdirSync(directory).length <= 3);
      }
      await clock.advance(24 * HOUR_MS);
      await openLogoutFiles(directory, clock);
      assert.equal(readdirSync(directory), ['notes.txt']);
    }),
  );

  check('of one file are read also while the other one cannot be', () =>
    inDirectory(async (directory) => {
      const clock = createFakeClock();
      const [one, other] = [await openLogoutFiles(directory, clock), await openLogoutFiles(directory, clock)];
      await one.append('first', clock.now() + 12 * HOUR_MS);
      const [older = ''] = readdirSync(directory);
      await clock.advance(12 * HOUR_MS);
      await one.append('second', clock.now() + 12 * HOUR_MS);
      chmodSync(join(directory, older), 0o644);
      assert.equal(await other.readNew(), ['second']);
      assert.ok((await rejection(other.readNew())) instanceof Error);
      chmodSync(join(directory, older), 0o600);
      assert.equal(await other.readNew(), ['first']);
    }),
  );

  check('are refused where nothing can be kept', () =>
    inDirectory(async (parent) => {
      const clock = createFakeClock();
      const file = join(parent, 'file');
      writeFileSync(file, '');
      const closed = join(parent, 'closed');
      mkdirSync(closed);
      chmodSync(closed, 0o500);
      const isRoot = process.getuid?.() === 0;
      for (const directory of [join(parent, 'a/b'), file, ...(isRoot ? [] : [closed])])
        assert.ok((await rejection(openLogoutFiles(directory, clock))) instanceof Error, directory);
    }),
  );
});

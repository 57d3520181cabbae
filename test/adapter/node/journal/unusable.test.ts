import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createJournalFile, missingJournal } from '../../../../src/adapter/node/journal.ts';
import type { JournalFile } from '../../../../src/relay-admin/recharge/journal.ts';
import { describe, rejection } from '../../../check.ts';
import { inDirectory, linesIn } from './world.ts';

const NOBODY = 65_534;

/** Root writes wherever it likes, so for the time of `body` it is somebody whom permission bits bind. */
const withoutPrivileges = async (directory: string, body: () => Promise<void>): Promise<void> => {
  if (process.geteuid?.() !== 0) return body();
  chownSync(directory, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    await body();
  } finally {
    process.seteuid?.(0);
  }
};

describe('a journal file that cannot be used', (check) => {
  const rejectsBoth = async (file: JournalFile): Promise<void> => {
    assert.instance(await rejection(file.append('1')), Error);
    assert.instance(await rejection(file.readNew()), Error);
  };

  check('because it is a directory is no empty journal', () =>
    inDirectory(async (path) => {
      mkdirSync(path, { recursive: true });
      await rejectsBoth(createJournalFile(path));
    }),
  );

  check('because its directory is a file is no empty journal', () =>
    inDirectory(async (path, directory) => {
      writeFileSync(join(directory, 'data'), '');
      await rejectsBoth(createJournalFile(path));
    }),
  );

  check('because more than the last directory is missing makes none of them', () =>
    inDirectory(async (path, directory) => {
      const deep = join(directory, 'mistyped', 'deep', 'journal.jsonl');
      assert.is(((await rejection(createJournalFile(deep).append('1'))) as { code?: string }).code, 'ENOENT');
      assert.not.ok(existsSync(join(directory, 'mistyped')));
      const missing = `there is no directory ${join(directory, 'mistyped')}: `;
      assert.ok(missingJournal(deep)?.startsWith(`${missing}previews and recharges are refused`), missingJournal(deep));
      assert.is(missingJournal(path), `there is no file ${path}: the first preview begins a new one`);
      await createJournalFile(path).append('1');
      assert.is(missingJournal(path), undefined);
    }),
  );

  check('because it is a pipe or a device takes no line, is no empty journal and blocks no one', () =>
    inDirectory(async (_path, directory) => {
      const pipe = join(directory, 'pipe');
      assert.is(spawnSync('mkfifo', [pipe]).status, 0);
      for (const path of [pipe, '/dev/null']) {
        const file = createJournalFile(path);
        for (const use of [() => file.append('1'), () => file.readNew()])
          assert.is(((await rejection(use())) as { code?: string }).code, 'ENOTREG', path);
      }
    }),
  );

  const codesOf = async (file: JournalFile): Promise<readonly (string | undefined)[]> => {
    const codes: (string | undefined)[] = [];
    for (const use of [() => file.append('1'), () => file.readNew()])
      codes.push(((await rejection(use())) as { code?: string }).code);
    return codes;
  };

  check('because it is a symbolic link takes no line, and what it leads to stays as it was', () =>
    inDirectory(async (path, directory) => {
      await createJournalFile(path).append('1');
      const link = join(directory, 'link.jsonl');
      symlinkSync(path, link);
      assert.equal(await codesOf(createJournalFile(link)), ['ELOOP', 'ELOOP']);
      assert.equal(linesIn(path), ['1']);
      // A link to nothing is not followed to make a file, either.
      const nowhere = join(directory, 'nowhere.jsonl');
      symlinkSync(join(directory, 'target.jsonl'), nowhere);
      assert.is((await codesOf(createJournalFile(nowhere)))[0], 'ELOOP');
      assert.not(existsSync(join(directory, 'target.jsonl')));
      // A link on the way to it is somebody's own arrangement of directories.
      symlinkSync(join(directory, 'data'), join(directory, 'way'));
      await createJournalFile(join(directory, 'way', 'journal.jsonl')).append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  check('because others may read or write it takes no line', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      for (const mode of [0o602, 0o604, 0o606, 0o666, 0o644]) {
        chmodSync(path, mode);
        assert.equal(await codesOf(file), ['EMODE', 'EMODE'], mode.toString(8));
      }
      // A volume of Kubernetes is open to the process's own group.
      chmodSync(path, 0o660);
      await file.append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  const root = process.geteuid?.() === 0 ? undefined : 'the rights of root';

  check.needing(root, 'because it is of another owner or open to another group takes no line', () =>
    inDirectory(async (path) => {
      const file = createJournalFile(path);
      await file.append('1');
      chownSync(path, NOBODY, 0);
      assert.equal(await codesOf(file), ['ENOTOWNER', 'ENOTOWNER']);
      chownSync(path, 0, NOBODY);
      chmodSync(path, 0o660);
      assert.equal(await codesOf(file), ['EMODE', 'EMODE']);
      chmodSync(path, 0o600);
      await file.append('2');
      assert.equal(linesIn(path), ['1', '2']);
    }),
  );

  check('because it may not be read is no empty journal', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        await createJournalFile(path).append('1');
        chmodSync(path, 0o000);
        await rejectsBoth(createJournalFile(path));
      }),
    ),
  );

  check('because its directory may not be written takes no line and has none', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        mkdirSync(join(directory, 'data'));
        chmodSync(join(directory, 'data'), 0o500);
        assert.instance(await rejection(createJournalFile(path).append('1')), Error);
        assert.equal(await createJournalFile(path).readNew(), []);
      }),
    ),
  );

  check('because its directory may not be entered is no empty journal', () =>
    inDirectory((path, directory) =>
      withoutPrivileges(directory, async () => {
        await createJournalFile(path).append('1');
        chmodSync(join(directory, 'data'), 0o000);
        await rejectsBoth(createJournalFile(path));
        chmodSync(join(directory, 'data'), 0o700);
      }),
    ),
  );
});

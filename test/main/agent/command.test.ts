import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { COMPILE_CACHE } from '../../compile-cache.ts';
import { ROOT, run } from '../../runtime/processes.ts';

const MISSPELT =
  'gatehouse agent: AGENT_DATABSE_URL: warning: this variable has no effect; did you mean AGENT_DATABASE_URL?\n';

/** Runs `gatehouse agent` in an empty directory. What it writes to standard error. */
const errorsOf = async (words: readonly string[], variables: Readonly<Record<string, string>>): Promise<string> => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-command-'));
  try {
    const command = ['--no-warnings', join(ROOT, 'src/main/gatehouse.ts'), 'agent', ...words];
    return (await run(process.execPath, command, { variables: { ...COMPILE_CACHE, ...variables }, directory })).stderr;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

describe('gatehouse agent with a variable that has no effect', (check) => {
  check('names the variable that was meant, before it works on another database than that one', async () => {
    const variables = { AGENT_DATABSE_URL: 'sqlite:./other.db' };
    const [sessions, pruned] = await Promise.all([
      errorsOf(['sessions'], variables),
      errorsOf(['prune', '--keep', '1'], variables),
    ]);
    for (const errors of [sessions, pruned]) {
      assert.ok(errors.startsWith(MISSPELT), errors);
      assert.not.match(errors, /other\.db/);
    }
  });

  check('says nothing of variables that are known, or where there is nothing to do', async () => {
    const [known, help] = await Promise.all([
      errorsOf(['sessions'], { AGENT_DATABASE_URL: 'sqlite:./other.db', AGENT_SERVER_PASSWORD: 'x' }),
      errorsOf(['--help'], { AGENT_DATABSE_URL: 'sqlite:./other.db' }),
    ]);
    assert.not.match(known, /no effect/);
    assert.is(help, '');
  });
});

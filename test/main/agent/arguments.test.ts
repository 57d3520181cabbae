import { spawn } from 'node:child_process';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { COMPILE_CACHE } from '../../compile-cache.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/main/agent.ts');

/** Runs the program to its end, with these arguments and no settings at all. */
const run = async (...words: readonly string[]) => {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM, ...words], {
    env: { PATH: process.env.PATH ?? '', ...COMPILE_CACHE },
  });
  const written = { out: '', error: '' };
  child.stdout.on('data', (chunk) => {
    written.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    written.error += chunk;
  });
  const code = await new Promise<number | null>((settle) => child.on('close', settle));
  return { ...written, code };
};

describe("the agent server's program", (check) => {
  check('says what it takes when it is asked to', async () => {
    for (const word of ['--help', '-h']) {
      const { out, error, code } = await run(word);
      assert.equal([error, code], ['', 0]);
      assert.match(out, 'AGENT_SERVER_PASSWORD');
    }
  });

  check('refuses arguments in one line, and starts nothing', async () => {
    for (const words of [['export', 'ses_x'], ['--port=1'], ['config.json', '']]) {
      const { out, error, code } = await run(...words);
      assert.equal([out, code], ['', 1]);
      assert.match(error, /^gatehouse agent: expected no arguments[^\n]*--help\n$/);
    }
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { COMPILE_CACHE } from '../../../compile-cache.ts';
import { isAlive, until } from '../../tools/mcp/child.ts';

const startParent = async (...words: readonly string[]): Promise<{ parent: ChildProcess; pid: number }> => {
  const file = join(import.meta.dirname, '../../tools/mcp/fixtures/mcp-parent.ts');
  const parent = spawn(process.execPath, ['--no-warnings', file, ...words], {
    env: { ...process.env, ...COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(parent.stdout, 'data');
  return { parent, pid: JSON.parse(String(line)).pid };
};

describe('a tool server whose parent is no more', (check) => {
  check('ends with a parent that is killed', async () => {
    const { parent, pid } = await startParent('plain');
    assert.ok(isAlive(pid));
    parent.kill('SIGKILL');
    await until('the tool server is gone', () => !isAlive(pid));
  });

  check('ends with a parent that ends by itself, however little it wants to', async () => {
    const { pid } = await startParent('stubborn', 'exit');
    await until('the tool server is gone', () => !isAlive(pid));
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpTransports } from '../../../../src/agent/tools/mcp/client.ts';

type LocalNeeds = Parameters<McpTransports['local']>[0];

export const CHILD_FILE = join(import.meta.dirname, 'fixtures/mcp-child.mjs');

/** The tool server of `fixtures/mcp-child.mjs`, behaving as it is told. */
export const childServer = (behaviour = 'plain', more: Partial<LocalNeeds> = {}): LocalNeeds => ({
  command: [process.execPath, CHILD_FILE, behaviour],
  environment: {},
  ...more,
});

/** One that has ended and that nobody has asked about yet, as orphans are where no init looks after them. */
const isZombie = (pid: number): boolean => {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

/** Whether a process runs. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch {
    return false;
  }
};

/** Waits until something that another process does is to be seen. */
export const until = async (what: string, isTrue: () => boolean, limitMs = 10_000): Promise<void> => {
  const endsAt = performance.now() + limitMs;
  while (!isTrue()) {
    if (performance.now() > endsAt) throw new Error(`waited too long until ${what}`);
    await new Promise((settle) => setTimeout(settle, 10));
  }
};

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { DEFAULT_COMMAND_LOOKUP, resolveCommand } from '../../../../src/agent/adapter/mcp/command.ts';
import { createMcpTransports } from '../../../../src/agent/adapter/mcp/transports.ts';
import { connectMcp } from '../../../../src/agent/tools/mcp/client.ts';
import { describe } from '../../../check.ts';
import { CHILD_FILE } from '../../tools/mcp/child.ts';

/** A directory with a script and a program in it, which is gone after the body. */
const withDirectory = async (body: (directory: string) => unknown): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), 'tool-program-'));
  mkdirSync(join(directory, 'tools'));
  for (const name of ['tools/serve.js', 'serve.mjs', 'tools/run']) writeFileSync(join(directory, name), '');
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
};

describe('the command of a tool server', (check) => {
  check('runs scripts with the Node that runs the server, whatever the path holds', () => {
    assert.equal(resolveCommand(['node', 'x.js'], DEFAULT_COMMAND_LOOKUP, undefined), [process.execPath, 'x.js']);
    for (const command of [['nodejs', 'x.js'], ['/usr/bin/node', 'x.js'], ['sh', 'node'], []])
      assert.equal(resolveCommand(command, DEFAULT_COMMAND_LOOKUP, undefined), command.length === 0 ? [''] : command);
  });

  check('may name this program, and what it does', () => {
    const words = new Map([['gatehouse', ['/bin/node', '/srv/gatehouse.js']]]);
    const command = resolveCommand(['gatehouse', 'relay-admin'], { replacements: words, directory: '/etc' }, undefined);
    assert.equal(command, ['/bin/node', '/srv/gatehouse.js', 'relay-admin']);
  });

  check('finds files beside the configuration that are not where it runs', () =>
    withDirectory((directory) => {
      const reported = (command: readonly string[], cwd?: string) =>
        resolveCommand(command, { replacements: new Map(), directory }, cwd);
      const beside = (name: string) => join(directory, name);
      assert.equal(reported(['node', 'tools/serve.js', 'serve.mjs']), ['node', beside('tools/serve.js'), 'serve.mjs']);
      assert.equal(reported(['node', '--no-warnings', './serve.mjs']), ['node', '--no-warnings', beside('serve.mjs')]);
      assert.equal(reported(['tools/run', 'tools/serve.js']), [beside('tools/run'), 'tools/serve.js']);
    }),
  );

  check('stays as it is where its file is found, is nowhere, or is none', () =>
    withDirectory((directory) => {
      const programs = { replacements: new Map<string, readonly string[]>(), directory };
      for (const [command, cwd] of [
        [['node', 'serve.mjs'], directory],
        [['node', 'gone.js'], undefined],
        [['node', join(directory, 'serve.mjs')], undefined],
        [['node', '-e', 'tools'], undefined],
        [['node'], undefined],
        [['tools'], undefined],
        [['sh', 'tools/run'], undefined],
      ] as const)
        assert.equal(resolveCommand(command, programs, cwd), command);
      const nowhere = { ...programs, directory: undefined };
      assert.equal(resolveCommand(['node', 'serve.mjs'], nowhere, undefined), ['node', 'serve.mjs']);
    }),
  );

  check('is started so', async () => {
    const transport = createMcpTransports().local({ command: ['node', CHILD_FILE], environment: { PATH: '/nowhere' } });
    const signal = new AbortController().signal;
    const needs = { transport, clock: systemClock, timeoutMs: 20_000, version: '0', onToolsChanged: () => {} };
    try {
      const { call } = await connectMcp(needs, signal);
      assert.is((await call({ name: 'echo', input: { words: 'here' } }, signal)).text, 'here');
    } finally {
      await transport.close();
    }
  });
});

import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { createMcpTransports } from '../../../../src/agent/adapter/mcp/transports.ts';
import type { LocalMcpServer, McpServerConfig } from '../../../../src/agent/config/types.ts';
import { describe } from '../../../check.ts';
import { startHttpToolServer } from '../../adapter/mcp/http-server.ts';
import { childServer, isAlive, until } from './child.ts';
import { createMcpWorld, type McpWorld } from './world.ts';

const NOBODY = new AbortController().signal;
const UNKNOWN = /whether it was carried out is not known/;

const child = (behaviour: string, timeoutMs = 20_000): McpServerConfig => ({
  name: 'demo',
  type: 'local',
  cwd: undefined,
  ...childServer(behaviour),
  isEnabled: true,
  timeoutMs,
});
const remote = (url: string): McpServerConfig => ({
  name: 'demo',
  type: 'remote',
  url,
  headers: {},
  isEnabled: true,
  timeoutMs: 5000,
});
/** Runs the body with servers that are started and were tried once, and stops them, whatever came of it. */
const withServers = async (
  servers: Readonly<Record<string, McpServerConfig>>,
  body: (world: McpWorld) => Promise<void>,
): Promise<void> => {
  const world = createMcpWorld({ servers, transports: createMcpTransports(), clock: systemClock });
  world.servers.start();
  try {
    await world.servers.settled(20_000, NOBODY);
    await body(world);
  } finally {
    await world.servers.stop();
  }
};
const statusOf = ({ servers }: McpWorld, name: string): string => servers.statuses()[name]?.status ?? 'none';
const pidOf = async ({ call }: McpWorld): Promise<number> => JSON.parse((await call('child_place')).output).pid;

describe('tool servers that are programs and addresses', (check) => {
  check('are there all at once, and those that fail do not disturb the others', async () => {
    const http = await startHttpToolServer({ kind: 'streamable' });
    const servers = {
      child: child('garbage'),
      gone: child('exits'),
      mute: child('mute', 500),
      http: remote(http.url),
      nowhere: remote('http://127.0.0.1:1/mcp'),
      off: { ...child('plain'), isEnabled: false },
    };
    await withServers(servers, async (world) => {
      assert.equal(world.servers.statuses(), {
        child: { status: 'connected' },
        gone: { status: 'failed', error: 'The program ended with exit code 3' },
        mute: { status: 'failed', error: 'No answer within 500 ms' },
        http: { status: 'connected' },
        nowhere: { status: 'failed', error: 'The server cannot be reached' },
        off: { status: 'disabled' },
      });
      assert.is((await world.call('child_echo', { words: 'here' })).output, 'here');
      assert.is((await world.call('http_echo', { words: 'there' })).output, 'there');
      assert.not.match(JSON.stringify(world.lines), 'CANARY');
    });
    await http.stop();
  });

  check('that fail before they are connected log why, and show everyone where to look', async () => {
    const environment = { RELAY_KEY: 'canary-of-the-environment' };
    const failing = (script: string): McpServerConfig => ({
      ...(child('plain') as LocalMcpServer),
      command: [process.execPath, '-e', script],
      environment,
    });
    const servers = {
      loud: failing("console.error('Wrong key: ' + process.env.RELAY_KEY); process.exit(2)"),
      quiet: failing('process.exit(2)'),
    };
    await withServers(servers, async (world) => {
      assert.equal(world.servers.statuses(), {
        loud: { status: 'failed', error: 'The program ended with exit code 2; see the log' },
        quiet: { status: 'failed', error: 'The program ended with exit code 2' },
      });
      const reasons = Object.fromEntries(world.lines.map(({ setting, reason }) => [setting, reason]));
      assert.equal(reasons, {
        'mcp.loud': 'The program ended with exit code 2. It wrote: Wrong key: [redacted]',
        'mcp.quiet': 'The program ended with exit code 2',
      });
    });
  });

  check('of our own have their log lines in the log, and nothing else of what they write', async () => {
    const program = join(import.meta.dirname, '../../../../src/main/relay-admin.ts');
    const relay = {
      ...(child('plain') as LocalMcpServer),
      command: [process.execPath, '--no-warnings', program],
      environment: { RELAY_BASE_URL: 'http://127.0.0.1:1', RELAY_ALLOWED_HOST: '127.0.0.1' },
    };
    await withServers({ 'relay-admin': relay }, async ({ servers, lines }) => {
      assert.is(servers.statuses()['relay-admin']?.status, 'connected');
      const reported = (event: string) => lines.find((line) => line.reported === event);
      await until('it is logged', () => reported('starting') !== undefined);
      const { level, event, setting, state } = reported('starting') ?? {};
      assert.equal([level, event, setting, state], ['warn', 'mcp-server-log', 'mcp.relay-admin', 'missing']);
    });
  });

  check('that fail once they were connected show nothing of what they wrote', async () => {
    await withServers({ child: child('plain') }, async (world) => {
      assert.ok((await world.call('child_fail', { words: 'canary of a user' })).isError);
      await until('it is lost', () => world.lines.some(({ event }) => event === 'mcp-server-lost'));
      assert.not.match(JSON.stringify([world.lines, world.servers.statuses()]), 'canary');
      assert.match(JSON.stringify(world.lines), 'exit code 4');
    });
  });

  check('come back after they were killed in the middle of a call', async () => {
    await withServers({ child: child('plain') }, async (world) => {
      const before = await pidOf(world);
      const sleeping = world.call('child_sleep');
      const { output, isError } = await world.call('child_die');
      assert.ok(isError);
      assert.match(output, UNKNOWN);
      assert.match((await sleeping).output, UNKNOWN);
      assert.equal(world.servers.statuses(), {
        child: { status: 'failed', error: 'The program was ended by SIGKILL' },
      });
      assert.match((await world.call('child_echo')).output, /so this call was not made/);
      await until('it is back', () => statusOf(world, 'child') === 'connected');
      assert.is.not(await pidOf(world), before);
    });
  });

  check.thorough('come back at their address', async () => {
    const first = await startHttpToolServer({ kind: 'streamable' });
    await withServers({ http: remote(first.url) }, async (world) => {
      const sleeping = world.call('http_echo', { sleep: true });
      await until('the call has arrived', () => first.sleeping() === 1);
      await first.stop();
      assert.match((await sleeping).output, UNKNOWN);
      const second = await startHttpToolServer({ kind: 'streamable', port: first.port });
      await until('it is back', () => statusOf(world, 'http') === 'connected');
      assert.is((await world.call('http_echo', { words: 'back' })).output, 'back');
      await world.servers.stop();
      await second.stop();
    });
  });

  check('are gone when they are stopped, within three seconds, however little they want to', async () => {
    let pids: readonly number[] = [];
    let startedAt = 0;
    const servers = { child: child('plain'), other: child('stubborn') };
    await withServers(servers, async (world) => {
      const other = JSON.parse((await world.call('other_place')).output).pid;
      pids = [await pidOf(world), other];
      assert.ok(pids.every(isAlive));
      startedAt = performance.now();
    });
    assert.ok(performance.now() - startedAt < 3500);
    assert.equal(pids.map(isAlive), [false, false]);
  });

  check.thorough('are switched off and on', async () => {
    await withServers({ child: child('plain') }, async (world) => {
      const before = await pidOf(world);
      assert.equal(await world.servers.disconnect('child'), { status: 'disabled' });
      assert.is(isAlive(before), false);
      assert.equal(await world.servers.connect('child'), { status: 'connected' });
      assert.is.not(await pidOf(world), before);
    });
  });
});

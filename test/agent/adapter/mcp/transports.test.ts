import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { DEFAULT_COMMAND_LOOKUP } from '../../../../src/agent/adapter/mcp/command.ts';
import { createMcpTransports } from '../../../../src/agent/adapter/mcp/transports.ts';
import { connectMcp, type McpConnection, type McpTransport } from '../../../../src/agent/tools/mcp/client.ts';
import { McpServerError } from '../../../../src/agent/tools/mcp/errors.ts';
import { describe, rejection } from '../../../check.ts';
import { CHILD_FILE, childServer, isAlive, until } from '../../tools/mcp/child.ts';

const NOBODY = new AbortController().signal;
type LocalNeeds = ReturnType<typeof childServer>;

const open = (transport: McpTransport, timeoutMs = 20_000): Promise<McpConnection> =>
  connectMcp({ transport, clock: systemClock, timeoutMs, version: '0', onToolsChanged: () => {} }, NOBODY);

type Local = {
  readonly connection: McpConnection;
  readonly transport: McpTransport;
  readonly call: (name: string, input?: object) => Promise<string>;
  readonly pid: number;
};
/** Runs the body with a connection to a program, and closes it, whatever came of it. */
const withChild = async (
  server: LocalNeeds,
  body: (local: Local) => Promise<void>,
  more: Parameters<typeof createMcpTransports>[0] = {},
): Promise<void> => {
  const transport = createMcpTransports(more).local(server);
  try {
    const connection = await open(transport);
    const call = async (name: string, input: object = {}) =>
      (await connection.call({ name, input: { ...input } }, NOBODY)).text;
    await body({ connection, transport, call, pid: JSON.parse(await call('place')).pid });
  } finally {
    await transport.close();
  }
};
/** How connecting to a program fails, which must leave nothing of it. */
const failure = async (server: LocalNeeds, timeoutMs = 20_000): Promise<string> => {
  const transport = createMcpTransports().local(server);
  try {
    const error = await rejection(open(transport, timeoutMs));
    assert.instance(error, McpServerError);
    return `${(error as McpServerError).kind}: ${(error as McpServerError).message}`;
  } finally {
    await transport.close();
  }
};

describe('a tool server that is a program', (check) => {
  check('is used over its standard streams, in a directory of its own', async () => {
    const cwd = realpathSync(tmpdir());
    await withChild(childServer('plain', { cwd }), async ({ call }) => {
      assert.is(JSON.parse(await call('place')).directory, cwd);
      assert.is(await call('echo', { words: 'zwölf\n\u2028€' }), 'zwölf\n\u2028€');
    });
  });

  check('gets PATH, HOME, LANG and its own environment, and nothing else of ours', async () => {
    process.env.OPENAI_API_KEY = 'CANARY-environment';
    const { LANG } = process.env;
    process.env.LANG = 'C.UTF-8';
    try {
      await withChild(childServer('plain', { environment: { OWN: 'yes', HOME: '/nowhere' } }), async ({ call }) => {
        assert.equal(JSON.parse(await call('environment')), {
          PATH: process.env.PATH,
          HOME: '/nowhere',
          LANG: 'C.UTF-8',
          OWN: 'yes',
        });
      });
    } finally {
      delete process.env.OPENAI_API_KEY;
      if (LANG === undefined) delete process.env.LANG;
      else process.env.LANG = LANG;
    }
  });

  check.thorough('gets what is passed on to programs of its name, after which comes its own environment', async () => {
    const server = childServer('plain', { environment: { OWN: 'yes' } });
    const inherited = (program: string) =>
      program === server.command[0] ? { PASSED_ON: 'yes', OWN: 'no' } : { OTHER: 'no' };
    const lookup = { commandLookup: { ...DEFAULT_COMMAND_LOOKUP, inherited } };
    await withChild(
      server,
      async ({ call }) => {
        const { PASSED_ON, OWN, OTHER } = JSON.parse(await call('environment'));
        assert.equal([PASSED_ON, OWN, OTHER], ['yes', 'yes', undefined]);
      },
      lookup,
    );
  });

  check('may write what is no protocol, to either stream', async () => {
    await withChild(childServer('garbage'), async ({ call }) => {
      assert.is(await call('echo', { words: 'still here' }), 'still here');
      assert.is(await call('noise'), 'quiet');
      assert.is(await call('echo', { words: 'still here' }), 'still here');
    });
  });

  check('may answer with a lot, and is over when it is too much for a message', async () => {
    await withChild(childServer(), async ({ connection, call }) => {
      assert.match(await call('big', { megabytes: 5 }), /with 4242880 more characters, which were dropped\]$/);
      const error = await rejection(call('big', { megabytes: 9 }));
      assert.is((error as McpServerError).kind, 'ended');
      assert.is((await connection.closed).message, 'The program wrote a line that is too long');
    });
    assert.is(await failure(childServer('long-line')), 'ended: The program wrote a line that is too long');
  });

  check('that sends values of 5,000 levels fails the call that waits for one, and no other', async () => {
    await withChild(childServer(), async ({ call }) => {
      assert.is(((await rejection(call('nested'))) as McpServerError).kind, 'refused');
      assert.is(await call('echo', { words: 'still here' }), 'still here');
    });
  });

  check('whose message the SDK cannot process is closed, and the process goes on', async () => {
    const transport = createMcpTransports().local(childServer());
    const ended = Promise.withResolvers<unknown>();
    transport.onmessage = () => {
      throw new RangeError('Maximum call stack size exceeded');
    };
    transport.onerror = ended.resolve;
    await transport.start();
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
    assert.match(String(await ended.promise), 'Sent a message that cannot be processed');
    await transport.close();
  });

  check.thorough('that asks and asks without reading the answers is over, before they fill the memory', async () => {
    const asking = `
      const ask = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
      process.stdin.once('data', (line) => {
        const { id, params } = JSON.parse(line);
        const { protocolVersion } = params;
        ask({ id, result: { protocolVersion, capabilities: {}, serverInfo: { name: 'x', version: '1' } } });
        process.stdin.pause();
        const big = 'p'.repeat(100_000);
        for (let count = 0; count < 400; count++) ask({ id: big + count, method: 'ping' });
        setInterval(() => {}, 1000);
      });`;
    const transport = createMcpTransports().local(childServer('plain', { command: [process.execPath, '-e', asking] }));
    try {
      const { closed } = await open(transport);
      assert.is((await closed).message, 'The program does not read its input');
    } finally {
      await transport.close();
    }
  });

  check('that fails keeps its last output for a later read', async () => {
    const lastLines = async (script: string): Promise<string | undefined> => {
      const transport = createMcpTransports().local(
        childServer('plain', { command: [process.execPath, '-e', script] }),
      );
      try {
        return ((await rejection(open(transport))) as McpServerError).lastStderr;
      } finally {
        await transport.close();
      }
    };
    assert.is(await lastLines("process.stderr.write('no such thing\\n'); process.exitCode = 1"), 'no such thing\n');
    const long = (end: string) =>
      lastLines(`process.stderr.write('x'.repeat(1_000_000) + ${JSON.stringify(end)}); process.exitCode = 1`);
    assert.is(await long('\nthe end\nof it'), 'the end\nof it');
    assert.is(await long('end'), undefined);
    assert.is(await lastLines("process.stderr.write('all is well'); process.exitCode = 0"), undefined);
    assert.is(await lastLines('process.exitCode = 1'), undefined);
  });

  check('that cannot be started says why', async () => {
    const missing = 'unreachable: The program, or the directory it is to run in, was not found';
    assert.is(await failure(childServer('plain', { command: ['no-such-program-anywhere'] })), missing);
    assert.is(await failure(childServer('plain', { cwd: '/no/such/directory' })), missing);
    assert.is(
      await failure(childServer('plain', { command: [CHILD_FILE] })),
      'unreachable: The program may not be run',
    );
    const odd = 'unreachable: The program could not be started';
    assert.is(await failure(childServer('plain', { command: ['a\0b'] })), odd);
    assert.is(await failure(childServer('plain', { command: [] })), odd);
  });

  check.thorough('that ends at once, or never answers, is no connection', async () => {
    assert.is(await failure(childServer('exits')), 'ended: The program ended with exit code 3');
    assert.is(await failure(childServer('mute'), 1000), 'timeout: No answer within 1000 ms');
    const deaf = childServer('plain', { command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'] });
    assert.is(await failure(deaf, 300), 'timeout: No answer within 300 ms');
    assert.is(await failure(childServer('closes-output')), 'ended: The program closed its output');
  });

  check('that is killed in the middle of a call ends the call', async () => {
    await withChild(childServer(), async ({ connection, call }) => {
      assert.is(((await rejection(call('die'))) as McpServerError).kind, 'ended');
      assert.is((await connection.closed).message, 'The program was ended by SIGKILL');
    });
  });

  check('is gone when it is closed, however little it wants to go', async () => {
    for (const behaviour of ['plain', 'stubborn']) {
      const startedAt = performance.now();
      let child = 0;
      await withChild(childServer(behaviour), async ({ pid, transport }) => {
        child = pid;
        await Promise.all([transport.close(), transport.close()]);
      });
      assert.is(isAlive(child), false, behaviour);
      assert.ok(performance.now() - startedAt < 5000, behaviour);
    }
  });

  check.thorough('may go in good order, at the end of its input or at a signal', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mcp-child-'));
    for (const behaviour of ['hears-end', 'hears-signal']) {
      const FAREWELL = join(directory, behaviour);
      await withChild(childServer(behaviour, { environment: { FAREWELL } }), async () => {});
      assert.is(readFileSync(FAREWELL, 'utf8'), 'done');
    }
    rmSync(directory, { recursive: true });
  });

  check('takes along what it has started, also when it is a shell that passes no signal on', async () => {
    const started: number[] = [];
    await withChild(childServer(), async ({ call, pid }) => {
      started.push(pid, Number(await call('parent')));
    });
    const command = ['/bin/sh', '-c', `"${process.execPath}" "${CHILD_FILE}" stubborn; exit 0`];
    await withChild(childServer('plain', { command }), async ({ pid }) => {
      started.push(pid);
    });
    await until('all are gone', () => !started.some(isAlive));
  });

  check('that was closed before it was started is never started', async () => {
    const transport = createMcpTransports().local(childServer());
    await transport.close();
    assert.is(((await rejection(open(transport))) as McpServerError).kind, 'ended');
  });

  check('leaves no handler on the process when all are gone', async () => {
    const before = process.listenerCount('exit');
    await withChild(childServer(), async () => assert.is(process.listenerCount('exit'), before + 1));
    assert.is(process.listenerCount('exit'), before);
  });
});
